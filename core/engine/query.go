package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/port"
)

// Query asks a run, open or closed, a question that changes nothing. Before its code has run for the first time, and for a moment
// when it continues as new, a run is [port.Unavailable] for questions.
func (e *Engine) Query(ctx context.Context, run, name string, input history.Payload) (history.Payload, error) {
	if err := errors.Join(validID("run id", run), validName("query", name), validPayload("input", input)); err != nil {
		return nil, err
	}
	var answer history.Payload
	asked := false
	err := e.ask(ctx, run, func(l *live) error {
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
