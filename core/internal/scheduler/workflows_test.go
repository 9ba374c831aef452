package scheduler_test

import (
	"errors"
	"math"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/workflow"
)

// What the workflows of these tests call. Code of activities never runs here.
var (
	actA = activity.Declare[int, int]("A")
	actB = activity.Declare[int, int]("B")
	actC = activity.Declare[int, int]("C")
	actD = activity.Declare[int, int]("D")

	echo      = workflow.Declare[string, string]("echo")
	note      = workflow.NewSignal[string]("note")
	add       = workflow.NewUpdate[int, int]("add")
	total     = workflow.NewQuery[int, int]("total")
	situation = workflow.NewQuery[string, string]("situation")
	tier      = workflow.NewAttribute[string]("tier")
	score     = workflow.NewAttribute[int]("score")
)

type (
	Ctx     = workflow.Context
	nothing = struct{}
)

// entries are all workflows of these tests. What a deferred function of theirs writes down lands in the transcript.
func entries(tr *transcript) *registry.Registry {
	all := [][]registry.Definition{scheduling(), primitives(), cancellation(tr), messages(), receivers(), phases(), lifecycle(), faults(tr)}
	var flat []registry.Definition
	for _, some := range all {
		flat = append(flat, some...)
	}
	found, err := registry.New(flat...)
	require.NoError(tr.t, err)
	return found
}

// define names a workflow that needs no input.
func define[O any](name string, run func(Ctx) (O, error)) registry.Definition {
	return workflow.New(name, func(ctx Ctx, _ nothing) (O, error) { return run(ctx) })
}

// call is a branch that calls activities one after the other, and gives the last one's result.
func call(activities ...*activity.Activity[int, int]) func(Ctx) (int, error) {
	return func(ctx Ctx) (last int, err error) {
		for i, a := range activities {
			if last, err = workflow.Execute(ctx, a, i+1); err != nil {
				return 0, err
			}
		}
		return last, nil
	}
}

// chatter is a branch that logs so many times, with a yield between.
func chatter(name string, times int) func(Ctx) (nothing, error) {
	return func(ctx Ctx) (nothing, error) {
		for i := range times {
			workflow.Log(ctx, name, "step", i+1)
			workflow.Yield(ctx)
		}
		return nothing{}, nil
	}
}

var errBroken = errors.New("it is broken")

func scheduling() []registry.Definition {
	return []registry.Definition{
		// The example of seed 001.
		define("branches", func(ctx Ctx) ([]int, error) {
			return workflow.Parallel(ctx, call(actA, actC), call(actB, actD))
		}),
		define("rounds", func(ctx Ctx) (nothing, error) {
			first := workflow.Go(ctx, chatter("first", 3))
			second := workflow.Go(ctx, chatter("second", 2))
			workflow.Log(ctx, "root before its first pause")
			workflow.Yield(ctx)
			workflow.Log(ctx, "root in the round of the branches' first steps")
			_, err := workflow.All(ctx, first, second)
			return nothing{}, err
		}),
		define("nested", func(ctx Ctx) (nothing, error) {
			inner := func(name string) func(Ctx) (nothing, error) {
				return func(ctx Ctx) (nothing, error) {
					_, err := workflow.Parallel(ctx, chatter(name+" left", 1), chatter(name+" right", 1))
					return nothing{}, err
				}
			}
			workflow.HandleSignal(ctx, note, func(ctx Ctx, text string) error {
				workflow.Log(ctx, "handler of "+text)
				_, err := workflow.Parallel(ctx, chatter("branch of "+text, 1))
				return err
			})
			// Eleven branches: the order is that of numbers, not of their text.
			branches := make([]func(Ctx) (nothing, error), 11)
			for i := range branches {
				branches[i] = chatter("plain", 1)
			}
			branches[0], branches[1] = inner("p0"), inner("p1")
			_, err := workflow.Parallel(ctx, branches...)
			if err == nil {
				err = workflow.Sleep(ctx, time.Minute)
			}
			return nothing{}, err
		}),
		define("nonpausing", func(ctx Ctx) (int, error) {
			workflow.Go(ctx, chatter("the branch's turn", 1))
			workflow.Log(ctx, "now", "time", workflow.Now(ctx).Format(time.RFC3339))
			random := workflow.Random(ctx)
			workflow.Log(ctx, "random", "first", random.IntN(1000), "second", random.IntN(1000), "uuid", workflow.UUID(ctx))
			info := workflow.InfoOf(ctx)
			workflow.Log(ctx, "info", "run", info.RunID, "generation", info.Generation, "workflow", info.Workflow, "size", info.LogSize, "parent", info.Parent)
			workflow.Log(ctx, "cancelled?", "err", ctx.Err())
			workflow.PublishState(ctx, map[string]int{"step": 1})
			workflow.SetAttributes(ctx, tier.Is("gold"), score.Is(3))
			workflow.Patched(ctx, "p")
			workflow.Log(ctx, "still the root's turn")
			if _, err := workflow.Execute(ctx, actA, 1); err != nil {
				return 0, err
			}
			workflow.PublishState(ctx, map[string]int{"step": 2})
			workflow.SetAttributes(ctx, tier.None())
			workflow.Log(ctx, "later", "time", workflow.Now(ctx).Format(time.RFC3339), "random", random.IntN(1000))
			return workflow.Execute(ctx, actB, 2)
		}),
		// Three calls that wait at the same time, and log who was woken.
		define("waiters", func(ctx Ctx) ([]string, error) {
			waiter := func(name string, wait func(Ctx) error) func(Ctx) (string, error) {
				return func(ctx Ctx) (string, error) {
					err := wait(ctx)
					workflow.Log(ctx, name+" was woken")
					return name, err
				}
			}
			return workflow.Parallel(ctx,
				waiter("activity", func(ctx Ctx) error { _, err := workflow.Execute(ctx, actA, 1); return err }),
				waiter("timer", func(ctx Ctx) error { return workflow.Sleep(ctx, time.Hour) }),
				waiter("child", func(ctx Ctx) error { _, err := workflow.ExecuteChild(ctx, echo, "x"); return err }))
		}),
	}
}

