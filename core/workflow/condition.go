package workflow

import (
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// AwaitCondition waits until a condition on the workflow's own variables holds. The condition still
// holds when AwaitCondition returns nil, also where many units wait for the same one: they continue
// one after the other, the longest waiting first. The scheduler evaluates the condition whenever
// all units have paused, so it must be quick, and must only look. For a limit, wait in a
// [WithTimeout] context. For a lock, use a [Mutex]; for a number of units at a time, a [Semaphore].
func AwaitCondition(ctx Context, holds func() bool) error {
	u := ctx.enter("AwaitCondition")
	if met(u, ctx, holds) {
		return nil
	}
	_, err := condition(u, ctx, holds).Await(ctx)
	return err
}

// AwaitConditionWithin is [AwaitCondition] with a limit: the error is [ErrTimeout] if the condition
// does not hold in time. The limit is a durable timer. A limit of zero or less evaluates the
// condition once.
func AwaitConditionWithin(ctx Context, limit time.Duration, holds func() bool) error {
	u := ctx.enter("AwaitConditionWithin")
	if met(u, ctx, holds) {
		return nil
	}
	return within(ctx, limit, func(ctx Context) error {
		_, err := condition(u, ctx, holds).Await(ctx)
		return err
	})
}

// within waits in a scope with a limit.
func within(ctx Context, limit time.Duration, wait func(Context) error) error {
	switch err := ctx.scope.Err(); {
	case err != nil:
		return err
	case limit <= 0:
		return history.TimeoutFailure(history.ScopeTimeout, limit)
	}
	limited, cancel := WithTimeout(ctx, limit)
	defer cancel()
	return wait(limited)
}

// met says whether the condition holds now.
func met(u *scheduler.Unit, ctx Context, holds func() bool) (yes bool) {
	_ = u.ReadOnly(func() error {
		yes = ctx.scope.Err() == nil && holds()
		return nil
	})
	return yes
}

// Condition gives a future that settles once the condition holds, for [Race] and the like; see
// [AwaitCondition].
func Condition(ctx Context, holds func() bool) Future[struct{}] {
	return condition(ctx.enter("Condition"), ctx, holds)
}

func condition(u *scheduler.Unit, ctx Context, holds func() bool) Future[struct{}] {
	return Future[struct{}]{promise: u.Condition(ctx.scope, holds), scope: ctx.scope, on: label("a condition")}
}
