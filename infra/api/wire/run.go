package wire

import (
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Summary is a run as the API shows it.
type Summary struct {
	Run        string             `json:"run" doc:"The run's id." example:"order-17"`
	Workflow   string             `json:"workflow" doc:"What it is a run of." example:"order"`
	Definition int                `json:"definition,omitempty" doc:"The version of the published definition that the run has; missing where it runs the program's own code." example:"2"`
	Generation int                `json:"generation" doc:"Counts how often the run began anew under its id, from 1: by continue-as-new, reset or reuse." example:"1"`
	Status     history.Status     `json:"status" enum:"running,completed,failed,cancelled,terminated" doc:"How the run stands." example:"completed"`
	Blocked    *Block             `json:"blocked,omitempty" doc:"Why the run cannot advance; missing where it can."`
	Started    time.Time          `json:"started" doc:"When this generation began." example:"2026-01-01T00:00:00Z"`
	Closed     time.Time          `json:"closed,omitzero" doc:"When the run ended; missing while it has not." example:"2026-01-01T00:00:05Z"`
	Input      history.Payload    `json:"input,omitempty" doc:"What it was started with; missing where that is nothing." example:"{\"item\":\"book\",\"count\":2}"`
	Result     history.Payload    `json:"result,omitempty" doc:"What it gave, if it completed; missing where that is nothing." example:"{\"total\":38}"`
	Failure    *history.Failure   `json:"failure,omitempty" doc:"Why it ended otherwise."`
	State      history.Payload    `json:"state,omitempty" doc:"What its code has published last." example:"{\"packed\":1}"`
	Attributes history.Attributes `json:"attributes,omitempty" doc:"What it is searched by." example:"{\"customer\":\"ada\"}"`
	Parent     *history.Parent    `json:"parent,omitempty" doc:"The run that started this one as a child."`
	Large      map[string]Large   `json:"large,omitempty" doc:"Values that are left out here for their length, by name: input, result, state, failure. get-value gives them. Lists leave out long attributes, too: attributes.NAME, which get-run shows."`
}

// Large is a value that was left out for its length.
type Large struct {
	Bytes   int64  `json:"bytes" doc:"How long the value is, as JSON; 0 where that is not known." example:"5500000"`
	Preview string `json:"preview,omitempty" doc:"How it begins." example:"{\"items\":[\"tea\","`
}

// Block says why a run cannot advance.
type Block struct {
	ID      string    `json:"id,omitempty" doc:"Tells it from what blocks the run later." example:"k4tq2mz7c5wd"`
	Since   time.Time `json:"since" doc:"Since when." example:"2026-01-01T00:00:05Z"`
	Reason  string    `json:"reason" doc:"A stable code." enum:"nondeterminism,unknown-workflow,unreadable-record,panic,undecodable-signal,stuck-unit,scheduler-violation,undeliverable-resume,invalid-definition,failed-activation" example:"unknown-workflow"`
	Message string    `json:"message" doc:"What happened, where, and what to do."`
	Version string    `json:"version,omitempty" doc:"The deployment under which it happened: another one is tried by itself." example:"0.1.0"`
}

// ActivityState is an activity under way.
type ActivityState struct {
	Run        string           `json:"run" doc:"The run's id." example:"order-17"`
	Generation int              `json:"generation" doc:"The run's generation." example:"1"`
	Seq        int64            `json:"seq" doc:"The number of the run's command." example:"2"`
	Activity   string           `json:"activity" doc:"The activity's name." example:"charge"`
	Step       bool             `json:"step,omitempty" doc:"It is a step: it runs inline."`
	Attempt    int              `json:"attempt" doc:"Which attempt, from 1." example:"2"`
	Started    time.Time        `json:"started,omitzero" doc:"When this attempt began." example:"2026-01-01T00:00:01Z"`
	Beat       time.Time        `json:"beat,omitzero" doc:"The last heartbeat." example:"2026-01-01T00:00:04Z"`
	Details    history.Payload  `json:"details,omitempty" doc:"What the last heartbeat said." example:"{\"done\":40}"`
	Failure    string           `json:"failure,omitempty" doc:"What the attempt before failed with." example:"card service unreachable"`
	Next       time.Time        `json:"next,omitzero" doc:"When this attempt may begin, if it waits for that." example:"2026-01-01T00:01:00Z"`
	Cancelled  bool             `json:"cancelled,omitempty" doc:"The run asked it to stop."`
	Pending    bool             `json:"pending,omitempty" doc:"It waits to be completed from outside."`
	Large      map[string]Large `json:"large,omitempty" doc:"The details, where they are long and left out: get-activity-details gives them."`
}
