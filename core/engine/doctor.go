package engine

import (
	"context"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

const (
	// overdueAfter is how late a long timer may be: functions/timer comes each minute, and hands it over long before its time.
	overdueAfter = 2 * time.Minute
	// mostBlocked is how many blocked runs a diagnosis names.
	mostBlocked = 100
)

// Diagnosis is what does not go on by itself.
type Diagnosis struct {
	// Blocked runs, the latest start first.
	Blocked []BlockedRun
	// MoreBlocked: there are further ones.
	MoreBlocked bool
	// Overdue timers should have been handed to the queue long ago, the earliest first, one page at most: whoever calls
	// [Engine.FireDue] each minute does not, or cannot.
	Overdue []port.DueTimer
}

// BlockedRun is a run that cannot advance, and why.
type BlockedRun struct {
	Run, Workflow string
	port.Block
}

// Diagnose looks for what does not go on by itself. It reads, and changes nothing.
func (e *Engine) Diagnose(ctx context.Context) (*Diagnosis, error) {
	found := &Diagnosis{}
	if err := e.findBlocked(ctx, found); err != nil {
		return nil, err
	}
	var err error
	found.Overdue, err = e.overdue(ctx)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// overdue gives the timers that functions/timer should have handed to the queue, one page at most.
func (e *Engine) overdue(ctx context.Context) (overdue []port.DueTimer, err error) {
	late := e.Clock.Now().Add(-overdueAfter)
	timers, err := e.Due.DueBefore(ctx, late)
	for _, timer := range timers {
		if timer.At.Before(late) { // buckets are whole minutes
			overdue = append(overdue, timer)
		}
	}
	return overdue, e.unavailable(err, "the timers were not read")
}

func (e *Engine) findBlocked(ctx context.Context, found *Diagnosis) error {
	query := port.ListQuery{Blocked: true, Limit: mostBlocked}
	for {
		page, next, err := e.List(ctx, query)
		if err != nil {
			return err
		}
		for _, summary := range page {
			if summary.Blocked != nil {
				found.Blocked = append(found.Blocked, BlockedRun{summary.Run, summary.Workflow, *summary.Blocked})
			}
		}
		query.Cursor, query.Limit = next, mostBlocked-len(found.Blocked)
		if found.MoreBlocked = next != ""; next == "" || query.Limit <= 0 {
			return nil
		}
	}
}
