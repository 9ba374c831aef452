package scheduler_test

import (
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/workflow"
)

type activityOfInts = activity.Activity[int, int]

// panics is code that panics in many places, and the same code once it is fixed.
func panics(fixed bool) func(Ctx, string) (nothing, error) {
	boom := func(value any) {
		if !fixed {
			panic(value)
		}
	}
	return func(ctx Ctx, where string) (nothing, error) {
		switch where {
		case "root":
			boom("in the root")
		case "error":
			boom(errBroken)
		case "branch":
			_, err := workflow.Parallel(ctx, func(Ctx) (int, error) { boom("in a branch"); return 0, nil }, call(actA))
			return nothing{}, err
		case "condition":
			seen := false
			workflow.HandleSignal(ctx, note, func(Ctx, string) error { seen = true; return nil })
			return nothing{}, workflow.AwaitCondition(ctx, func() bool {
				if seen {
					boom("in a condition")
				}
				return seen
			})
		case "compensation":
			var undo workflow.Compensations
			undo.Add("one", func(ctx Ctx) error { return execute(ctx, actB) })
			undo.Add("two", func(Ctx) error { boom("in a compensation"); return nil })
			undo.Add("three", func(ctx Ctx) error { return execute(ctx, actC) })
			return nothing{}, undo.Run(ctx, execute(ctx, actA))
		}
		workflow.HandleSignal(ctx, note, func(ctx Ctx, text string) error {
			boom("in the handler of " + text)
			workflow.Log(ctx, "signal "+text)
			return nil
		})
		workflow.HandleUpdate(ctx, add, func(_ Ctx, n int) (int, error) { boom("in an update"); return n, nil },
			func(n int) error {
				if n == 7 {
					boom("in a validator")
				}
				return nil
			})
		return nothing{}, workflow.Sleep(ctx, time.Minute)
	}
}

// completes ends with a result.
func completes(result int) func(Ctx, int) (int, error) {
	return func(ctx Ctx, _ int) (int, error) { return result, workflow.Sleep(ctx, time.Minute) }
}

// goesOn continues as new with an input.
func goesOn(input int) func(Ctx, int) (int, error) {
	return func(ctx Ctx, _ int) (int, error) {
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return 0, err
		}
		return workflow.ContinueAsNew(ctx, completes(0), input)
	}
}

// serves has handlers that call an activity, and answer.
func serves(a *activityOfInts, times int) func(Ctx) (nothing, error) {
	return func(ctx Ctx) (nothing, error) {
		workflow.HandleSignal(ctx, note, func(ctx Ctx, _ string) error { return execute(ctx, a) })
		workflow.HandleUpdate(ctx, add, func(_ Ctx, n int) (int, error) { return times * n, nil })
		return nothing{}, workflow.Sleep(ctx, time.Minute)
	}
}

