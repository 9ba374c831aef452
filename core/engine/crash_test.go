package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// scenario is a small workflow, what its callers do, and what comes of it.
type scenario struct {
	name   string
	define func(w *world) []workflow.Definition
	play   func(w *world)
	result string // of run "r"; empty: it need not complete
	status history.Status
}

func begin(input string) func(w *world) {
	return func(w *world) {
		w.start("r", "main", input)
		w.settle()
	}
}

func scenarios() []scenario {
	return []scenario{
		{name: "activity", result: "42", play: begin("21"),
			define: only("main", func(_ *world, ctx workflow.Context, n int) (int, error) { return workflow.Execute(ctx, callDouble, n) })},
		{name: "steps", result: "3", play: begin("1"),
			define: only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
				one, err := w.step(ctx, "a", time.Millisecond, n)
				if err != nil {
					return 0, err
				}
				two, err := w.step(ctx, "b", time.Millisecond, 2)
				return one + two, err
			})},
		{name: "timers", result: `"long"`, play: begin("1"),
			define: only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
				if err := workflow.Sleep(ctx, time.Minute); err != nil {
					return "", err
				}
				return "long", workflow.Sleep(ctx, 2*time.Hour)
			})},
		{name: "child", result: "7", play: begin("3"),
			define: only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
				return workflow.ExecuteChild(ctx, leafChild, n)
			})},
		{name: "signal", result: `"ab"`, define: only("main", twoSignals), play: func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.signal("r", "m1", "go", `"a"`)
			w.signal("r", "m2", "go", `"b"`)
			w.settle()
		}},
		{name: "continue", result: `"abc2"`, define: only("main", collect), play: func(w *world) {
			w.start("r", "main", `""`)
			for i, input := range []string{`"a"`, `"b"`, `"c"`} {
				w.signal("r", fmt.Sprint("m", i), "go", input)
				if i == 1 {
					w.settle()
				}
			}
			w.settle()
		}},
		{name: "parallel", result: "9", play: begin("3"),
			define: only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
				activity := workflow.Start(ctx, callDouble, n)
				one, two := w.startStep(ctx, "a", 2*time.Second, 1), w.startStep(ctx, "b", 3*time.Second, 2)
				all, err := workflow.All(ctx, activity, one, two)
				sum := 0
				for _, n := range all {
					sum += n
				}
				return sum, err
			})},
		{name: "cancel", status: history.Cancelled, define: only("main", compensated), play: func(w *world) {
			w.start("r", "main", "1")
			w.pass(500 * time.Millisecond)
			err := w.api(func(ctx context.Context, e *engine.Engine) error {
				_, err := e.Cancel(ctx, engine.MessageRequest{Run: "r", ID: "stop"}, "enough")
				return err
			})
			require.True(w.t, err == nil || port.CodeOf(err) == port.Closed, "%v", err)
			w.settle()
		}},
		{name: "terminate", status: history.Terminated, define: withPatient(only("main", parting)), play: func(w *world) {
			w.start("r", "main", "1")
			w.pass(500 * time.Millisecond)
			w.terminate("r", "t")
			w.settle()
		}},
		{name: "reset", result: `"ab"`, define: only("main", twoSignals), play: func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.signal("r", "m1", "go", `"a"`)
			w.pass(500 * time.Millisecond)
			require.NoError(w.t, w.reset("r", "x", 1))
			w.settle()
			w.signal("r", "m2", "go", `"b"`)
			w.settle()
			require.NoError(w.t, w.reset("r", "y", 1))
			w.settle()
		}},
		{name: "update", result: "5", define: only("main", adder), play: func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			for i, n := range []string{"2", "3"} {
				// The answer is not waited for here: the caller's patience ends at once, and the update lies in the inbox.
				require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
					short, cancel := context.WithTimeout(ctx, time.Millisecond)
					defer cancel()
					_, err := e.Update(short, engine.MessageRequest{Run: "r", ID: fmt.Sprint("u", i)}, "add", history.Payload(n))
					if short.Err() != nil && ctx.Err() == nil && errors.Is(err, short.Err()) {
						return nil
					}
					return err
				}))
				w.settle()
			}
		}},
	}
}

