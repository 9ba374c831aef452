package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// inspect reports what runs wait for in vain.
func (w *world) inspect() []engine.Finding {
	w.t.Helper()
	p := w.process("api")
	var found []engine.Finding
	for cursor := ""; ; {
		part, err := p.engine.Inspect(p.in(), cursor)
		require.NoError(w.t, err)
		found = append(found, part.Findings...)
		if cursor = part.Next; cursor == "" {
			return found
		}
	}
}

// finds wants one finding, of the run r.
func (w *world) finds(kind, name string, since time.Time) {
	w.t.Helper()
	found := w.inspect()
	require.Len(w.t, found, 1)
	f := found[0]
	require.Equal(w.t, []any{"r", "main", 1, kind, name}, []any{f.Run, f.Workflow, f.Generation, f.Kind, f.Name})
	require.WithinDuration(w.t, since, f.Since, time.Second)
}

// elapses lets time pass in which no message is delivered.
func (w *world) elapses(d time.Duration) {
	w.t.Helper()
	require.NoError(w.t, elapse(w.t.Context(), d))
}

// TestPurgedQueues: whatever a run waits for, a lost message is reported once it is late, not
// before, and a rebuild helps.
func TestPurgedQueues(t *testing.T) {
	minute := time.Minute
	for name, c := range map[string]struct {
		define func(w *world) []workflow.Definition
		input  string
		kind   string
		due    time.Duration // from the start
		of     string
		result string
	}{
		"activity": {oneActivity, "21", engine.FindingActivity, minute, "ran-double", "42"}, // its time is over, if it began
		"timer":    {oneTimer, "10", engine.FindingTimer, 10 * minute, "", "10"},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, c.define, func(w *world) {
				begun := time.Now()
				require.NoError(w.t, w.deliver(w.activator(), w.begun(c.input)).wait())
				require.NotEmpty(w.t, w.take(""))
				w.elapses(c.due + 4*minute)
				require.Empty(w.t, w.inspect(), "it may be late")
				w.elapses(2 * minute)
				w.finds(c.kind, c.of, begun.Add(c.due))
				w.rebuild()
				w.ends(c.result)
				require.Empty(w.t, w.inspect())
			})
		})
	}
}

// TestDeletedTimer: a long timer is gone from its bucket.
func TestDeletedTimer(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		begun := time.Now()
		require.NoError(w.t, w.deliver(w.activator(), w.begun("30")).wait())
		due, err := w.store.DueBefore(w.t.Context(), begun.Add(time.Hour))
		require.NoError(w.t, err)
		require.Len(w.t, due, 1)
		require.NoError(w.t, w.store.DeleteDue(w.t.Context(), due))
		w.elapses(36 * time.Minute)
		w.finds(engine.FindingTimer, "", begun.Add(30*time.Minute))
		w.rebuild()
		w.ends("30")
	})
}

// TestOverdueTimersAreNoFindings: functions/timer does not run, and the diagnosis says so.
func TestOverdueTimersAreNoFindings(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		require.NoError(w.t, w.deliver(w.activator(), w.begun("30")).wait())
		w.elapses(40 * time.Minute)
		require.Len(w.t, w.diagnose().Overdue, 1)
		require.Empty(w.t, w.inspect())
		w.fireDue()
		w.ends("30")
	})
}

// TestUnreadInbox: a start, a signal, and work that a dead invocation left, of which nothing in a
// queue tells.
func TestUnreadInbox(t *testing.T) {
	t.Run("start", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) {
			begun := time.Now()
			w.begun("1")
			w.elapses(4 * time.Minute)
			require.Empty(w.t, w.inspect())
			w.elapses(2 * time.Minute)
			w.finds(engine.FindingUnread, "started", begun)
			w.rebuild()
			w.signal("r", "m", "go", `"x"`)
			w.ends(`"x"`)
		})
	})
	t.Run("of the dead", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) {
			letter := w.begun("1")
			w.plan(fault{kind: crashBefore, op: "delete"})
			until := w.deadline(1).Add(skew)
			require.Error(w.t, w.deliver(w.activator(), letter).wait())
			w.elapses(5 * time.Minute)
			require.Empty(w.t, w.inspect(), "the invocation may have lived for a minute")
			w.elapses(2 * time.Minute)
			w.finds(engine.FindingUnread, "started", until)
			w.rebuild()
			w.signal("r", "m", "go", `"x"`)
			w.ends(`"x"`)
		})
	})
	t.Run("of a run that is blocked", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) {
			w.blocked()
			w.elapses(time.Hour)
			require.Empty(w.t, w.inspect(), "it is in the diagnosis")
			w.unblock("r")
			w.ends(`"x"`)
		})
	})
}

