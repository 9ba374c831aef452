package workflow

import (
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Sentinels for errors.Is, true of every error that says so, however wrapped.
var (
	// ErrCancelled: the run, or the scope, was cancelled. A workflow that returns such an error ends as cancelled.
	ErrCancelled = history.ErrCancelled
	// ErrTimeout: an activity took too long, or [WithTimeout] or a phase ran out of time.
	ErrTimeout = history.ErrTimeout
)

// WithCancel gives a context with a scope of its own, and what cancels it. Cancelling is cooperative: timers and waits of
// the scope end with [ErrCancelled], activities are asked to stop, children are asked to cancel, and new work fails at
// once. The run's own cancellation reaches every scope that is not shielded.
func WithCancel(ctx Context) (inner Context, cancel func()) {
	u := ctx.enter("WithCancel")
	inner = Context{unit: ctx.unit, scope: ctx.scope.Within()}
	return inner, func() { u.Run().CancelByCode(inner.scope, history.CancelFailure("")) }
}

// WithTimeout gives a context whose scope is cancelled with [ErrTimeout] after a while; the timer is durable. Call cancel
// when the work is done: it ends the timer.
func WithTimeout(ctx Context, d time.Duration) (inner Context, cancel func()) {
	u := ctx.enter("WithTimeout")
	run := u.Run()
	inner = Context{unit: ctx.unit, scope: ctx.scope.Within()}
	own := ctx.scope.Within() // the timer's: it ends first, so that the scope's end does not emit it
	op := &machine.Operation{}
	op.Notify(func(p *machine.Promise) {
		if _, _, err := p.Outcome(); err == nil {
			run.Cancel(inner.scope, history.TimeoutFailure(history.ScopeTimeout, d))
		}
	})
	u.Schedule(&history.StartTimer{Duration: max(d, 0)}, own, op)
	return inner, func() {
		run.CancelByCode(own, history.CancelFailure(""))
		run.CancelByCode(inner.scope, history.CancelFailure(""))
	}
}

// Shield gives a context that no cancellation reaches: for cleaning up, and for what must end in order.
func Shield(ctx Context) Context {
	ctx.enter("Shield")
	return Context{unit: ctx.unit, scope: scheduler.Shield()}
}