func twoSignals(_ *world, ctx workflow.Context, n int) (string, error) {
	first, err := workflow.AwaitSignal(ctx, goSignal)
	if err != nil {
		return "", err
	}
	if _, err := workflow.Execute(ctx, callDouble, n); err != nil {
		return "", err
	}
	second, err := workflow.AwaitSignal(ctx, goSignal)
	return first + second, err
}

// collect takes one signal for each generation, and an activity in the first.
func collect(w *world, ctx workflow.Context, sofar string) (string, error) {
	next, err := workflow.AwaitSignal(ctx, goSignal)
	if err != nil {
		return "", err
	}
	sofar += next
	if len(sofar) == 3 {
		n, err := w.step(ctx, "end", time.Millisecond, 2)
		return fmt.Sprint(sofar, n), err
	}
	return workflow.ContinueAsNew(ctx, func(workflow.Context, string) (string, error) { return "", nil }, sofar)
}

func compensated(w *world, ctx workflow.Context, n int) (int, error) {
	var undo workflow.Compensations
	first, err := workflow.Execute(ctx, callDouble, n)
	if err != nil {
		return 0, undo.Run(ctx, err)
	}
	undo.Add("first", func(ctx workflow.Context) error {
		_, err := workflow.Execute(ctx, callDouble, first)
		return err
	})
	undo.Add("second", func(ctx workflow.Context) error {
		_, err := w.step(ctx, "undo", time.Millisecond, n)
		return err
	})
	return first, undo.Run(ctx, workflow.Sleep(ctx, time.Hour))
}

func adder(_ *world, ctx workflow.Context, _ int) (int, error) {
	sum := 0
	workflow.HandleUpdate(ctx, addUpdate, func(ctx workflow.Context, n int) (int, error) {
		double, err := workflow.Execute(ctx, callDouble, n)
		sum += n
		return double, err
	})
	return sum, workflow.AwaitCondition(ctx, func() bool { return sum == 5 })
}

func (s *scenario) check(w *world) {
	w.t.Helper()
	require.Contains(w.t, w.runs(), "r")
	w.finished()
	summary := w.summary("r")
	want := s.status
	if want == "" {
		want = history.Completed
	}
	require.Equal(w.t, want, summary.Status, "%+v %s", summary.Failure, w.show("r"))
	require.Equal(w.t, s.result, string(summary.Result))
}

// TestWithoutFaults: nothing is sent or executed twice where nothing fails.
func TestWithoutFaults(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			inBoth(t, s.define, func(w *world) {
				s.play(w)
				w.once()
				s.check(w)
			})
		})
	}
}

// TestEverySingleFault lets every external call of a scenario go wrong in turn, in every way, and expects the same end.
func TestEverySingleFault(t *testing.T) {
	for _, s := range scenarios() {
		for _, together := range []bool{false, true} {
			calls := 0
			simulateAs(t, together, s.define, func(w *world) {
				s.play(w)
				calls = w.calls
			})
			kinds := []kind{failBefore, loseAnswer, crashBefore, crashAfter}
			for n := 1; n <= calls; n++ {
				for _, k := range kinds {
					name := fmt.Sprintf("%s/together=%t/call %d %s", s.name, together, n, k)
					t.Run(name, func(t *testing.T) {
						simulateAs(t, together, s.define, func(w *world) {
							w.plan(fault{kind: k, nth: n})
							s.play(w)
							s.check(w)
						})
					})
				}
			}
		}
	}
}

// TestDoubleFaults draws pairs of faults: a second one during the repair of the first.
func TestDoubleFaults(t *testing.T) {
	const pairs = 150
	for _, s := range scenarios() {
		random := rand.New(rand.NewPCG(1, uint64(len(s.name)))) //nolint:gosec // repeatable on purpose
		for i := range pairs {
			together, first, second := i%3 == 0, 1+random.IntN(40), 1+random.IntN(40)
			a, b := kind(random.IntN(int(crashAfter)+1)), kind(random.IntN(int(crashAfter)+1))
			t.Run(fmt.Sprintf("%s/together=%t/call %d %s, %d later %s", s.name, together, first, a, second, b), func(t *testing.T) {
				simulateAs(t, together, s.define, func(w *world) {
					w.plan(fault{kind: a, nth: first})
					w.plan(fault{kind: b, nth: first + second})
					s.play(w)
					s.check(w)
				})
			})
		}
	}
}
