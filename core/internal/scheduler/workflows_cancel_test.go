package scheduler_test

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/workflow"
)

func stepCode(context.Context) (int, error) { return 1, nil }

// told logs how something ended.
func told(ctx Ctx, what string, err error) {
	switch {
	case errors.Is(err, workflow.ErrCancelled):
		workflow.Log(ctx, what+" was cancelled")
	case errors.Is(err, workflow.ErrTimeout):
		workflow.Log(ctx, what+" timed out")
	default:
		workflow.Log(ctx, what, "err", err)
	}
}

func cancellation(tr *transcript) []registry.Definition {
	with := func(how activity.Cancellation) *activity.Activity[int, int] {
		return actA.With(activity.Options{OnCancel: how})
	}
	execute := func(how activity.Cancellation) func(Ctx) (int, error) {
		return func(ctx Ctx) (int, error) { return workflow.Execute(ctx, with(how), 1) }
	}
	return []registry.Definition{
		define("activity-wait", execute(activity.Wait)),
		define("activity-try", execute(activity.Try)),
		define("activity-abandon", execute(activity.Abandon)),
		define("after-cancel", func(ctx Ctx) (string, error) {
			told(ctx, "sleep", workflow.Sleep(ctx, time.Hour))
			_, err := workflow.Execute(ctx, actA, 1)
			told(ctx, "a new activity", err)
			told(ctx, "a new sleep", workflow.Sleep(ctx, time.Hour))
			_, err = workflow.AwaitSignal(ctx, note)
			told(ctx, "a new wait for a signal", err)
			_, err = workflow.ExecuteChild(ctx, echo, "x")
			told(ctx, "a new child", err)
			told(ctx, "a new condition", workflow.AwaitCondition(ctx, func() bool { return true }))
			_, err = workflow.Parallel(ctx, call(actB))
			told(ctx, "new branches", err)
			_, err = workflow.NewPhase(0).Run(ctx)
			told(ctx, "a new phase", err)
			n, err := workflow.Execute(workflow.Shield(ctx), actC, 1)
			told(ctx, "a shielded activity", err)
			if n == 1 {
				return "cleaned up", nil
			}
			return "", ctx.Err()
		}),
		define("branches-cancelled", func(ctx Ctx) ([]int, error) {
			return workflow.Parallel(ctx,
				func(ctx Ctx) (int, error) {
					err := workflow.Sleep(ctx, time.Hour)
					told(ctx, "first", err)
					return 1, err
				},
				func(ctx Ctx) (int, error) {
					n, err := workflow.Execute(ctx, actA, 1)
					told(ctx, "second", err)
					return n, err
				},
				func(ctx Ctx) (int, error) {
					err := workflow.Sleep(workflow.Shield(ctx), time.Minute)
					told(ctx, "shielded", err)
					return 3, err
				},
				func(ctx Ctx) (int, error) {
					_, err := workflow.AwaitSignal(ctx, note)
					told(ctx, "fourth", err)
					return 4, err
				})
		}),
		// One branch fails for good; the other one's scope ends.
		define("branches-mixed", func(ctx Ctx) ([]int, error) {
			return workflow.Parallel(ctx,
				func(ctx Ctx) (int, error) { return workflow.Execute(ctx, actA, 1) },
				func(ctx Ctx) (int, error) {
					inner, cancel := workflow.WithCancel(ctx)
					timer := workflow.Timer(inner, time.Hour)
					cancel()
					_, err := timer.Await(ctx)
					return 0, err
				})
		}),
		define("scope", func(ctx Ctx) (string, error) {
			inner, cancel := workflow.WithCancel(ctx)
			timer, outside := workflow.Timer(inner, time.Hour), workflow.Start(ctx, actA, 1)
			branch := workflow.Go(inner, func(ctx Ctx) (int, error) { return workflow.Execute(ctx, actB, 1) })
			if _, err := workflow.AwaitSignal(ctx, note); err != nil {
				return "", err
			}
			cancel()
			cancel()
			_, err := timer.Await(ctx)
			told(ctx, "the scope's timer", err)
			_, err = outside.Await(inner) // made outside of the scope: this wait ends, and the activity goes on
			told(ctx, "a wait from within the scope", err)
			_, err = branch.Await(ctx)
			told(ctx, "the scope's branch", err)
			_, err = outside.Await(ctx)
			return "done", err
		}),
		define("timeout", func(ctx Ctx) (string, error) {
			inner, cancel := workflow.WithTimeout(ctx, time.Minute)
			text, err := workflow.AwaitSignal(inner, note)
			cancel()
			told(ctx, "the wait", err)
			_, err = workflow.Execute(ctx, actA, 1)
			return text, err
		}),
		define("timeout-activity", func(ctx Ctx) (int, error) {
			inner, cancel := workflow.WithTimeout(ctx, time.Minute)
			defer cancel()
			return workflow.Execute(inner, with(activity.Try), 1)
		}),
		define("saga", func(ctx Ctx) (nothing, error) {
			var undo workflow.Compensations
			undo.Add("first", func(ctx Ctx) error { _, err := workflow.Execute(ctx, actC, 1); return err })
			undo.Add("second", func(ctx Ctx) error { _, err := workflow.Execute(ctx, actD, 1); return err })
			_, err := workflow.Execute(ctx, actA, 1)
			return nothing{}, undo.Run(ctx, err)
		}),
		define("evicted", func(ctx Ctx) (nothing, error) {
			defer func() { tr.deferred = append(tr.deferred, "the root's deferred function ran to its end") }()
			defer func() {
				tr.deferred = append(tr.deferred, "the root's deferred function began")
				_, _ = workflow.Execute(ctx, actB, 1)
				tr.deferred = append(tr.deferred, "never: a call of the surface ended it")
			}()
			defer func() {
				if p := recover(); p != nil {
					tr.deferred = append(tr.deferred, "never: a recover found something")
				}
			}()
			_, err := workflow.Parallel(ctx,
				func(ctx Ctx) (int, error) {
					defer func() { tr.deferred = append(tr.deferred, "the branch's deferred function ran") }()
					return workflow.Execute(ctx, actA, 1)
				})
			workflow.Log(ctx, "after the branch")
			return nothing{}, err
		}),
	}
}
