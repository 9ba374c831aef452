package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// LongestPage is how many runs one page of a listing holds at most; ShortestPage what it holds where nobody says.
const (
	LongestPage  = 1000
	ShortestPage = 100
)

// Get gives a run's summary; one that cannot be read is shown by what else is known: see
// [port.Shown].
func (e *Engine) Get(ctx context.Context, run string) (*port.Summary, error) {
	if err := validID("run id", run); err != nil {
		return nil, err
	}
	summary, err := port.Shown(e.Runs.Summary(ctx, run))
	if err != nil {
		return nil, e.found(err, run)
	}
	return summary, nil
}

// found sorts a store's error about one run.
func (e *Engine) found(err error, run string) error {
	if errors.Is(err, port.ErrNoRun) {
		return port.Wrapf(err, port.NotFound, "there is no run with the id %q", run)
	}
	return e.unavailable(err, "the run was not read")
}

// Wait waits until a run has ended, or the context ends; then it gives the summary as it stands.
func (e *Engine) Wait(ctx context.Context, run string) (*port.Summary, error) {
	return e.WaitUntil(ctx, run, func(summary *port.Summary) bool {
		return summary.Status.Closed()
	})
}

// WaitUntil waits until done says so of a run's summary, or the context ends; then it gives the summary as it stands.
// Meanwhile it holds no summary, whose values may be large.
func (e *Engine) WaitUntil(
	ctx context.Context, run string, done func(*port.Summary) bool,
) (summary *port.Summary, err error) {
	seen := false
	err = e.until(ctx, run, func() (bool, error) {
		latest, err := e.Get(ctx, run)
		if seen = err == nil; !seen || !done(latest) {
			return false, err
		}
		summary = latest
		return true, nil
	})
	if summary == nil && seen && ctx.Err() != nil {
		return e.Get(context.WithoutCancel(ctx), run)
	}
	return summary, err
}

// CancelRequested says whether an open run was asked to stop, by what its inbox and the newest
// records of its log say.
func (e *Engine) CancelRequested(ctx context.Context, run string) (bool, error) {
	view, err := e.Runs.Look(ctx, run, port.Newest)
	if err != nil {
		return false, e.found(err, run)
	}
	for _, item := range view.Inbox {
		if _, is := item.Event.(*history.CancelRequested); is {
			return true, nil
		}
	}
	for _, record := range view.Records {
		for _, event := range record.Events {
			if _, is := event.(*history.CancelRequested); is {
				return true, nil
			}
		}
	}
	return false, nil
}

// List gives runs that match, the latest start first, page by page.
func (e *Engine) List(
	ctx context.Context, query port.ListQuery,
) (page []*port.Summary, next string, err error) {
	switch {
	case query.Limit == 0:
		query.Limit = ShortestPage
	case query.Limit < 0 || query.Limit > LongestPage:
		return nil, "", port.Errorf(port.TooLarge, "a page of %d runs: the limit is from 1 to %d",
			query.Limit, LongestPage)
	case query.Definition < 0:
		return nil, "", port.Errorf(port.Invalid,
			"version %d: versions are numbered from 1", query.Definition)
	case query.Definition > 0 && query.Workflow == "":
		return nil, "", port.Errorf(port.Invalid,
			"runs of version %d: name the workflow, too", query.Definition)
	}
	page, next, err = e.Directory.List(ctx, query)
	return page, next, e.unavailable(err, "the runs were not listed")
}

// eachPage goes through all pages of runs that match, and ends with the first error.
func (e *Engine) eachPage(
	ctx context.Context, query port.ListQuery, each func(page []*port.Summary) error,
) error {
	for {
		page, next, err := e.Directory.List(ctx, query)
		if err == nil {
			err = each(page)
		}
		if query.Cursor = next; err != nil || next == "" {
			return err
		}
	}
}

// ActivitiesOf gives what is known of pending activities that heartbeat, run long, have failed before or are completed from
// outside, and of steps that have failed before.
func (e *Engine) ActivitiesOf(ctx context.Context, run string) ([]*port.TaskState, error) {
	states, err := e.Tasks.TasksOf(ctx, run)
	if err == nil && len(states) > 0 {
		states, err = e.awaited(ctx, run, states)
	}
	return states, e.unavailable(err, "the run's activities were not read")
}

// awaited leaves out the states of activities that the run does not wait for: one outlives its activity where a process ended
// between a result and the state's deletion, or where a first attempt, which keeps no state, was asked to stop.
func (e *Engine) awaited(
	ctx context.Context, run string, states []*port.TaskState,
) ([]*port.TaskState, error) {
	summary, err := e.Runs.Summary(ctx, run)
	if errors.Is(err, port.ErrNoRun) || err == nil && summary.Status.Closed() {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	fold, err := e.fold(ctx, run, summary.Generation)
	return slices.DeleteFunc(states, func(s *port.TaskState) bool {
		command, pending := fold.Find(s.Seq)
		s.Step = isStep(command)
		return s.Generation != summary.Generation || !pending
	}), err
}

// History gives a part of a generation's log: the records after a number, until there are none. Generation 0 is the current one.
func (e *Engine) History(ctx context.Context, run string, generation, after int) ([]*history.Record, error) {
	generation, err := e.whichGeneration(ctx, run, generation)
	if err != nil {
		return nil, err
	}
	records, err := e.Runs.Records(ctx, run, generation, after)
	return records, e.unavailable(err, "the log was not read")
}

// whichGeneration finds a generation of a run: 0 is the current one.
func (e *Engine) whichGeneration(ctx context.Context, run string, generation int) (int, error) {
	summary, err := e.Get(ctx, run)
	if err != nil {
		return 0, err
	}
	if generation == 0 {
		return summary.Generation, nil
	}
	if generation < 1 || generation > summary.Generation {
		return 0, port.Errorf(port.NotFound, "run %q has generations 1 to %d, not %d", run,
			summary.Generation, generation)
	}
	if generation < summary.Generation {
		first, err := e.Runs.Records(ctx, run, generation, 0)
		if err == nil && len(first) == 0 {
			return 0, port.Errorf(port.NotFound, "the log of generation %d of run %q has been "+
				"deleted: it ended longer ago than logs are kept", generation, run)
		}
		return generation, e.unavailable(err, "the log was not read")
	}
	return generation, nil
}
