package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// What happens, other tests say. These say when: each run must close at exactly this time after its
// start, since the world's clock is simulated and nothing in it is slow.

// neverEnds is an activity that ends only when it is canceled.
var neverEnds = func(_ *world, ctx context.Context, _ int) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestWhenAnActivityEnds(t *testing.T) {
	once := activity.Retry{MaxAttempts: 1}
	broken := errors.New("broken")
	fails := func(*world, context.Context, int) (string, error) { return "", broken }
	for name, c := range map[string]struct {
		options activity.Options
		run     func(w *world, ctx context.Context, n int) (string, error)
		closes  time.Duration
		inline  bool // the same holds for a step
	}{
		"start-to-close": {activity.Options{StartToClose: 7 * time.Second, Retry: once}, neverEnds, 7 * time.Second, true},
		"start-to-close, one minute without an option": {activity.Options{Retry: once}, neverEnds, time.Minute, true},
		"start-to-close, each attempt from its own start": {
			activity.Options{StartToClose: 7 * time.Second, Retry: activity.Retry{MaxAttempts: 3, InitialInterval: time.Second}},
			neverEnds, (7 + 1 + 7 + 2 + 7) * time.Second, true,
		},
		"schedule-to-close, from the call and not from the attempt": {
			activity.Options{ScheduleToClose: 20 * time.Second, StartToClose: 7 * time.Second, Retry: activity.Retry{InitialInterval: time.Second}},
			neverEnds, 20 * time.Second, true,
		},
		"schedule-to-close leaves no time for the next wait": {
			activity.Options{ScheduleToClose: 20 * time.Second, Retry: activity.Retry{InitialInterval: 15 * time.Second}},
			fails, 15 * time.Second, true,
		},
		"heartbeat, from the last one": {
			activity.Options{Heartbeat: 4 * time.Second, StartToClose: time.Hour, Retry: once},
			func(w *world, ctx context.Context, n int) (string, error) {
				if err := errors.Join(elapse(ctx, 3*time.Second), activity.Heartbeat(ctx, nil)); err != nil {
					return "", err
				}
				return neverEnds(w, ctx, n)
			}, (3 + 4) * time.Second, false,
		},
		"heartbeat of an attempt that is completed from outside": {
			activity.Options{Heartbeat: time.Minute, StartToClose: time.Hour, Retry: once},
			func(_ *world, ctx context.Context, _ int) (string, error) {
				activity.Token(ctx)
				return "", activity.ErrPending
			}, time.Minute, false,
		},
		"start-to-close of an attempt that is completed from outside": {
			activity.Options{StartToClose: 2 * time.Hour, Retry: once},
			func(_ *world, ctx context.Context, _ int) (string, error) {
				activity.Token(ctx)
				return "", activity.ErrPending
			}, 2 * time.Hour, false,
		},
		"waits that grow to a limit": {
			activity.Options{Retry: activity.Retry{MaxAttempts: 5, InitialInterval: time.Second, BackoffCoefficient: 3, MaxInterval: 5 * time.Second}},
			fails, (1 + 3 + 5 + 5) * time.Second, true,
		},
		"a wait that the activity names": {
			activity.Options{Retry: activity.Retry{MaxAttempts: 2}},
			func(*world, context.Context, int) (string, error) {
				return "", activity.RetryAfter(broken, 40*time.Minute)
			},
			40 * time.Minute, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, working(c.options, c.run), func(w *world) { w.closesAfter(c.closes) })
			if c.options.Inline = c.inline; c.inline {
				t.Run("step", func(t *testing.T) {
					inBoth(t, working(c.options, c.run), func(w *world) { w.closesAfter(c.closes) })
				})
			}
		})
	}
}

