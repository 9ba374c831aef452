package workflow

// AwaitCondition waits until a condition on the workflow's own variables holds. It is looked at whenever all units have
// paused, so it must be quick, and only look. For a limit, wait in a [WithTimeout] context.
func AwaitCondition(ctx Context, holds func() bool) error {
	u := ctx.enter("AwaitCondition")
	if err := ctx.scope.Err(); err != nil {
		return err
	}
	if holds() {
		return nil
	}
	_, err := Future[struct{}]{promise: u.Condition(ctx.scope, holds), scope: ctx.scope, on: label("a condition")}.Await(ctx)
	return err
}
