package wire

import (
	"github.com/reprise-run/reprise/core/history"
)

// StartBody is the body of a start.
type StartBody struct {
	Run        string             `json:"run,omitempty" minLength:"1" maxLength:"200" doc:"The run's id. Without one, the server makes one. A start with an id can be repeated safely." example:"order-17"`
	Workflow   string             `json:"workflow" minLength:"1" maxLength:"100" doc:"The workflow to run." example:"order"`
	Input      history.Payload    `json:"input,omitempty" doc:"The workflow's input: any JSON value, at most 50 MB." example:"{\"item\":\"book\",\"count\":2}"`
	Attributes history.Attributes `json:"attributes,omitempty" doc:"What the run is searched by: JSON values by name." example:"{\"customer\":\"ada\"}"`
	Definition int                `json:"definition,omitempty" minimum:"1" doc:"The version of the published definition to run. Without it: the program's own code, else the highest version that is published."`
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
	Definition     int    `json:"definition,omitempty" minimum:"1" doc:"The version of the published definition that the run continues with. Without it, the version that it has."`
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

// FailBody is the body of an activity's failure from outside. It is final: the activity is not
// tried again.
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