func TestWhenWorkflowCodeContinues(t *testing.T) {
	for name, c := range map[string]struct {
		code   func(w *world, ctx workflow.Context, n int) (int, error)
		closes time.Duration
	}{
		"a short timer": {func(_ *world, ctx workflow.Context, n int) (int, error) {
			return n, workflow.Sleep(ctx, 10*time.Minute)
		}, 10 * time.Minute},
		"a timer that waits in a bucket": {func(_ *world, ctx workflow.Context, n int) (int, error) {
			return n, workflow.Sleep(ctx, 100*time.Minute+7*time.Second)
		}, 100*time.Minute + 7*time.Second},
		"a year": {func(_ *world, ctx workflow.Context, n int) (int, error) {
			return n, workflow.Sleep(ctx, 365*24*time.Hour)
		}, 365 * 24 * time.Hour},
		"one timer after the other": {func(_ *world, ctx workflow.Context, n int) (int, error) {
			return n, errors.Join(workflow.Sleep(ctx, time.Minute), workflow.Sleep(ctx, 20*time.Minute), workflow.Sleep(ctx, time.Second))
		}, 21*time.Minute + time.Second},
		"a scope with a time limit": {func(_ *world, ctx workflow.Context, n int) (int, error) {
			limited, cancel := workflow.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			_, err := workflow.AwaitSignal(limited, goSignal)
			return n, err
		}, 30 * time.Second},
		"a phase with a time limit": {func(_ *world, ctx workflow.Context, n int) (int, error) {
			_, err := workflow.NewPhase(n).Within(45 * time.Second).Run(ctx)
			return n, err
		}, 45 * time.Second},
		"a child": {func(_ *world, ctx workflow.Context, n int) (int, error) {
			return workflow.ExecuteChild(ctx, workflow.Declare[int, int]("sleeper").With(workflow.ChildOptions{ID: "kid"}), n)
		}, 3 * time.Minute},
		"a child that is canceled": {func(_ *world, ctx workflow.Context, n int) (int, error) {
			limited, cancel := workflow.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			return workflow.ExecuteChild(limited, workflow.Declare[int, int]("sleeper").With(workflow.ChildOptions{ID: "kid"}), n)
		}, 30 * time.Second},
	} {
		sleeper := workflow.New("sleeper", func(ctx workflow.Context, n int) (int, error) {
			return n, workflow.Sleep(ctx, 3*time.Minute)
		})
		define := func(w *world) []workflow.Definition { return append(only("main", c.code)(w), sleeper) }
		t.Run(name, func(t *testing.T) { inBoth(t, define, func(w *world) { w.closesAfter(c.closes) }) })
	}
}

// closesAfter starts run r. Run r must close at exactly this time after its start, and so say its
// last record and its summary.
func (w *world) closesAfter(want time.Duration) {
	w.t.Helper()
	w.lifetime = func(int) time.Duration { return 10 * time.Minute } // an attempt ends before its invocation
	begun := time.Now()
	w.start("r", "main", "1")
	w.settle()
	w.finished()
	summary := w.summary("r")
	require.Equal(w.t, want, summary.Closed.Sub(begun), "run r must close at this time after its start: %s", w.show("r"))
	log := w.log("r", 1)
	require.Equal(w.t, summary.Status, log[len(log)-1].Closes().Status())
	require.Equal(w.t, summary.Closed, log[len(log)-1].Time.UTC(), "the last record has the time of the end")
}

// TestAnAttemptThatHasBegunIsNotLate: the message of an attempt comes again where its function
// died, or where a queue delivers it twice. The first worker was in time.
func TestAnAttemptThatHasBegunIsNotLate(t *testing.T) {
	options := activity.Options{ScheduleToStart: time.Second}
	inBoth(t, working(options, func(w *world, ctx context.Context, _ int) (string, error) {
		return "done", elapse(ctx, 10*time.Second)
	}), func(w *world) {
		w.start("r", "main", "1")
		require.NoError(w.t, w.deliver(w.process("activate"), w.takeOne(startLetter(w))).wait())
		task := w.takeOne("task r/1/0 attempt 1")
		first := w.deliver(w.process("task"), task)
		w.pass(5 * time.Second)
		w.put(task) // again
		w.pass(time.Minute)
		require.NoError(w.t, first.wait())
		w.ends(`"done"`)
	})
}

// TestAnAttemptDoesNotBeginAfterItsLimit, if a slow store takes its state only then.
func TestAnAttemptDoesNotBeginAfterItsLimit(t *testing.T) {
	options := activity.Options{ScheduleToClose: 5 * time.Second, Heartbeat: time.Minute}
	begun := false
	inBoth(t, working(options, func(*world, context.Context, int) (string, error) {
		begun = true
		return "done", nil
	}), func(w *world) {
		begun = false
		save := w.plan(fault{kind: pause, op: "save-task"})
		w.start("r", "main", "1")
		time.AfterFunc(20*time.Second, save.release)
		require.Equal(w.t, history.ScheduleToClose, w.fails().Type)
		require.False(w.t, begun, "the activity's function must not be called after the limit")
	})
}