func primitives() []registry.Definition {
	return []registry.Definition{
		echo.Implement(func(_ Ctx, text string) (string, error) { return text, nil }),
		workflow.New("activity", func(ctx Ctx, n int) (int, error) { return workflow.Execute(ctx, actA, n) }),
		define("options", func(ctx Ctx) (int, error) {
			return workflow.Execute(ctx, actA.With(activity.Options{ID: "mine", ScheduleToStart: time.Second, StartToClose: 2 * time.Second,
				ScheduleToClose: time.Minute, Heartbeat: 3 * time.Second, OnCancel: activity.Abandon,
				Retry: activity.Retry{MaxAttempts: 3, BackoffCoefficient: 1.5, NonRetryable: []string{"card-declined"}}}), 1)
		}),
		define("options-refused", func(ctx Ctx) (nothing, error) {
			for _, o := range []activity.Options{
				{ScheduleToStart: -time.Second}, {StartToClose: -time.Second}, {ScheduleToClose: -time.Second}, {Heartbeat: -1},
				{OnCancel: 7}, {Retry: activity.Retry{InitialInterval: -1}}, {Retry: activity.Retry{MaxInterval: -1}},
				{Retry: activity.Retry{BackoffCoefficient: 0.5}}, {Retry: activity.Retry{BackoffCoefficient: math.NaN()}},
				{Retry: activity.Retry{BackoffCoefficient: math.Inf(1)}}, {Retry: activity.Retry{MaxAttempts: -1}},
			} {
				_, err := workflow.Execute(ctx, actA.With(o), 1)
				workflow.Log(ctx, "refused", "err", err)
			}
			_, err := workflow.StartStep(ctx, "count", activity.Options{StartToClose: -time.Minute}, stepCode).Await(ctx)
			workflow.Log(ctx, "refused", "err", err)
			_, err = workflow.ExecuteChild(ctx, echo.With(workflow.ChildOptions{ParentClosePolicy: 9}), "x")
			workflow.Log(ctx, "refused", "err", err)
			return nothing{}, execute(ctx, actA.With(activity.Options{StartToClose: activity.Unlimited, ScheduleToClose: activity.Unlimited}))
		}),
		define("options-accepted-once", func(ctx Ctx) (nothing, error) {
			return nothing{}, execute(ctx, actA.With(activity.Options{Retry: activity.Retry{BackoffCoefficient: 0.5}, ScheduleToClose: -time.Second}))
		}),
		define("timer", func(ctx Ctx) (string, error) {
			if err := workflow.Sleep(ctx, 0); err != nil {
				return "", err
			}
			return "awake", workflow.Sleep(ctx, time.Hour)
		}),
		define("signal", func(ctx Ctx) (string, error) { return workflow.AwaitSignal(ctx, note) }),
		define("child", func(ctx Ctx) (string, error) { return workflow.ExecuteChild(ctx, echo, "hello") }),
		define("condition", func(ctx Ctx) (int, error) {
			seen := 0
			workflow.HandleSignal(ctx, note, func(_ Ctx, _ string) error { seen++; return nil })
			err := workflow.AwaitCondition(ctx, func() bool { return seen >= 2 })
			return seen, err
		}),
		// A lock as a workflow's author might build one.
		define("condition-lock", func(ctx Ctx) (nothing, error) {
			locked := false
			workflow.HandleSignal(ctx, note, func(ctx Ctx, name string) error {
				if err := workflow.AwaitCondition(ctx, func() bool { return !locked }); err != nil {
					return err
				}
				locked = true
				workflow.Log(ctx, name+" has the lock")
				_, err := workflow.Execute(ctx, actA, 1)
				workflow.Log(ctx, name+" gives it back")
				locked = false
				return err
			})
			return nothing{}, workflow.Sleep(ctx, time.Hour)
		}),
		define("mutex", func(ctx Ctx) (nothing, error) {
			var lock workflow.Mutex
			scope, cancel := workflow.WithCancel(ctx)
			workflow.HandleSignal(ctx, note, func(Ctx, string) error { cancel(); return nil })
			hold := func(scope Ctx, name string) func(Ctx) (nothing, error) {
				return func(ctx Ctx) (nothing, error) {
					err := lock.Lock(ctx)
					told(ctx, name, err)
					if err != nil {
						return nothing{}, err
					}
					defer lock.Unlock()
					return nothing{}, execute(ctx, actA)
				}
			}
			first := workflow.Go(ctx, hold(ctx, "first"))
			second := workflow.Go(scope, hold(scope, "second"))
			third := workflow.Go(ctx, hold(ctx, "third"))
			for _, f := range []workflow.Future[nothing]{first, second, third} {
				_, _ = f.Await(ctx)
			}
			workflow.Log(ctx, "all are done", "free", lock.TryLock(ctx))
			workflow.Log(ctx, "and again", "free", lock.TryLock(ctx))
			return nothing{}, nil
		}),
		define("semaphore", func(ctx Ctx) (nothing, error) {
			seats := workflow.NewSemaphore(3)
			told(ctx, "none", seats.Acquire(ctx, 0))
			told(ctx, "too many", seats.Acquire(ctx, 4))
			_, err := workflow.Map(ctx, []int{2, 2, 1, 1}, func(ctx Ctx, n int) (int, error) {
				if err := seats.Acquire(ctx, n); err != nil {
					return 0, err
				}
				defer seats.Release(n)
				return workflow.Execute(ctx, actA, n)
			})
			return nothing{}, err
		}),
		workflow.New("lock-misused", func(ctx Ctx, how string) (nothing, error) {
			var lock workflow.Mutex
			switch how {
			case "unlock":
				lock.Unlock()
			case "condition":
				return nothing{}, workflow.AwaitCondition(ctx, func() bool { return lock.TryLock(ctx) })
			}
			return nothing{}, nil
		}),
		define("step", func(ctx Ctx) (int, error) {
			return workflow.Step(ctx, "count", stepCode)
		}),
		define("all", func(ctx Ctx) ([]int, error) {
			return workflow.All(ctx, workflow.Start(ctx, actA, 1), workflow.Start(ctx, actB, 2))
		}),
		define("any", func(ctx Ctx) (int, error) {
			first, _, err := workflow.Any(ctx, workflow.Start(ctx, actA, 1), workflow.Start(ctx, actB, 2))
			return first, err
		}),
		// Futures of every kind.
		define("race", func(ctx Ctx) (int, error) {
			inner, cancel := workflow.WithCancel(ctx)
			defer cancel()
			return workflow.Race(ctx, workflow.Start(inner, actA, 1), workflow.Timer(inner, time.Hour),
				workflow.Receive(inner, note), workflow.StartChild(inner, echo, "x"), workflow.Go(inner, call(actB)))
		}),
		define("parallel", func(ctx Ctx) ([]int, error) {
			none, err := workflow.Parallel[int](ctx)
			workflow.Log(ctx, "no branches", "values", len(none), "err", err)
			return workflow.Map(ctx, []int{7, 8}, func(ctx Ctx, n int) (int, error) { return workflow.Execute(ctx, actA, n) })
		}),
		define("yield", func(ctx Ctx) (nothing, error) {
			workflow.Go(ctx, chatter("branch", 1))
			workflow.Yield(ctx)
			workflow.Log(ctx, "root again, first in its next round")
			workflow.Yield(ctx)
			workflow.Log(ctx, "root once more")
			return nothing{}, nil
		}),
	}
}
