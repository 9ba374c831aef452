package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/history"
)

// LongestPage is how many runs one page of a listing holds at most; ShortestPage what it holds where nobody says.
const (
	LongestPage  = 1000
	ShortestPage = 100
)

// Get gives a run's summary.
func (e *Engine) Get(ctx context.Context, run string) (*Summary, error) {
	if err := validID("run id", run); err != nil {
		return nil, err
	}
	summary, err := e.Runs.Summary(ctx, run)
	if err != nil {
		return nil, e.found(err, run)
	}
	return summary, nil
}

// found sorts a store's error about one run.
func (e *Engine) found(err error, run string) error {
	if errors.Is(err, ErrNoRun) {
		return failWith(err, NotFound, "there is no run with the id %q", run)
	}
	return e.unavailable(err, "the run was not read")
}

// Wait waits until a run has ended, or the context ends; then it gives the summary as it stands.
func (e *Engine) Wait(ctx context.Context, run string) (summary *Summary, err error) {
	err = e.until(ctx, run, func() (bool, error) {
		latest, err := e.Get(ctx, run)
		if err != nil {
			return false, err
		}
		summary = latest
		return summary.Status.Closed(), nil
	})
	if ctx.Err() != nil && summary != nil {
		return summary, nil
	}
	return summary, err
}

// List gives runs that match, the latest start first, page by page.
func (e *Engine) List(ctx context.Context, query ListQuery) (page []*Summary, next string, err error) {
	switch {
	case query.Limit == 0:
		query.Limit = ShortestPage
	case query.Limit < 0 || query.Limit > LongestPage:
		return nil, "", fail(TooLarge, "a page of %d runs: the limit is from 1 to %d", query.Limit, LongestPage)
	}
	page, next, err = e.Directory.List(ctx, query)
	return page, next, e.unavailable(err, "the runs were not listed")
}

// ActivitiesOf gives what is known of activities under way that heartbeat, run long, have failed before, or are completed
// from outside.
func (e *Engine) ActivitiesOf(ctx context.Context, run string) ([]*TaskState, error) {
	states, err := e.Tasks.TasksOf(ctx, run)
	return states, e.unavailable(err, "the run's activities were not read")
}

// History gives a part of a generation's log: the records after a number, until there are none. Generation 0 is the current one.
func (e *Engine) History(ctx context.Context, run string, generation, after int) ([]*history.Record, error) {
	summary, err := e.Get(ctx, run)
	if err != nil {
		return nil, err
	}
	if generation == 0 {
		generation = summary.Generation
	}
	if generation < 1 || generation > summary.Generation {
		return nil, fail(NotFound, "run %q has generations 1 to %d, not %d", run, summary.Generation, generation)
	}
	records, err := e.Runs.Records(ctx, run, generation, after)
	return records, e.unavailable(err, "the log was not read")
}
