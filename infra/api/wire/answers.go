package wire

import "github.com/reprise-run/reprise/core/history"

// Page of a listing.
type Page struct {
	Runs []*Summary `json:"runs" doc:"Runs that match, the latest start first."`
	Next string     `json:"next,omitempty" doc:"The cursor of the next page; missing on the last one."`
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
	Result history.Payload  `json:"result" doc:"What the workflow answered; null where it is left out." example:"42"`
	Large  map[string]Large `json:"large,omitempty" doc:"The result, where it is too long for an answer and left out: the same request with after gives it in pieces."`
}

// Beat is the answer to a heartbeat.
type Beat struct {
	Cancelled bool `json:"cancelled" doc:"The run asked the activity to stop: complete or fail it soon."`
}

// Activities under way.
type Activities struct {
	Activities []*ActivityState `json:"activities" doc:"Those that heartbeat, run long, have failed before, or wait to be completed from outside."`
}

// UnreadSignals are those that a run's code has not taken.
type UnreadSignals struct {
	Signals []UnreadSignal `json:"signals" doc:"Signals that the run's code has not taken, in the order in which they came."`
}

// NextHeader is the header of a piece of an export: what to give as after for the next one.
const NextHeader = "Reprise-Next"

// HintHeader is the header of a start's answer that says what may be wrong with it, though it was
// accepted.
const HintHeader = "Reprise-Hint"
