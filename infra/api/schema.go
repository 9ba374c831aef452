package api

import (
	"encoding/json"
	"time"
)

// What the engine's types look like in the document. Only their tags are used; a test compares their fields with what the
// engine's types write.

type summary struct {
	Run        string                     `json:"run" doc:"The run's id." example:"order-17"`
	Workflow   string                     `json:"workflow" doc:"What it is a run of." example:"order"`
	Generation int                        `json:"generation" doc:"Counts how often the run began anew under its id, from 1: by continue-as-new, reset or reuse." example:"1"`
	Status     string                     `json:"status" enum:"running,completed,failed,cancelled,terminated" doc:"How the run stands." example:"completed"`
	Blocked    *block                     `json:"blocked,omitempty" doc:"Why the run cannot advance; missing where it can."`
	Started    time.Time                  `json:"started" doc:"When this generation began." example:"2026-01-01T00:00:00Z"`
	Closed     time.Time                  `json:"closed,omitzero" doc:"When the run ended; missing while it has not." example:"2026-01-01T00:00:05Z"`
	Input      json.RawMessage            `json:"input,omitempty" doc:"What it was started with; missing where that is nothing." example:"{\"item\":\"book\",\"count\":2}"`
	Result     json.RawMessage            `json:"result,omitempty" doc:"What it gave, if it completed; missing where that is nothing." example:"{\"total\":38}"`
	Failure    *failure                   `json:"failure,omitempty" doc:"Why it ended otherwise."`
	State      json.RawMessage            `json:"state,omitempty" doc:"What its code has published last." example:"{\"packed\":1}"`
	Attributes map[string]json.RawMessage `json:"attributes,omitempty" doc:"What it is searched by." example:"{\"customer\":\"ada\"}"`
	Parent     *parent                    `json:"parent,omitempty" doc:"The run that started this one as a child."`
	Large      map[string]large           `json:"large,omitempty" doc:"Values that are left out here for their length, by name: input, result, state, failure. get-value gives them. Lists leave out long attributes, too: attributes.NAME, which get-run shows."`
}

type large struct {
	Bytes   int64  `json:"bytes" doc:"How long the value is, as JSON; 0 where that is not known." example:"5500000"`
	Preview string `json:"preview,omitempty" doc:"How it begins." example:"{\"items\":[\"tea\","`
}

type block struct {
	ID      string    `json:"id,omitempty" doc:"Tells it from what blocks the run later." example:"k4tq2mz7c5wd"`
	Since   time.Time `json:"since" doc:"Since when." example:"2026-01-01T00:00:05Z"`
	Reason  string    `json:"reason" doc:"A stable code." enum:"nondeterminism,unknown-workflow,unreadable-record,panic,undecodable-signal,stuck-unit,scheduler-violation,undeliverable-resume,failed-activation" example:"unknown-workflow"`
	Message string    `json:"message" doc:"What happened, where, and what to do."`
	Version string    `json:"version,omitempty" doc:"The deployment under which it happened: another one is tried by itself." example:"0.1.0"`
}

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

type accepted struct {
	ID    string `json:"id" doc:"The id of the message: repeating it with this id is safe." example:"approve-1"`
	Stamp int64  `json:"stamp" doc:"Its place in the order of messages: give it as after with the next one." example:"1767225600000000000"`
	Hint  string `json:"hint,omitempty" doc:"What may be wrong with a signal, though it was accepted."`
}

type unreadSignal struct {
	Name    string `json:"name" doc:"The signal's name." example:"approve"`
	ID      string `json:"id" doc:"The id of the message." example:"approve-1"`
	Unknown bool   `json:"unknown" doc:"The run's code has not asked for a signal of this name so far."`
}

type updateAnswer struct {
	ID      string           `json:"id" doc:"The id of the update: repeat it with this id to ask again." example:"add-1"`
	Stamp   int64            `json:"stamp" doc:"Its place in the order of messages: give it as after with the next one; 0 where the run has ended." example:"1767225600000000000"`
	Phase   string           `json:"phase" doc:"How far it has come; empty before the run has looked." enum:",accepted,rejected,completed" example:"completed"`
	Result  json.RawMessage  `json:"result,omitempty" doc:"What the workflow answered." example:"3"`
	Failure *failure         `json:"failure,omitempty" doc:"Why it was rejected, or what its handler failed with."`
	Large   map[string]large `json:"large,omitempty" doc:"The result or the failure, where it is too long for an answer and left out: the same request with after gives it in pieces."`
}

type activityState struct {
	Run        string           `json:"run" doc:"The run's id." example:"order-17"`
	Generation int              `json:"generation" doc:"The run's generation." example:"1"`
	Seq        int64            `json:"seq" doc:"The number of the run's command." example:"2"`
	Activity   string           `json:"activity" doc:"The activity's name." example:"charge"`
	Step       bool             `json:"step,omitempty" doc:"It is a step: it runs inline."`
	Attempt    int              `json:"attempt" doc:"Which attempt, from 1." example:"2"`
	Started    time.Time        `json:"started,omitzero" doc:"When this attempt began." example:"2026-01-01T00:00:01Z"`
	Beat       time.Time        `json:"beat,omitzero" doc:"The last heartbeat." example:"2026-01-01T00:00:04Z"`
	Details    json.RawMessage  `json:"details,omitempty" doc:"What the last heartbeat said." example:"{\"done\":40}"`
	Failure    string           `json:"failure,omitempty" doc:"What the attempt before failed with." example:"card service unreachable"`
	Next       time.Time        `json:"next,omitzero" doc:"When this attempt may begin, if it waits for that." example:"2026-01-01T00:01:00Z"`
	Cancelled  bool             `json:"cancelled,omitempty" doc:"The run asked it to stop."`
	Pending    bool             `json:"pending,omitempty" doc:"It waits to be completed from outside."`
	Large      map[string]large `json:"large,omitempty" doc:"The details, where they are long and left out: get-activity-details gives them."`
}

// exported is what history.AppendExport writes.
type exported struct {
	Format     int               `json:"format" doc:"The version of this form." example:"1"`
	Run        string            `json:"run" doc:"The run's id." example:"order-17"`
	Generation int               `json:"generation" doc:"The generation whose log this is." example:"1"`
	Workflow   string            `json:"workflow" doc:"The run's workflow." example:"order"`
	Keys       map[string]string `json:"keys,omitempty" doc:"Keys that values are sealed with, by id, as a key service has wrapped them."`
	Records    []json.RawMessage `json:"records" doc:"Records as they are stored, in order; those of earlier generations that a reset kept come first."`
}
