package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// TestWhatRunsCost: small runs make these calls, and no more, where nothing fails. Each call costs
// money and time. On AWS a sender sends a message first, and its receiver files again what it
// carries.
func TestWhatRunsCost(t *testing.T) {
	apart := map[string]string{
		"activity": "create 2, delete 2, file 1, look 2, put 2, send-resumes 2, send-tasks 1",
		"steps":    "create 2, delete 1, look 1, put 3, send-resumes 1",
		"timers": "create 2, delete 3, delete-due 1, file 2, look 3, put 3, put-due 1, " +
			"send-resumes 3",
		"child": "create 3, delete 4, file 2, look 4, put 5, send-resumes 4, send-tasks 1, " +
			"summary 1",
		"signal": "create 2, delete 4, file 5, look 4, put 3, send-resumes 4, send-tasks 1, " +
			"summary 2",
	}
	together := map[string]string{
		"activity": "create 1, delete 2, file 1, look 2, put 2, send-resumes 2, send-tasks 1",
		"steps":    "create 1, delete 1, look 1, put 3, send-resumes 1",
		"timers": "create 1, delete 3, delete-due 1, file 2, look 3, put 3, put-due 1, " +
			"send-resumes 3",
		"child": "create 2, delete 4, file 2, look 4, put 5, send-resumes 4, send-tasks 1, " +
			"summary 1",
		"signal": "create 1, delete 3, file 3, look 4, put 3, send-resumes 4, send-tasks 1, " +
			"summary 2",
	}
	for _, s := range scenarios() {
		if apart[s.name] == "" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			inBoth(t, s.define, func(w *world) {
				s.play(w)
				var calls []string
				for _, op := range slices.Sorted(maps.Keys(w.made)) {
					if op != "due-before" { // the schedule makes it each minute
						calls = append(calls, fmt.Sprint(op, " ", w.made[op]))
					}
				}
				want := apart
				if w.together {
					want = together
				}
				require.Equal(w.t, want[s.name], strings.Join(calls, ", "))
			})
		})
	}
}

// TestACallerIsToldAtOnce: in the process that ends a run, a caller that waits for it does not wait
// until it looks again on its own.
func TestACallerIsToldAtOnce(t *testing.T) {
	const nap = 100 * time.Millisecond
	simulateAs(t, true, func(w *world) []workflow.Definition {
		w.adjust = func(_ string, c *engine.Config) { c.Poll = time.Hour }
		return only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
			return "done", workflow.Sleep(ctx, nap)
		})(w)
	}, func(w *world) {
		w.start("r", "main", "1")
		began, told := time.Now(), time.Duration(0)
		waiting := w.process("api")
		go func() {
			_, err := waiting.engine.Wait(waiting.in(), "r")
			if told = time.Since(began); err != nil {
				w.locked(func() { w.violation("a caller that waits is told %v", err) })
			}
		}()
		w.settle()
		require.Equal(w.t, nap, told, "when the caller was told")
		w.ends(`"done"`)
	})
}

// TestAttemptsOfAStepOutliveItsAuthors: the first author dies while the step waits for its second
// attempt, the next one has too little time for the third. No attempt is made twice, and none left
// out.
func TestAttemptsOfAStepOutliveItsAuthors(t *testing.T) {
	const interval = 40 * time.Second
	var made []int
	define := func(w *world) []workflow.Definition {
		options := activity.Options{Retry: activity.Retry{
			InitialInterval: interval, MaxInterval: interval, MaxAttempts: 4,
		}}
		return only("main", func(w *world, ctx workflow.Context, _ int) (string, error) {
			if _, err := w.step(ctx, "before", time.Millisecond, 1); err != nil {
				return "", err
			}
			fails := func(ctx context.Context) (string, error) {
				w.locked(func() { made = append(made, activity.InfoOf(ctx).Attempt) })
				return "", errors.New("not yet")
			}
			return workflow.StartStep(ctx, "fails", options, fails).Await(ctx)
		})(w)
	}
	simulate(t, define, func(w *world) {
		w.lifetime = func(int) time.Duration { return 70 * time.Second }
		w.start("r", "main", "1")
		w.pass(time.Second)
		w.locked(func() { w.kill(w.processes[len(w.processes)-1]) })
		w.settle()
		require.Equal(w.t, history.Failed, w.summary("r").Status, w.show("r"))
		require.Equal(w.t, []int{1, 2, 3, 4}, made, "attempts")
		records := w.log("r", 1)
		answer := records[len(records)-1].Events[0].(*history.ActivityResolved)
		require.Len(w.t, answer.Attempts, 3, "failed attempts before the last one, in the log")
	})
}
