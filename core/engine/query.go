package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/port"
)

// Query asks a run, open or closed, a question that changes nothing. Before its code has run for
// the first time, and for a moment when it continues as new, a run is [port.Unavailable] for
// questions.
func (e *Engine) Query(
	ctx context.Context, run, name string, input history.Payload,
) (history.Payload, error) {
	return e.query(run, name, input, func(look func(*live) error) error {
		return e.ask(ctx, run, look)
	})
}

// QueryGeneration is [Engine.Query] for one generation of a run. An earlier generation answers as
// its log leaves it: each question replays the whole log. Where that log is deleted, the error is
// [port.NotFound].
func (e *Engine) QueryGeneration(
	ctx context.Context, run string, generation int, name string, input history.Payload,
) (history.Payload, error) {
	summary, err := e.Get(ctx, run)
	if err != nil {
		return nil, err
	}
	if generation == summary.Generation {
		return e.Query(ctx, run, name, input)
	}
	if generation, err = e.whichGeneration(ctx, run, generation); err != nil {
		return nil, err
	}
	return e.query(run, name, input, func(look func(*live) error) error {
		return e.askEarlier(ctx, run, generation, look)
	})
}

// query has a run asked, and says what came of it.
func (e *Engine) query(
	run, name string, input history.Payload, ask func(look func(*live) error) error,
) (history.Payload, error) {
	if err := errors.Join(validID("run id", run), validName("query", name), validPayload("input", input)); err != nil {
		return nil, err
	}
	var answer history.Payload
	asked := false
	err := ask(func(l *live) error {
		asked = true
		return e.guard(l.exec, func() (err error) {
			answer, err = l.exec.Ask(name, input)
			return err
		})
	})
	if !asked {
		return nil, err
	}
	var unknown *scheduler.UnknownQuery
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &unknown):
		return nil, port.Wrapf(err, port.NotFound, "%s", err.Error())
	}
	return nil, port.Wrapf(err, port.Rejected, "query %q failed: %v", name, err)
}