// TestLostStep: the function that ran a step died, and the message that would bring another one is
// lost.
func TestLostStep(t *testing.T) {
	simulate(t, oneStep, func(w *world) {
		letter := w.begun("1")
		until := w.deadline(1).Add(skew)
		p := w.activator()
		d := w.deliver(p, letter)
		w.locked(func() { w.kill(p) })
		require.Error(w.t, d.wait())
		w.elapses(7 * time.Minute)
		found := w.inspect()
		require.Len(w.t, found, 2)
		require.Equal(w.t, []string{engine.FindingUnread, engine.FindingStep}, []string{found[0].Kind, found[1].Kind})
		require.Equal(w.t, "ran-a", found[1].Name)
		require.WithinDuration(w.t, until, found[1].Since, time.Second)
		w.rebuild()
		w.ends("1")
	})
}

// TestLostChild: a child that was never started, and one whose end its parent was not told.
func TestLostChild(t *testing.T) {
	t.Run("not started", func(t *testing.T) {
		simulate(t, oneChild, func(w *world) {
			letter := w.begun("3")
			w.plan(fault{kind: crashBefore, op: "create", subject: "r.1.0"})
			require.Error(w.t, w.deliver(w.activator(), letter).wait())
			require.NoError(w.t, w.store.Delete(w.t.Context(), "r", []string{"start#1"})) // by hand, or an unread inbox shows it
			w.elapses(7 * time.Minute)
			found := w.inspect()
			require.Len(w.t, found, 1)
			require.Equal(w.t, []string{engine.FindingChild, "r.1.0"}, []string{found[0].Kind, found[0].Name})
			w.rebuild()
			w.ends("7")
		})
	})
	t.Run("not told", func(t *testing.T) {
		simulate(t, oneChild, func(w *world) {
			w.start("r", "main", "3")
			told := w.plan(fault{kind: crashBefore, op: "file", subject: "r"})
			for range 20 {
				w.pass(time.Second)
				if told.hit {
					break
				}
			}
			require.True(w.t, told.hit)
			require.NotEmpty(w.t, w.take(""))
			for _, key := range w.inbox("r.1.0") {
				require.NoError(w.t, w.store.Delete(w.t.Context(), "r.1.0", []string{key}))
			}
			w.elapses(7 * time.Minute)
			found := w.inspect()
			require.Len(w.t, found, 1)
			require.Equal(w.t, []string{engine.FindingChild, "r.1.0"}, []string{found[0].Kind, found[0].Name})
			w.rebuild()
			w.ends("7")
		})
	})
}

// TestCrashedAttempt: the function of an attempt that has a state died, and its message does not
// come again.
func TestCrashedAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		options activity.Options
		over    time.Duration
	}{
		"by its timeout":   {activity.Options{StartToClose: 10 * time.Minute}, 10 * time.Minute},
		"by its heartbeat": {activity.Options{StartToClose: time.Hour, Heartbeat: 30 * time.Second}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, working(c.options, func(_ *world, ctx context.Context, _ int) (string, error) {
				return "done", elapse(ctx, time.Second)
			}), func(w *world) {
				begun := time.Now()
				require.NoError(w.t, w.deliver(w.activator(), w.begun("1")).wait())
				task := w.takeOne("task r/1/0 attempt 1")
				p := w.newProcess("task")
				d := w.deliver(p, task)
				w.locked(func() { w.kill(p) })
				require.Error(w.t, d.wait())
				w.elapses(c.over + 4*time.Minute)
				require.Empty(w.t, w.inspect())
				w.elapses(2 * time.Minute)
				w.finds(engine.FindingAttempt, "work", begun.Add(c.over))
				w.rebuild()
				w.ends(`"done"`)
			})
		})
	}
}

