package workflow

// Patched guards a change of workflow code while runs of the old code are still open:
//
//	if workflow.Patched(ctx, "charge-before-reserve") {
//		// new code
//	} else {
//		// old code
//	}
//
// It is true in runs that come here for the first time now, and marked in their log; false in those that have passed here
// before there was a patch. When no run of the old code is left, replace it by [DeprecatePatch] and the new code alone;
// when none is left from before that, delete it.
func Patched(ctx Context, id string) bool { return ctx.enter("Patched").Patched(id) }

// DeprecatePatch is what a patch becomes when its old code is gone. It accepts logs with the patch's mark, and those without.
func DeprecatePatch(ctx Context, id string) { ctx.enter("DeprecatePatch").DeprecatePatch(id) }
