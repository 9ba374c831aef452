package workflow

import (
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Sleep waits, durably and without cost: a run that sleeps for a year holds no memory. It returns early, with the scope's
// error, when the scope is cancelled. A duration of zero or less does not wait.
func Sleep(ctx Context, d time.Duration) error {
	_, err := timer(ctx.enter("Sleep"), ctx, d).Await(ctx)
	return err
}

// Timer starts a timer and does not wait. It counts from the time of this activation, fires never early, and is cancelled
// with its scope. A duration of zero or less needs no timer.
func Timer(ctx Context, d time.Duration) Future[struct{}] {
	return timer(ctx.enter("Timer"), ctx, d)
}

func timer(u *scheduler.Unit, ctx Context, d time.Duration) Future[struct{}] {
	if d <= 0 && ctx.scope.Err() == nil {
		p := &machine.Promise{}
		p.Keep(nil)
		return Future[struct{}]{promise: p, scope: ctx.scope, on: label("a timer that was over at once")}
	}
	return operation[struct{}](u, ctx.scope, &history.StartTimer{Duration: max(d, 0)})
}
