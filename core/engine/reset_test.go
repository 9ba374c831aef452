package engine_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// resetTo asks for a reset and lets it be carried out.
func (w *world) resetTo(id string, to engine.ResetPoint) error {
	w.t.Helper()
	_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
		return e.Reset(ctx, engine.MessageRequest{Run: "r", ID: id}, to, "again")
	})
	w.pass(time.Minute)
	return err
}

// TestKeysOfCallsThatAResetKeeps: a call that still counts has the key that it had, so that its side effect is not made twice; a
// new call has another one.
func TestKeysOfCallsThatAResetKeeps(t *testing.T) {
	for _, inline := range []bool{false, true} {
		t.Run(map[bool]string{false: "activities", true: "steps"}[inline], func(t *testing.T) {
			var (
				mu   sync.Mutex
				seen []string
			)
			keys := func() (all []string) { // since the last call
				mu.Lock()
				defer mu.Unlock()
				all, seen = seen, nil
				return all
			}
			call := activity.New("call", func(ctx context.Context, n int) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, activity.InfoOf(ctx).IdempotencyKey)
				return "", activity.Fail("no", "attempt %d", n)
			}).With(activity.Options{Inline: inline, Retry: activity.Retry{InitialInterval: time.Hour}})
			define := func(*world) []workflow.Definition {
				return []workflow.Definition{call, workflow.New("main", func(ctx workflow.Context, n int) (int, error) {
					workflow.Start(ctx, call, n)
					if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
						return 0, err
					}
					workflow.Start(ctx, call, n)
					return n, workflow.Sleep(ctx, 24*time.Hour)
				})}
			}
			inBoth(t, define, func(w *world) {
				w.start("r", "main", "1")
				w.pass(time.Minute)
				w.sends("m", "go", `"x"`)
				w.pass(time.Minute)
				require.Equal(w.t, []string{"r/1/0", "r/1/1"}, keys())
				for generation := 2; generation <= 3; generation++ { // a reset of a reset, too
					require.NoError(w.t, w.resetTo("x"+strconv.Itoa(generation), engine.ResetPoint{Generation: 1, Record: 1}))
					require.ElementsMatch(w.t, []string{"r/1/0", "r/" + strconv.Itoa(generation) + "/1"}, keys())
				}
				w.terminate("r", "t")
				w.settle()
				keys()
			})
		})
	}
}

// rounds takes two signals in each of two generations, and says in which it took what.
func rounds(_ *world, ctx workflow.Context, before string) (string, error) {
	taken := before
	for range 2 {
		word, err := workflow.AwaitSignal(ctx, goSignal)
		if err != nil {
			return "", err
		}
		taken += word
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return "", err
		}
	}
	if workflow.InfoOf(ctx).Generation == 1 || len(before) == 0 {
		return workflow.ContinueAsNew(ctx, func(workflow.Context, string) (string, error) { return "", nil }, taken+"|")
	}
	return taken, nil
}

// TestResetToAnEarlierGeneration: its records stay within reach, also after the run has continued as new, or was reset. All messages
// since come again, in their order, each once.
func TestResetToAnEarlierGeneration(t *testing.T) {
	run := func(w *world) {
		w.start("r", "main", `""`)
		for _, id := range []string{"a", "b", "c", "d"} {
			w.pass(time.Minute)
			w.sends(id, "go", `"`+id+`"`)
		}
		w.pass(time.Minute)
		require.Equal(w.t, `"ab|cd"`, string(w.summary("r").Result))
	}
	ends := func(w *world, generation int) {
		w.pass(time.Minute)
		require.Equal(w.t, `"ab|cd"`, string(w.summary("r").Result))
		require.Equal(w.t, generation, w.summary("r").Generation)
		w.settle()
	}
	inBoth(t, only("main", rounds), func(w *world) {
		run(w)
		w.code(port.Invalid, w.resetTo("never", engine.ResetPoint{Generation: 3, Record: 1}))
		w.code(port.Invalid, w.resetTo("never", engine.ResetPoint{Generation: 1, Record: 99}))
		// which closes it
		w.code(port.Invalid,
			w.resetTo("never", engine.ResetPoint{Generation: 1, Record: len(w.log("r", 1))}))
		require.NoError(w.t, w.resetTo("x", engine.ResetPoint{Generation: 1, Record: 2}))
		ends(w, 4) // its own first generation again, and the second
		require.Equal(w.t, &history.Base{Generation: 1, Record: 2}, w.log("r", 3)[0].Events[0].(*history.Started).Base)
		require.NoError(w.t, w.resetTo("y", engine.ResetPoint{Generation: 1, Record: 1}), "a record that an earlier reset kept")
		ends(w, 6)
		require.NoError(w.t, w.resetTo("z", engine.ResetPoint{Generation: 2, Record: 1}), "of a generation that a reset left behind")
		ends(w, 7)
		w.finished()
	})
	t.Run("not to a former run's", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) {
			w.start("r", "main", "1")
			w.sends("m", "go", `"a"`)
			w.settle()
			w.anew()
			w.settle()
			w.code(port.Invalid, w.resetTo("x", engine.ResetPoint{Generation: 1, Record: 1}))
			w.sends("m", "go", `"b"`)
			w.ends(`"b"`)
		})
	})
}

