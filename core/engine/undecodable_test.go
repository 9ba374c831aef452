package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// takes are the ways to take signal "go" as a T.
func takes[T any]() map[string]func(workflow.Context) (T, error) {
	signal := workflow.NewSignal[T]("go")
	return map[string]func(workflow.Context) (T, error){
		"await": func(ctx workflow.Context) (T, error) { return workflow.AwaitSignal(ctx, signal) },
		"receive": func(ctx workflow.Context) (T, error) {
			next := workflow.Receive(ctx, signal)
			return next.Await(ctx)
		},
		"within": func(ctx workflow.Context) (T, error) {
			value, _, err := workflow.ReceiveWithin(ctx, signal, time.Hour)
			return value, err
		},
		"select": func(ctx workflow.Context) (value T, err error) {
			s := workflow.NewSelector()
			workflow.AddReceive(s, signal, func(v T) { value = v })
			return value, s.Select(ctx)
		},
		"handle": func(ctx workflow.Context) (value T, err error) {
			seen := false
			workflow.HandleSignal(ctx, signal, func(_ workflow.Context, v T) error {
				value, seen = v, true
				return nil
			})
			err = workflow.AwaitCondition(ctx, func() bool { return seen })
			return value, err
		},
		"phase": func(ctx workflow.Context) (T, error) {
			p := workflow.NewPhase(*new(T))
			workflow.OnSignal(p, signal, func(_ workflow.Context, v, _ T) workflow.Next[T] { return workflow.Finish(v) })
			return p.Run(ctx)
		},
		"try": func(ctx workflow.Context) (value T, err error) {
			for taken := false; !taken && err == nil; {
				if value, taken, err = workflow.TryReceive(ctx, signal); !taken && err == nil {
					err = workflow.Sleep(ctx, time.Second)
				}
			}
			return value, err
		},
	}
}

// taking is a workflow that takes signal "go" as a T in one of the ways.
func taking[T any](how string) func(*world) []workflow.Definition {
	return only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
		value, err := takes[T]()[how](ctx)
		return fmt.Sprint(value), err
	})
}

// TestBlockedByASignal that does not fit its type, whichever way the code takes it: code whose type fits
// continues with it, or a reset leaves it out.
func TestBlockedByASignal(t *testing.T) {
	for how := range takes[int]() {
		t.Run(how, func(t *testing.T) {
			simulate(t, taking[int](how), func(w *world) {
				w.start("r", "main", "1")
				w.pass(time.Second)
				w.signal("r", "m", "go", `"a"`)
				w.isBlocked(port.ReasonUndecodable,
					`cannot decode signal "go" (id "m"): "a" is not a int`)
				w.upgrade("2", taking[string](how))
				w.unblock("r")
				w.ends(`"a"`)
			})
		})
	}
}

// TestResetWithoutTheSignalThatBlocks: one that no record has is left out, too. One that is sent later is not.
func TestResetWithoutTheSignalThatBlocks(t *testing.T) {
	inBoth(t, taking[int]("await"), func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.sends("m", "go", `"a"`)
		w.isBlocked(port.ReasonUndecodable, `signal "go"`)
		w.pass(time.Second)
		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
			_, err := e.Reset(ctx, engine.MessageRequest{Run: "r", ID: "x"}, engine.ResetPoint{Record: 1, ExcludeSignals: true}, "")
			return err
		}))
		w.sends("m2", "go", `7`)
		w.sends("m", "go", `"a"`) // the run knows it, though it is forgotten
		w.ends(`"7"`)
	})
}
