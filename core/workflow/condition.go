package workflow

// AwaitCondition waits until a condition on the workflow's own variables holds. It is looked at whenever all units have
// paused, so it must be quick, and only look. For a limit, wait in a [WithTimeout] context.
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