// TestResetWithoutSignals: signals that came after the record do not come again.
func TestResetWithoutSignals(t *testing.T) {
	inBoth(t, only("main", twoSignals), func(w *world) {
		w.start("r", "main", "1")
		w.pass(time.Minute)
		w.sends("m1", "go", `"a"`)
		w.sends("m2", "go", `"b"`)
		w.settle()
		require.Equal(w.t, `"ab"`, string(w.summary("r").Result))
		require.NoError(w.t, w.resetTo("x", engine.ResetPoint{Record: 1, ExcludeSignals: true}))
		require.Equal(w.t, history.Running, w.summary("r").Status)
		w.sends("m1", "go", `"a"`) // the run knows it, though it is forgotten
		w.sends("m3", "go", `"c"`)
		w.sends("m4", "go", `"d"`)
		w.ends(`"cd"`)
	})
}

// TestLimitsOfCallsThatAResetKeeps: the limits start again. A run that is reset a day later would
// else fail its activities before they are tried.
func TestLimitsOfCallsThatAResetKeeps(t *testing.T) {
	for _, inline := range []bool{false, true} {
		t.Run(map[bool]string{false: "an activity", true: "a step"}[inline], func(t *testing.T) {
			var mended atomic.Bool
			call := activity.New("call", func(context.Context, int) (string, error) {
				if !mended.Load() {
					return "", activity.Fail("no", "not yet")
				}
				return "done", nil
			}).With(activity.Options{Inline: inline, ScheduleToClose: time.Minute, ScheduleToStart: 30 * time.Second})
			define := func(*world) []workflow.Definition {
				return []workflow.Definition{call,
					workflow.New("main", func(ctx workflow.Context, n int) (string, error) {
						return workflow.Execute(ctx, call, n)
					})}
			}
			inBoth(t, define, func(w *world) {
				mended.Store(false)
				w.start("r", "main", "1")
				w.pass(24 * time.Hour)
				require.Equal(w.t, history.Failed, w.summary("r").Status)
				mended.Store(true)
				require.NoError(w.t, w.resetTo("x", engine.ResetPoint{Record: 1}))
				w.ends(`"done"`)
			})
		})
	}
}

// TestAResetTakesAttributesBackAtOnce: the next generation may be ended before its code has run.
func TestAResetTakesAttributesBackAtOnce(t *testing.T) {
	kind := workflow.NewAttribute[int]("kind")
	simulateAs(t, true, only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
		if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
			return "", err
		}
		workflow.SetAttributes(ctx, kind.Is(2))
		return workflow.AwaitSignal(ctx, goSignal)
	}), func(w *world) {
		_, err := w.tryStart(engine.StartRequest{Run: "r", Workflow: "main",
			Attributes: history.Attributes{"kind": history.Payload("1")}})
		require.NoError(w.t, err)
		w.settle()
		w.signal("r", "s", "go", `"x"`)
		w.settle()
		require.Equal(w.t, "2", string(w.summary("r").Attributes["kind"]))
		hold := w.plan(fault{kind: pause, op: port.OpPut, nth: 2})
		require.NoError(w.t, w.reset("r", "x", 1))
		w.pass(time.Second)
		require.Equal(w.t, 2, w.summary("r").Generation, "it has not begun")
		require.Equal(w.t, "1", string(w.summary("r").Attributes["kind"]))
		close(hold.gate)
		w.settle()
		require.Equal(w.t, "2", string(w.summary("r").Attributes["kind"]), "the signal came again")
	})
}
