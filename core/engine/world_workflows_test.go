package engine_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

func executionKey(run string, generation int, id string) string {
	return fmt.Sprintf("%s/%d/%s", run, generation, id)
}

// during marks an execution, and takes a while of the bubble's time.
func (w *world) during(ctx context.Context, d time.Duration, step bool) error {
	info := activity.InfoOf(ctx)
	defer w.begins(ctx, executionKey(info.RunID, info.Generation, info.ID), step)()
	return elapse(ctx, d)
}

// elapse waits in the bubble's time, or until the context ends.
func elapse(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var (
	callDouble = activity.Declare[int, int]("ran-double")
	goSignal   = workflow.NewSignal[string]("go")
	addUpdate  = workflow.NewUpdate[int, int]("add")
	sumQuery   = workflow.NewQuery[struct{}, int]("sum")
	leafChild  = workflow.Declare[int, int]("leaf")
)

// double is an activity that counts.
func (w *world) double() workflow.Definition {
	return callDouble.Implement(func(ctx context.Context, n int) (int, error) { return 2 * n, w.during(ctx, time.Second, false) })
}

// step is an inline step of a workflow that counts.
func (w *world) step(ctx workflow.Context, name string, d time.Duration, n int) (int, error) {
	return w.startStep(ctx, name, d, n).Await(ctx)
}

func (w *world) startStep(ctx workflow.Context, name string, d time.Duration, n int) workflow.Future[int] {
	return workflow.StartStep(ctx, "ran-"+name, activity.Options{}, func(ctx context.Context) (int, error) {
		return n, w.during(ctx, d, true)
	})
}

// leaf is a child with a step and an activity.
func (w *world) leaf() workflow.Definition {
	return leafChild.Implement(func(ctx workflow.Context, n int) (int, error) {
		one, err := w.step(ctx, "one", time.Millisecond, 1)
		if err != nil {
			return 0, err
		}
		two, err := workflow.Execute(ctx, callDouble, n)
		return one + two, err
	})
}

// only makes a definition list of one workflow and what the small ones need.
func only[I, O any](name string, run func(w *world, ctx workflow.Context, in I) (O, error)) func(w *world) []workflow.Definition {
	return func(w *world) []workflow.Definition {
		return []workflow.Definition{w.double(), w.leaf(), workflow.New(name, func(ctx workflow.Context, in I) (O, error) { return run(w, ctx, in) })}
	}
}