// TestAttemptsThatMayTakeTheirTime are not reported: they wait for their next try, for their token,
// or have no limit.
func TestAttemptsThatMayTakeTheirTime(t *testing.T) {
	for name, c := range map[string]struct {
		options activity.Options
		run     func(ctx context.Context) error
	}{
		"waits": {activity.Options{}, func(context.Context) error { return activity.RetryAfter(errors.New("tomorrow"), 24*time.Hour) }},
		"by token": {activity.Options{}, func(ctx context.Context) error {
			activity.Token(ctx)
			return activity.ErrPending
		}},
		"no limit": {activity.Options{StartToClose: -1}, func(ctx context.Context) error { return elapse(ctx, 24*time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, working(c.options, func(_ *world, ctx context.Context, _ int) (string, error) { return "", c.run(ctx) }), func(w *world) {
				w.lifetime = func(int) time.Duration { return 48 * time.Hour }
				w.start("r", "main", "1")
				w.pass(9 * time.Minute)
				require.Empty(w.t, w.inspect())
				w.terminate("r", "t")
				w.settle()
			})
		})
	}
}

// TestFailingActivities: one that is not registered is reported at once, one that fails once it has
// failed for long.
func TestFailingActivities(t *testing.T) {
	for _, inline := range []bool{false, true} {
		options := activity.Options{Inline: inline, Retry: activity.Retry{MaxInterval: time.Minute}}
		t.Run(map[bool]string{false: "activity", true: "step"}[inline], func(t *testing.T) {
			t.Run("fails", func(t *testing.T) {
				inBoth(t, working(options, func(*world, context.Context, int) (string, error) { return "", errors.New("the bank is closed") }), func(w *world) {
					begun := time.Now()
					w.start("r", "main", "1")
					w.pass(9 * time.Minute)
					require.Empty(w.t, w.inspect())
					w.pass(2 * time.Minute)
					w.finds(engine.FindingFailing, "work", begun)
					f := w.inspect()[0]
					require.Equal(w.t, "the bank is closed", f.Failure)
					require.Greater(w.t, f.Attempt, 10)
					w.terminate("r", "t")
					w.settle()
				})
			})
			t.Run("unregistered", func(t *testing.T) {
				define := func(*world) []workflow.Definition {
					return []workflow.Definition{workflow.New("main", func(ctx workflow.Context, n int) (string, error) {
						return workflow.Execute(ctx, work.With(options), n)
					})}
				}
				inBoth(t, define, func(w *world) {
					begun := time.Now()
					w.start("r", "main", "1")
					w.pass(10 * time.Second)
					w.finds(engine.FindingUnregistered, "work", begun)
					require.Contains(w.t, w.inspect()[0].Failure, `activity "work" is not registered here`)
					w.terminate("r", "t")
					w.settle()
				})
			})
		})
	}
}

// TestUnreadSignals: one of an unknown name, and one that the code takes later. Both are kept.
func TestUnreadSignals(t *testing.T) {
	inBoth(t, oneSignal, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		sent := time.Now()
		accepted := w.signal("r", "m1", "gone", `"x"`)
		if w.together { // else the run is in the memory of another process
			require.Contains(w.t, accepted.Hint, `the code of workflow main has not asked for signal "gone" so far; it has asked for: go.`)
		}
		w.pass(time.Second)
		unread, err := ask(w, func(ctx context.Context, e *engine.Engine) ([]engine.UnreadSignal, error) {
			return e.UnreadSignals(ctx, "r")
		})
		require.NoError(w.t, err)
		require.Equal(w.t, []engine.UnreadSignal{{Name: "gone", ID: "m1", Unknown: true}}, unread)
		w.pass(4 * time.Minute)
		require.Empty(w.t, w.inspect())
		w.pass(2 * time.Minute)
		w.finds(engine.FindingSignal, "gone", sent)
		require.Empty(w.t, w.signal("r", "m2", "go", `"x"`).Hint)
		w.ends(`"x"`)
		require.Empty(w.t, w.inspect())
	})
}

// TestInspectionWithoutAnswer: a store that does not answer is an error, not a run without
// findings.
func TestInspectionWithoutAnswer(t *testing.T) {
	for _, op := range []string{"due-before", "unfinished", "look", "tasks-of"} {
		simulate(t, oneActivity, func(w *world) {
			require.NoError(w.t, w.deliver(w.activator(), w.begun("21")).wait())
			w.plan(fault{kind: failBefore, op: op, role: "api"})
			p := w.process("api")
			_, err := p.engine.Inspect(p.in(), "")
			require.Equal(w.t, port.Unavailable, port.CodeOf(err), op)
			require.Empty(w.t, w.inspect())
			w.ends("42")
		})
	}
}