// faults are what goes wrong: panics, violations, and code that no longer agrees with its log.
func faults(tr *transcript) []registry.Definition {
	inGoroutine := func(call func()) {
		var done sync.WaitGroup
		done.Go(call)
		done.Wait()
	}
	return []registry.Definition{
		workflow.New("panics", panics(false)),
		workflow.New("panics-fixed", panics(true)),
		workflow.New("panics-fail", panics(false)).FailOnPanic(),
		workflow.New("blocks", func(ctx Ctx, where string) (nothing, error) {
			switch where {
			case "root":
				tr.block()
			case "branch":
				_, err := workflow.Parallel(ctx, func(Ctx) (nothing, error) { tr.block(); return nothing{}, nil })
				return nothing{}, err
			case "condition":
				looks := 0
				return nothing{}, workflow.AwaitCondition(ctx, func() bool {
					if looks++; looks == 2 {
						tr.block()
					}
					return looks == 2
				})
			}
			return nothing{}, nil
		}),
		workflow.New("goexits", func(ctx Ctx, where string) (nothing, error) {
			seen := false
			switch where {
			case "root":
				goexit()
			case "branch":
				_, err := workflow.Parallel(ctx, func(Ctx) (int, error) { goexit(); return 0, nil })
				return nothing{}, err
			case "handler":
				workflow.HandleSignal(ctx, note, func(Ctx, string) error { goexit(); return nil })
			case "condition":
				workflow.HandleSignal(ctx, note, func(Ctx, string) error { seen = true; return nil })
				return nothing{}, workflow.AwaitCondition(ctx, func() bool {
					if seen {
						goexit()
					}
					return false
				})
			}
			return nothing{}, workflow.Sleep(ctx, time.Minute)
		}),
		workflow.New("violations", func(ctx Ctx, how string) (nothing, error) {
			root := ctx
			switch how {
			case "parent":
				_, err := workflow.Parallel(ctx, func(Ctx) (nothing, error) {
					return nothing{}, workflow.Sleep(root, time.Minute)
				})
				return nothing{}, err
			case "recovered":
				_, err := workflow.Parallel(ctx, func(ctx Ctx) (nothing, error) {
					func() {
						defer func() { _ = recover() }()
						_ = workflow.Sleep(root, time.Minute)
					}()
					_, err := workflow.Execute(ctx, actA, 1)
					workflow.Log(ctx, "never: it went on")
					return nothing{}, err
				})
				return nothing{}, err
			case "goroutine": // of the branch's, while the branch has the turn
				_, err := workflow.Parallel(ctx, func(Ctx) (nothing, error) {
					inGoroutine(func() { _ = workflow.Sleep(root, time.Minute) })
					return nothing{}, nil
				})
				return nothing{}, err
			case "outside": // a goroutine that calls when no unit has the turn
				tr.outside = func() { inGoroutine(func() { _ = workflow.Sleep(root, time.Minute) }) }
				return nothing{}, workflow.Sleep(ctx, time.Hour)
			case "validator":
				workflow.HandleUpdate(ctx, add, func(_ Ctx, n int) (int, error) { return n, nil }, func(int) error {
					return workflow.Sleep(root, time.Minute)
				})
			case "condition":
				return nothing{}, workflow.AwaitCondition(ctx, func() bool {
					return workflow.Sleep(ctx, time.Minute) == nil
				})
			case "later-condition":
				seen := false
				workflow.HandleSignal(ctx, note, func(Ctx, string) error { seen = true; return nil })
				return nothing{}, workflow.AwaitCondition(ctx, func() bool {
					return seen && workflow.Sleep(ctx, time.Minute) == nil
				})
			case "cancel-in-condition":
				_, cancel := workflow.WithCancel(ctx)
				return nothing{}, workflow.AwaitCondition(ctx, func() bool { cancel(); return true })
			}
			return nothing{}, workflow.Sleep(ctx, time.Hour)
		}),
		define("original", func(ctx Ctx) (nothing, error) {
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return nothing{}, err
			}
			a, b := workflow.Start(ctx, actA, 1), workflow.Start(ctx, actB, 2)
			_, err := workflow.All(ctx, a, b)
			return nothing{}, err
		}),
		workflow.New("completes", completes(1)), workflow.New("completes-otherwise", completes(2)),
		workflow.New("goes-on", goesOn(1)), workflow.New("goes-on-otherwise", goesOn(2)),
		define("serves", serves(actA, 1)), define("serves-otherwise", serves(actB, 1)), define("answers-otherwise", serves(actA, 2)),
		define("waits", func(ctx Ctx) (string, error) { return workflow.AwaitSignal(ctx, note) }),
		define("missing", func(ctx Ctx) (nothing, error) {
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return nothing{}, err
			}
			return nothing{}, execute(ctx, actA)
		}),
		define("missing-kind", func(ctx Ctx) (nothing, error) { return nothing{}, execute(ctx, actA) }),
		define("extra", func(ctx Ctx) (nothing, error) {
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return nothing{}, err
			}
			a, b, c := workflow.Start(ctx, actA, 1), workflow.Start(ctx, actB, 2), workflow.Start(ctx, actC, 3)
			_, err := workflow.All(ctx, a, b, c)
			return nothing{}, err
		}),
		define("extra-kind", func(ctx Ctx) (nothing, error) {
			workflow.SetAttributes(ctx, tier.Is("gold"))
			return nothing{}, workflow.Sleep(ctx, time.Minute)
		}),
		define("reordered", func(ctx Ctx) (nothing, error) {
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return nothing{}, err
			}
			b, a := workflow.Start(ctx, actB, 2), workflow.Start(ctx, actA, 1)
			_, err := workflow.All(ctx, a, b)
			return nothing{}, err
		}),
		define("changed-input", func(ctx Ctx) (nothing, error) {
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return nothing{}, err
			}
			a, b := workflow.Start(ctx, actA, 1), workflow.Start(ctx, actB, 99)
			_, err := workflow.All(ctx, a, b)
			return nothing{}, err
		}),
		define("changed-type", func(ctx Ctx) (nothing, error) {
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return nothing{}, err
			}
			a, b := workflow.Start(ctx, actA, 1), workflow.Start(ctx, actD, 2)
			_, err := workflow.All(ctx, a, b)
			return nothing{}, err
		}),
		define("changed-duration", func(ctx Ctx) (nothing, error) { return nothing{}, workflow.Sleep(ctx, time.Hour) }),
		define("changed-unit", func(ctx Ctx) (nothing, error) {
			_, err := workflow.Parallel(ctx, func(ctx Ctx) (nothing, error) { return nothing{}, workflow.Sleep(ctx, time.Minute) })
			return nothing{}, err
		}),
	}
}
