package workflow

import (
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// ParallelOptions of [ParallelWith] and [MapWith]. The zero value is [Parallel].
type ParallelOptions struct {
	// FailFast cancels the other branches when one fails, and begins no further ones. The error is
	// that branch's alone, as a *[BranchError]; branches that were canceled are still waited for.
	FailFast bool
	// Concurrency is how many branches run at a time; the others begin in order as these end. Zero:
	// all at once.
	Concurrency int
}

// ParallelWith is [Parallel] with options.
func ParallelWith[T any](ctx Context, options ParallelOptions, branches ...func(Context) (T, error)) ([]T, error) {
	ctx.enter("ParallelWith")
	return parallel(ctx, "ParallelWith", options, branches)
}

// MapWith is [Map] with options.
func MapWith[I, O any](ctx Context, options ParallelOptions, items []I, run func(Context, I) (O, error)) ([]O, error) {
	ctx.enter("MapWith")
	return parallel(ctx, "MapWith", options, overItems(items, run))
}

// overItems makes a branch of each item.
func overItems[I, O any](items []I, run func(Context, I) (O, error)) []func(Context) (O, error) {
	branches := make([]func(Context) (O, error), len(items))
	for i, item := range items {
		branches[i] = func(ctx Context) (O, error) { return run(ctx, item) }
	}
	return branches
}

func parallel[T any](ctx Context, call string, options ParallelOptions, branches []func(Context) (T, error)) ([]T, error) {
	if options.Concurrency < 0 {
		return nil, fmt.Errorf("workflow.%s: Concurrency is %d, it must be 0 or more", call, options.Concurrency)
	}
	inner := ctx
	if options.FailFast {
		inner, _ = WithCancel(ctx)
	}
	var first *BranchError
	running, free := 0, (*machine.Promise)(nil)
	ended := func(branch int) func(*machine.Promise) {
		return func(p *machine.Promise) {
			if _, _, err := p.Outcome(); err != nil && first == nil && options.FailFast {
				first = &BranchError{Branch: branch, Err: err}
				ctx.unit.Run().Cancel(inner.scope, history.CancelFailure("canceled: another branch failed"))
			}
			if running--; free != nil {
				waiting := free
				free = nil
				waiting.Keep(nil)
			}
		}
	}
	shield := scheduler.Shield() // branches end in their own way, even when cancelled
	var futures []Future[T]
	for i, run := range branches {
		if options.Concurrency > 0 && running == options.Concurrency {
			free = &machine.Promise{}
			_ = ctx.unit.Await(free, shield, shield, label("a branch to end"))
		}
		if first != nil {
			break
		}
		f := Go(inner, run)
		f.promise.Notify(ended(i))
		running++
		futures = append(futures, f)
	}
	values := make([]T, len(branches))
	var errs []error
	for i, f := range futures {
		value, err := f.Await(Context{unit: ctx.unit, scope: shield})
		if values[i] = value; err != nil {
			errs = append(errs, &BranchError{Branch: i, Err: err})
		}
	}
	if first != nil {
		return values, first
	}
	return values, errors.Join(errs...)
}
