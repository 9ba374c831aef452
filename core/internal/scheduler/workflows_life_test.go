package scheduler_test

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/workflow"
)

func goexit() { runtime.Goexit() }

func counting(ctx Ctx, n int) (int, error) {
	workflow.HandleSignal(ctx, note, func(ctx Ctx, text string) error {
		_, err := workflow.Execute(ctx, actA, len(text))
		return err
	})
	workflow.HandleUpdate(ctx, add, func(ctx Ctx, n int) (int, error) { return workflow.Execute(ctx, actB, n) })
	if err := workflow.Sleep(ctx, time.Minute); err != nil {
		return 0, err
	}
	if n == 2 {
		return n, nil
	}
	return workflow.ContinueAsNew(ctx, counting, n+1)
}

func patched(body func(Ctx) error) func(Ctx) (nothing, error) {
	return func(ctx Ctx) (nothing, error) {
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return nothing{}, err
		}
		return nothing{}, body(ctx)
	}
}

func execute(ctx Ctx, a *activityOfInts) error {
	_, err := workflow.Execute(ctx, a, 1)
	return err
}

func lifecycle() []registry.Definition {
	return []registry.Definition{
		workflow.New("counting", counting),
		define("continue-in-branch", func(ctx Ctx) (int, error) {
			values, err := workflow.Parallel(ctx, func(ctx Ctx) (int, error) { return workflow.ContinueAsNew(ctx, counting, 1) })
			return len(values), err
		}),
		// A change of code behind a patch, from before it to after it.
		define("patch-before", patched(func(ctx Ctx) error { return execute(ctx, actA) })),
		define("patch-both", patched(func(ctx Ctx) error {
			if workflow.Patched(ctx, "b-for-a") {
				return execute(ctx, actB)
			}
			return execute(ctx, actA)
		})),
		define("patch-deprecated", patched(func(ctx Ctx) error {
			workflow.DeprecatePatch(ctx, "b-for-a")
			return execute(ctx, actB)
		})),
		define("patch-gone", patched(func(ctx Ctx) error { return execute(ctx, actB) })),
		define("loop", func(ctx Ctx) (nothing, error) {
			for range 4 {
				if err := execute(ctx, actA); err != nil {
					return nothing{}, err
				}
			}
			return nothing{}, nil
		}),
		define("loop-patched", func(ctx Ctx) (nothing, error) {
			for range 4 {
				a := actA
				if workflow.Patched(ctx, "b-for-a") {
					a = actB
				}
				if err := execute(ctx, a); err != nil {
					return nothing{}, err
				}
			}
			return nothing{}, nil
		}),
		define("random", func(ctx Ctx) ([]int, error) {
			var drawn []int
			for range 3 {
				drawn = append(drawn, workflow.Random(ctx).IntN(100))
				if err := workflow.Sleep(ctx, time.Minute); err != nil {
					return nil, err
				}
				workflow.Log(ctx, "drew", "n", drawn[len(drawn)-1], "uuid", workflow.UUID(ctx))
			}
			return drawn, nil
		}),
		workflow.New("results", func(_ Ctx, how string) (any, error) {
			switch how {
			case "error":
				return nil, errBroken
			case "typed":
				return nil, workflow.Fail("out-of-stock", "no item left")
			case "cancelled":
				return nil, fmt.Errorf("gave up: %w", workflow.ErrCancelled)
			case "timeout":
				return nil, workflow.ErrTimeout
			case "unencodable":
				return func() {}, nil
			case "null":
				return (*int)(nil), nil
			case "not-utf8":
				return nil, errors.New("bad byte \xff in a message")
			}
			return map[string]int{"b": 2, "a": 1}, nil
		}),
		define("null-input", func(ctx Ctx) (nothing, error) {
			_, err := workflow.ExecuteChild(ctx, workflow.Declare[[]string, nothing]("nil-slice"), nil)
			return nothing{}, err
		}),
		define("failures", func(ctx Ctx) (string, error) {
			_, err := workflow.Execute(ctx, actA, 1)
			details, _ := workflow.FailureDetails[int](err)
			workflow.Log(ctx, "failed", "type", workflow.FailureType(err), "details", details, "err", err,
				"cancelled", errors.Is(err, workflow.ErrCancelled), "timeout", errors.Is(err, workflow.ErrTimeout))
			return "", err
		}),
		define("local-time", func(ctx Ctx) (string, error) {
			return workflow.ExecuteChild(ctx, echo, workflow.Now(ctx).String())
		}),
	}
}
