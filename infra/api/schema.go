package api

import (
	"encoding/json"
)

// What types of core/history look like in the document. Only their tags are used; a test compares
// their fields with what the types write.

type parent struct {
	Run        string `json:"run" doc:"The parent's id." example:"month-end"`
	Generation int    `json:"generation" doc:"The parent's generation." example:"1"`
	Seq        int64  `json:"seq" doc:"The number of the parent's command." example:"3"`
}

type failure struct {
	Kind         string          `json:"kind" doc:"What sort of failure: application, panic, timeout, cancelled, activity, child, terminated, undelivered, unregistered, encoding." example:"activity"`
	Type         string          `json:"type,omitempty" doc:"The author's own name of this sort, or the Go type of the error; of a timeout: which; of an activity or child: its name." example:"charge"`
	Message      string          `json:"message" doc:"What happened." example:"card declined"`
	NonRetryable bool            `json:"nonRetryable,omitempty" doc:"Another attempt would not help."`
	RetryAfter   string          `json:"retryAfter,omitempty" doc:"How long to wait before another attempt, as a duration." example:"1m30s"`
	Details      json.RawMessage `json:"details,omitempty" doc:"A value that the author attached." example:"{\"code\":51}"`
	Stack        string          `json:"stack,omitempty" doc:"Of a panic."`
	Cause        *failure        `json:"cause,omitempty" doc:"The failure that this one wraps."`
}

// exported is what history.AppendExport writes.
type exported struct {
	Format     int                 `json:"format" doc:"The version of this form." example:"1"`
	Run        string              `json:"run" doc:"The run's id." example:"order-17"`
	Generation int                 `json:"generation" doc:"The generation whose log this is." example:"1"`
	Workflow   string              `json:"workflow" doc:"The run's workflow." example:"order"`
	Keys       map[string]string   `json:"keys,omitempty" doc:"Keys that values are sealed with, by id, as a key service has wrapped them."`
	Definition *exportedDefinition `json:"definition,omitempty" doc:"The published definition whose code the records are of, for a replay; missing where the program's own code was run."`
	Records    []json.RawMessage   `json:"records" doc:"Records as they are stored, in order; those of earlier generations that a reset kept come first."`
}

type exportedDefinition struct {
	Version int    `json:"version" doc:"The number of the version." example:"2"`
	Kind    string `json:"kind,omitempty" doc:"What interprets the source; missing if the version was deleted." example:"flow"`
	Source  string `json:"source,omitempty" doc:"The source text; missing if the version was deleted."`
}
