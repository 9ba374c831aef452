package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/executor"
)

// Query asks a run, open or closed, a question that changes nothing. Before its code has run for the first time, and for a moment
// when it continues as new, a run is [Unavailable] for questions.
func (e *Engine) Query(ctx context.Context, run, name string, input history.Payload) (history.Payload, error) {
	if err := errors.Join(validID("run id", run), validName("query", name), validPayload("input", input)); err != nil {
		return nil, err
	}
	s, err := e.hold(ctx, run, e.questions)
	if err != nil {
		return nil, err
	}
	defer e.live.release(s)
	if s.live != nil && s.live.exec == nil {
		s.drop()
	}
	view, err := e.Runs.Look(ctx, run, s.live.known())
	if err != nil {
		return nil, e.found(err, run)
	}
	if err := e.catchUp(ctx, s, view); err != nil {
		if blocked := (*blockedError)(nil); errors.As(err, &blocked) {
			return nil, failWith(err, Blocked, "run %q cannot be asked: %s", run, blocked.message)
		}
		return nil, e.unavailable(err, "the run was not read")
	}
	if s.live.position.Record == 0 {
		return nil, fail(Unavailable, "run %q has not begun yet, or not yet begun anew: ask again", run)
	}
	var answer history.Payload
	err = e.guard(s.live.exec, func() (err error) {
		answer, err = s.live.exec.Ask(name, input)
		return err
	})
	var unknown *executor.UnknownQuery
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &unknown):
		return nil, failWith(err, NotFound, "%s", err.Error())
	}
	if stuck := (*executor.Stuck)(nil); errors.As(err, &stuck) {
		s.live = nil // its goroutine is lost; closing it would wait for it
	}
	return nil, failWith(err, Rejected, "query %q failed: %v", name, err)
}
