package workflow

import (
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Parallel runs branches side by side and waits for all of them. The values are in the order of the branches. A branch
// that fails does not stop the others: the error joins the failures in order, each a *[BranchError].
func Parallel[T any](ctx Context, branches ...func(Context) (T, error)) ([]T, error) {
	ctx.enter("Parallel")
	futures := make([]Future[T], len(branches))
	for i, run := range branches {
		futures[i] = Go(ctx, run)
	}
	values := make([]T, len(branches))
	var errs []error
	for i, f := range futures {
		// branches end in their own way, even when cancelled
		value, err := f.Await(Context{unit: ctx.unit, scope: scheduler.Shield()})
		if err != nil {
			errs = append(errs, &BranchError{Branch: i, Err: err})
		}
		values[i] = value
	}
	return values, errors.Join(errs...)
}

// Map runs a function for each item, side by side, like [Parallel]. For a limit of how many run at a
// time, and an end with the first failure, see [MapWith].
func Map[I, O any](ctx Context, items []I, run func(Context, I) (O, error)) ([]O, error) {
	ctx.enter("Map")
	return Parallel(ctx, overItems(items, run)...)
}

// Go starts a branch and does not wait: it runs when this unit pauses, in the same scope. A branch that is still under
// way when the workflow function returns is cut off.
func Go[T any](ctx Context, run func(Context) (T, error)) Future[T] {
	u := ctx.enter("Go")
	promise := u.Spawn(func(u *scheduler.Unit) (any, error) {
		return run(Context{unit: u, scope: ctx.scope})
	})
	return Future[T]{promise: promise, scope: ctx.scope, on: label("a branch")}
}

// BranchError is the failure of one branch.
type BranchError struct {
	Branch int // from 0
	Err    error
}

func (e *BranchError) Error() string { return fmt.Sprintf("branch %d: %v", e.Branch, e.Err) }

// Unwrap gives what the branch failed with.
func (e *BranchError) Unwrap() error { return e.Err }
