package flow

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// LoggedCall is a call of a service as the log of its run has it.
type LoggedCall struct {
	ParsedCall
	Scheduled *history.ScheduleActivity
	Started   time.Time
	Resolved  *history.ActivityResolved // nil: it has not ended
	Finished  time.Time
	// Repeated: a reset had the run make a later call with the same id.
	Repeated bool
}

// LoggedCalls are the calls of a log. The zero value has none.
type LoggedCalls struct {
	ByID map[string]*LoggedCall // the last one with each id of an activity
	All  []*LoggedCall          // in the order of the log

	open map[int64]*LoggedCall // by number
}

// Add reads the next record. Generations follow one another, each from its first record.
func (l *LoggedCalls) Add(record *history.Record) {
	for _, event := range record.Events {
		if answer, is := event.(*history.ActivityResolved); is {
			if call := l.open[answer.Seq]; call != nil {
				call.Resolved, call.Finished = answer, record.Time
			}
		}
	}
	for _, command := range record.Commands {
		if scheduled, is := command.(*history.ScheduleActivity); is {
			l.begin(scheduled, record.Time)
		}
	}
}

func (l *LoggedCalls) begin(scheduled *history.ScheduleActivity, at time.Time) {
	if l.ByID == nil {
		l.ByID, l.open = map[string]*LoggedCall{}, map[int64]*LoggedCall{}
	}
	parsed, is := ParseCall(scheduled.ID)
	if !is {
		delete(l.open, scheduled.Seq())
		return
	}
	call := &LoggedCall{ParsedCall: parsed, Scheduled: scheduled, Started: at}
	if before := l.ByID[scheduled.ID]; before != nil {
		before.Repeated = true
	}
	l.ByID[scheduled.ID], l.open[scheduled.Seq()] = call, call
	l.All = append(l.All, call)
}

// HTTP says whether the call is one of an HTTP worker.
func (c *LoggedCall) HTTP() bool { return strings.HasPrefix(c.Scheduled.Activity, HTTP) }

// Answer is what an HTTP worker answered. It is empty for another call, and for one that has not
// ended.
func (c *LoggedCall) Answer() (answer Answer) {
	if c.HTTP() && c.Resolved != nil {
		_ = json.Unmarshal(c.Resolved.Result, &answer) // it is left out, or the failure says why
	}
	return answer
}

// Worker gives the id and the URL of the HTTP worker that was asked last. A Go activity has the id
// of its process, and no URL.
func (c *LoggedCall) Worker() (id, url string) {
	if c.Resolved == nil {
		return "", ""
	}
	if !c.HTTP() {
		return c.Resolved.Worker, ""
	}
	tries := c.Answer().Tries
	if len(tries) == 0 {
		return "", ""
	}
	last := tries[len(tries)-1]
	return last.WorkerID, last.WorkerURL
}

// Row is the row of the call as far as the log knows it: without an action. The status of a call
// that has not ended is empty.
func (c *LoggedCall) Row() Row {
	row := Row{Node: c.Node, Path: c.Path, Branch: c.Branch, Attempt: c.Attempt,
		Call: c.Scheduled.ID, Started: c.Started, Finished: c.Finished}
	if c.Resolved == nil {
		return row
	}
	row.Status, row.Error = RowOK, c.Answer().Error
	if failure := c.Resolved.Failure; failure != nil {
		row.Error = failure.Error()
	}
	switch failure := c.Resolved.Failure; {
	case failure != nil && failure.FailureKind == history.Cancel:
		row.Status = RowCanceled
	case row.Error != "":
		row.Status = RowError
	}
	return row
}
