package workflow

// AwaitCondition waits until a condition on the workflow's own variables holds. The condition still
// holds when AwaitCondition returns nil, also where many units wait for the same one: they continue
// one after the other, the longest waiting first. The scheduler evaluates the condition whenever all
// units have paused, so it must be quick, and must only look. For a limit, wait in a [WithTimeout]
// context. For a lock, use a [Mutex]; for a number of units at a time, a [Semaphore].
func AwaitCondition(ctx Context, holds func() bool) error {
	u := ctx.enter("AwaitCondition")
	met := false
	_ = u.ReadOnly(func() error {
		met = ctx.scope.Err() == nil && holds()
		return nil
	})
	if met {
		return nil
	}
	_, err := Condition(ctx, holds).Await(ctx)
	return err
}

// Condition gives a future that settles once the condition holds, for [Race] and the like; see [AwaitCondition].
func Condition(ctx Context, holds func() bool) Future[struct{}] {
	u := ctx.enter("AwaitCondition")
	return Future[struct{}]{promise: u.Condition(ctx.scope, holds), scope: ctx.scope, on: label("a condition")}
}
