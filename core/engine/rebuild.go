package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/history"
)

// Rebuilt says what a rebuild found.
type Rebuilt struct {
	Open, Sent, Unblocked int
}

// Rebuild brings back what was in the queues, from logs and inboxes alone (rule 10): for each open run, what its log has
// pending is sent again; runs with something to do are resumed; and runs that are blocked are tried again. API calls that
// were in flight when the queues were lost must have ended.
func (e *Engine) Rebuild(ctx context.Context) (done Rebuilt, err error) {
	cursor := ""
	for {
		runs, next, err := e.Directory.Unfinished(ctx, cursor)
		if err != nil {
			return done, err
		}
		for _, run := range runs {
			if err := e.rebuildRun(ctx, run, &done); err != nil && !errors.Is(err, ErrNoRun) {
				return done, err
			}
		}
		if next == "" {
			return done, nil
		}
		cursor = next
	}
}

func (e *Engine) rebuildRun(ctx context.Context, run string, done *Rebuilt) error {
	view, err := e.Runs.Look(ctx, run, Position{})
	if err != nil {
		return err
	}
	o := &outbox{e: e, run: run, generation: view.Summary.Generation}
	if view.Summary.Blocked != nil {
		done.Unblocked++
		o.resumes = append(o.resumes, Resume{Run: run, Unblock: true})
	}
	steps := false
	if !view.Summary.Status.Closed() {
		done.Open++
		fold, err := e.fold(ctx, run, view.Summary.Generation)
		if err != nil {
			if errors.Is(err, history.ErrUnreadable) {
				return e.block(ctx, run, ReasonUnreadable, err.Error())
			}
			return err
		}
		for _, p := range fold.Pending() {
			steps = steps || isStep(p.Command)
			if err := o.add(ctx, p.Command, p.Time); err != nil {
				return err
			}
		}
	}
	done.Sent += len(o.tasks) + len(o.resumes)
	if steps || len(view.Inbox) > 0 { // a run that only waits is not replayed for it
		o.resumes = append(o.resumes, Resume{Run: run})
	}
	return o.flush(ctx)
}
