package client

import (
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// The bodies of requests. The API decodes into the same types, and their tags are its document.

// StartBody is the body of a start.
type StartBody struct {
	Run        string             `json:"run,omitempty" minLength:"1" maxLength:"200" doc:"The run's id. Without one, the server makes one. A start with an id can be repeated safely." example:"order-17"`
	Workflow   string             `json:"workflow" minLength:"1" maxLength:"100" doc:"The workflow to run." example:"order"`
	Input      history.Payload    `json:"input,omitempty" doc:"The workflow's input: any JSON value, at most 50 MB." example:"{\"item\":\"book\",\"count\":2}"`
	Attributes history.Attributes `json:"attributes,omitempty" doc:"What the run is searched by: JSON values by name." example:"{\"customer\":\"ada\"}"`
	Reuse      bool               `json:"reuse,omitempty" doc:"Begin a new generation if the run of this id has ended."`
}

// MailBody is the body of a signal or an update.
type MailBody struct {
	ID     string          `json:"id,omitempty" minLength:"1" maxLength:"200" doc:"The id of this message: repeating it with the same id is safe. With the same id, another content is a conflict, and another kind or name is another message. Without one, one is made." example:"approve-1"`
	Unique bool            `json:"unique,omitempty" doc:"The id was drawn at random for this message, so that no other one can have it: nothing is read to compare them." example:"false"`
	After  int64           `json:"after,omitempty" doc:"The stamp that the sender's last message to this run was accepted with: this one comes after it." example:"1767225600000000000"`
	Input  history.Payload `json:"input,omitempty" doc:"What the message says: any JSON value, at most 50 MB." example:"\"yes\""`
}

// StopBody is the body of a request to cancel or to terminate.
type StopBody struct {
	ID     string `json:"id,omitempty" minLength:"1" maxLength:"200" doc:"The id of this request: repeating it with the same id is safe, with another content a conflict. Without one, one is made." example:"stop-1"`
	Unique bool   `json:"unique,omitempty" doc:"The id was drawn at random for this request, so that no other one can have it: nothing is read to compare them." example:"false"`
	After  int64  `json:"after,omitempty" doc:"The stamp that the sender's last message to this run was accepted with: this one comes after it." example:"1767225600000000000"`
	Reason string `json:"reason,omitempty" doc:"Why, for people: the run's history shows it." example:"ordered twice"`
}

// ResetBody is the body of a request to reset.
type ResetBody struct {
	ID             string `json:"id,omitempty" minLength:"1" maxLength:"200" doc:"The id of this request: repeating it with the same id is safe, with another content a conflict. Without one, one is made." example:"reset-1"`
	Unique         bool   `json:"unique,omitempty" doc:"The id was drawn at random for this request, so that no other one can have it: nothing is read to compare them." example:"false"`
	After          int64  `json:"after,omitempty" doc:"The stamp that the sender's last message to this run was accepted with: this one comes after it." example:"1767225600000000000"`
	Record         int    `json:"record" minimum:"1" doc:"The record that the run continues from: the last one that still counts." example:"4"`
	Generation     int    `json:"generation,omitempty" minimum:"1" doc:"The generation of that record. Without it, the present one." example:"1"`
	ExcludeSignals bool   `json:"excludeSignals,omitempty" doc:"The signals that came after that record do not come again." example:"false"`
	Reason         string `json:"reason,omitempty" doc:"Why, for people: the run's history shows it." example:"wrong price"`
}

// QueryBody is the body of a query.
type QueryBody struct {
	Input history.Payload `json:"input,omitempty" doc:"What is asked: any JSON value, at most 50 MB." example:"\"eur\""`
}

// CompleteBody is the body of an activity's completion from outside.
type CompleteBody struct {
	Result history.Payload `json:"result,omitempty" doc:"The activity's result: any JSON value, at most 50 MB." example:"{\"approved\":true}"`
}

// FailBody is the body of an activity's failure from outside. It is final: the activity is not tried again.
type FailBody struct {
	Type         string          `json:"type,omitempty" maxLength:"100" doc:"Your own name of this sort of failure." example:"Refused"`
	Message      string          `json:"message" minLength:"1" doc:"What happened." example:"the reviewer refused"`
	Details      history.Payload `json:"details,omitempty" doc:"A value that goes with it: any JSON value, at most 50 MB." example:"{\"by\":\"ada\"}"`
	NonRetryable bool            `json:"nonRetryable,omitempty" doc:"Another attempt would not help."`
}

// HeartbeatBody is the body of a heartbeat.
type HeartbeatBody struct {
	Details history.Payload `json:"details,omitempty" doc:"How far the work has come: any JSON value; the run's activities show it." example:"{\"done\":40}"`
}

// Page of a listing.
type Page struct {
	Runs []*port.Summary `json:"runs" doc:"Runs that match, the latest start first."`
	Next string          `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
}

// HistoryPage is a part of one generation's log.
type HistoryPage struct {
	Run        string            `json:"run" doc:"The run's id." example:"order-17"`
	Generation int               `json:"generation" doc:"The generation whose log this is." example:"1"`
	Workflow   string            `json:"workflow" doc:"The run's workflow." example:"order"`
	Records    []history.Payload `json:"records" doc:"Records as they are stored, in order. For a long value stands, under its name with an @, how long it is and how it begins."`
	Large      []int             `json:"large,omitempty" doc:"Numbers of the records whose long values are left out: get-record gives them whole."`
	Next       int               `json:"next,omitempty" doc:"What to give as after for the records that follow; missing where none can: the log was closed, or has no more for now." example:"120"`
}

// QueryAnswer is the answer to a query.
type QueryAnswer struct {
	Result history.Payload       `json:"result" doc:"What the workflow answered; null where it is left out." example:"42"`
	Large  map[string]port.Large `json:"large,omitempty" doc:"The result, where it is too long for an answer and left out: the same request with after gives it in pieces."`
}

// Beat is the answer to a heartbeat.
type Beat struct {
	Cancelled bool `json:"cancelled" doc:"The run asked the activity to stop: complete or fail it soon."`
}

// Activities under way.
type Activities struct {
	Activities []*port.TaskState `json:"activities" doc:"Those that heartbeat, run long, have failed before, or wait to be completed from outside."`
}

// UnreadSignals are those that a run's code has not taken.
type UnreadSignals struct {
	Signals []engine.UnreadSignal `json:"signals" doc:"Signals that the run's code has not taken, in the order in which they came."`
}

// Info says what a server is.
type Info struct {
	Version    string   `json:"version" doc:"The version of the server." example:"0.1.0"`
	Workflows  []string `json:"workflows" doc:"Names of the workflows that are registered."`
	Activities []string `json:"activities" doc:"Names of the activities that are registered."`
	Uptime     string   `json:"uptime,omitempty" doc:"How long the server has been up; missing where nothing stays up." example:"3h12m5s"`
	Backlog    *Backlog `json:"backlog,omitempty" doc:"Messages that are not handled yet; missing where they are not counted."`
}

// Backlog counts messages.
type Backlog struct {
	Ready    int `json:"ready" doc:"Messages that could be handled now." example:"0"`
	Delayed  int `json:"delayed" doc:"Messages that wait for their time: timers, retries." example:"3"`
	InFlight int `json:"inFlight" doc:"Messages that a function is handling, or died with: then they come again when their time is over." example:"1"`
}

// Health of a server.
type Health struct {
	Status string `json:"status" doc:"ok." example:"ok"`
}

// Diagnosis is what does not resume by itself. [Inspection] is what single runs wait for in vain.
type Diagnosis struct {
	Healthy     bool           `json:"healthy" doc:"There is nothing to do." example:"false"`
	Blocked     []BlockedRun   `json:"blocked" doc:"Runs that cannot advance, the latest start first."`
	MoreBlocked bool           `json:"moreBlocked,omitempty" doc:"There are further ones: the list of blocked runs has them all."`
	Overdue     []OverdueTimer `json:"overdue" doc:"Timers that should have fired and that nobody has fired, the earliest first; not always all of them."`
	Queues      *Queues        `json:"queues,omitempty" doc:"How the queues are; missing where nobody counts."`
	Writes      string         `json:"writes,omitempty" doc:"Why the last write to the store failed, a full disk for example; missing where it succeeded."`
	Rebuild     bool           `json:"rebuild,omitempty" doc:"A rebuild brings back lost messages; else the next start of the server does."`
	Unseen      []string       `json:"unseen,omitempty" doc:"What could not be looked at, and why."`
}

// BlockedRun is a run that cannot advance, and why.
type BlockedRun struct {
	Run      string    `json:"run" doc:"The run's id." example:"order-17"`
	Workflow string    `json:"workflow" doc:"The run's workflow." example:"order"`
	Reason   string    `json:"reason" doc:"Why, as a stable code." example:"unknown-workflow"`
	Message  string    `json:"message" doc:"What happened, where, and what to do."`
	Since    time.Time `json:"since" doc:"Since when." example:"2026-01-01T00:00:05Z"`
	Version  string    `json:"version,omitempty" doc:"The deployment under which it happened: another one is tried by itself." example:"0.1.0"`
}

// OverdueTimer is a long timer that should have fired.
type OverdueTimer struct {
	Run        string    `json:"run" doc:"The id of the run that waits for it." example:"order-17"`
	Generation int       `json:"generation" doc:"The run's generation." example:"1"`
	Seq        int64     `json:"seq" doc:"The number of the run's command." example:"3"`
	At         time.Time `json:"at" doc:"When it was due." example:"2026-01-01T00:00:05Z"`
}

// Inspection is what runs that are not finished wait for in vain: one page of them.
type Inspection struct {
	Findings []Finding `json:"findings" doc:"What was found, in no particular order."`
	Checked  int       `json:"checked" doc:"How many runs were read." example:"120"`
	Next     string    `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
}

// Finding is something about one run that it may not recover from by itself. See [engine.Finding].
type Finding struct {
	Run        string    `json:"run" doc:"The run's id." example:"order-17"`
	Workflow   string    `json:"workflow,omitempty" doc:"The run's workflow; missing if it cannot be read." example:"order"`
	Generation int       `json:"generation,omitempty" doc:"The run's generation." example:"1"`
	Kind       string    `json:"kind" doc:"What it is, as a stable code." example:"lost-activity"`
	Name       string    `json:"name,omitempty" doc:"The activity, step, child, signal or event." example:"charge"`
	Seq        int64     `json:"seq" doc:"The number of the run's command, where one is concerned." example:"3"`
	Since      time.Time `json:"since,omitzero" doc:"When it was due, or when it began to fail." example:"2026-01-01T00:00:05Z"`
	Attempt    int       `json:"attempt,omitempty" doc:"The number of the attempt." example:"2"`
	Failure    string    `json:"failure,omitempty" doc:"What the attempt before failed with, or why the run cannot be read."`
}

// Queues says how the queues are.
type Queues struct {
	Backlog
	Dead int `json:"dead" doc:"Messages that nobody could read, in the dead letter queue." example:"0"`
}

// Rebuilt says what one page of a rebuild did.
type Rebuilt struct {
	Open      int    `json:"open" doc:"Open runs that were looked at." example:"120"`
	Sent      int    `json:"sent" doc:"Messages that were sent again." example:"97"`
	Unblocked int    `json:"unblocked" doc:"Blocked runs that are tried again." example:"2"`
	Next      string `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
}

// NextHeader is the header of a piece of an export: what to give as after for the next one.
const NextHeader = "Reprise-Next"

// HintHeader is the header of a start's answer that says what may be wrong with it, though it was accepted.
const HintHeader = "Reprise-Hint"
