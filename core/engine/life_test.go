package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

func (w *world) terminate(run, id string) {
	w.t.Helper()
	_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
		return e.Terminate(ctx, engine.MessageRequest{Run: run, ID: id, Unique: true}, "by hand")
	})
	require.NoError(w.t, err)
}

func (w *world) reset(run, id string, record int) error {
	_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
		return e.Reset(ctx, engine.MessageRequest{Run: run, ID: id, Unique: true}, engine.ResetPoint{Record: record}, "again")
	})
	return err
}

// busy has one of everything pending: an activity, a step, a timer, a child.
func busy(w *world, ctx workflow.Context, n int) (int, error) {
	first, err := workflow.Execute(ctx, callDouble, n)
	if err != nil {
		return 0, err
	}
	slow := workflow.StartStep(ctx, "slow", noRetries, func(ctx context.Context) (int, error) { return 1, elapse(ctx, 15*time.Second) })
	another, timer, child := workflow.Start(ctx, callDouble, first), workflow.Timer(ctx, 10*time.Second), workflow.StartChild(ctx, patient, 0)
	name, err := workflow.AwaitSignal(ctx, goSignal)
	if err != nil {
		return 0, err
	}
	both, err := workflow.All(ctx, another, slow)
	if err != nil {
		return 0, err
	}
	if _, err := timer.Await(ctx); err != nil {
		return 0, err
	}
	if name == "alone" {
		return both[0] + both[1], nil
	}
	_, err = child.Await(ctx)
	return both[0] + both[1], err
}

func TestTermination(t *testing.T) {
	inBoth(t, withPatient(only("main", busy)), func(w *world) {
		w.start("r", "main", "1")
		w.pass(1500 * time.Millisecond)
		w.terminate("r", "t")
		w.settle()
		w.finished()
		require.Equal(w.t, history.Terminated, w.summary("r").Status)
		require.Equal(w.t, "terminated: by hand", w.summary("r").Failure.Message)
		require.Equal(w.t, history.Cancelled, w.summary("r.1.4").Status, "its child was asked to cancel")
	})
}

func TestTerminationOfABlockedRun(t *testing.T) {
	inBoth(t, oneSignal, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		require.NoError(w.t,
			w.store.Block(w.t.Context(), "r",
				&port.Block{ID: "mark", Reason: port.ReasonActivation}))
		w.terminate("r", "t")
		w.settle()
		w.finished()
		require.Equal(w.t, history.Terminated, w.summary("r").Status)
	})
}

func TestResets(t *testing.T) {
	t.Run("open, with everything pending", func(t *testing.T) {
		inBoth(t, withPatient(only("main", busy)), func(w *world) {
			w.start("r", "main", "1")
			w.pass(1500 * time.Millisecond)
			require.NoError(w.t, w.reset("r", "x", 2))
			w.pass(time.Second)
			require.Equal(w.t, 2, w.summary("r").Generation)
			require.Equal(w.t, history.WasReset, w.log("r", 1)[len(w.log("r", 1))-1].Closes().Status())
			w.signal("r", "m", "go", `"alone"`)
			w.ends("5")
			require.Equal(w.t, 1, w.ran["r/1/activity-0"], "what still counts is not done again")
		})
	})
	t.Run("closed, with the signals that came later", func(t *testing.T) {
		inBoth(t, only("main", twoSignals), func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.signal("r", "m1", "go", `"a"`)
			w.settle()
			w.signal("r", "m2", "go", `"b"`)
			w.ends(`"ab"`)
			for generation := 2; generation <= 4; generation++ { // a reset of a reset run
				require.NoError(w.t, w.reset("r", fmt.Sprint("x", generation), 1))
				w.ends(`"ab"`)
				require.Equal(w.t, generation, w.summary("r").Generation)
			}
			require.Error(w.t, w.reset("r", "y", 99))
		})
	})
	t.Run("with the updates that came later", func(t *testing.T) {
		define := only("main", func(_ *world, ctx workflow.Context, limit int) (int, error) {
			sum, validated := 0, 0
			workflow.HandleUpdate(ctx, addUpdate, func(_ workflow.Context, n int) (int, error) {
				sum += n
				return sum, nil
			}, func(n int) error {
				if validated++; n > limit || validated > 3 {
					return errors.New("too much")
				}
				return nil
			})
			_, err := workflow.AwaitSignal(ctx, goSignal)
			return sum, err
		})
		inBoth(t, define, func(w *world) {
			add := func(id, n string) engine.UpdateAnswer {
				answer, err := w.update(id, "add", n)
				require.NoError(w.t, err)
				return answer
			}
			w.start("r", "main", "10")
			w.settle()
			for _, n := range []string{"1", "2", "99"} {
				add("u"+n, n)
			}
			require.NoError(w.t, w.reset("r", "x", 1))
			w.settle()
			w.signal("r", "m1", "go", `"x"`)
			w.ends("3")
			require.Equal(w.t, 2, w.summary("r").Generation)
			require.Equal(w.t, "3", string(add("u2", "2").Result), "the answer, asked for again")
			require.Equal(w.t, history.UpdateRejected, add("u99", "99").Phase)
		})
	})
	t.Run("twice with one id", func(t *testing.T) {
		inBoth(t, only("main", twoSignals), func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			require.NoError(w.t, w.reset("r", "x", 1))
			w.settle()
			require.NoError(w.t, w.reset("r", "x", 1))
			w.settle()
			require.Equal(w.t, 2, w.summary("r").Generation)
			w.signal("r", "m1", "go", `"a"`)
			w.signal("r", "m2", "go", `"b"`)
			w.ends(`"ab"`)
		})
	})
	t.Run("blocked", func(t *testing.T) {
		inBoth(t, only("main", twoSignals), func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.signal("r", "m1", "go", `"a"`)
			w.settle()
			require.NoError(w.t,
				w.store.Block(w.t.Context(), "r",
					&port.Block{ID: "mark", Reason: port.ReasonActivation}))
			require.NoError(w.t, w.reset("r", "x", 1))
			w.settle()
			require.Nil(w.t, w.summary("r").Blocked)
			w.signal("r", "m2", "go", `"b"`)
			w.ends(`"ab"`)
		})
	})
	t.Run("mail of all generations is known", func(t *testing.T) {
		inBoth(t, only("main", collect), func(w *world) {
			w.start("r", "main", `""`)
			w.signal("r", "m1", "go", `"a"`)
			w.settle()
			require.NoError(w.t, w.reset("r", "x", 1))
			w.settle()
			w.signal("r", "m1", "go", `"a"`)
			w.settle()
			w.signal("r", "m2", "go", `"b"`)
			w.signal("r", "m3", "go", `"c"`)
			w.ends(`"abc2"`)
		})
	})
	t.Run("what was asked to stop is asked again", func(t *testing.T) {
		define := only("main", func(w *world, ctx workflow.Context, n int) (string, error) {
			inner, cancel := workflow.WithCancel(ctx)
			child := workflow.StartChild(inner, patient, 0)
			step := workflow.StartStep(inner, "slow", activity.Options{ID: "ran-slow", Retry: activity.Retry{MaxAttempts: 1}}, func(ctx context.Context) (int, error) {
				return n, w.during(ctx, 50*time.Second, true)
			})
			if err := workflow.Sleep(ctx, time.Second); err != nil {
				return "", err
			}
			cancel()
			_, first := child.Await(workflow.Shield(ctx))
			_, second := step.Await(workflow.Shield(ctx))
			return fmt.Sprint(errors.Is(first, workflow.ErrCancelled), errors.Is(second, workflow.ErrCancelled)), nil
		})
		inBoth(t, withPatient(define), func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.finished()
			asked := slices.IndexFunc(w.log("r", 1), func(rec *history.Record) bool {
				return slices.ContainsFunc(rec.Commands, func(c history.Command) bool { _, ok := c.(*history.CancelChild); return ok })
			})
			require.NoError(w.t, w.reset("r", "x", asked+1))
			w.ends(`"true true"`)
			require.Equal(w.t, 2, w.summary("r").Generation)
		})
	})
	t.Run("what was published later is taken back", func(t *testing.T) {
		define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
			workflow.PublishState(ctx, n)
			workflow.SetAttributes(ctx, colour.Is("red"))
			if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
				return 0, err
			}
			if workflow.InfoOf(ctx).Generation == 1 {
				workflow.PublishState(ctx, n+1)
				workflow.SetAttributes(ctx, colour.Is("blue"))
			}
			_, err := workflow.AwaitSignal(ctx, goSignal)
			return n, err
		})
		inBoth(t, define, func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.signal("r", "m1", "go", `"a"`)
			w.settle()
			require.Equal(w.t, "2", string(w.summary("r").State))
			require.NoError(w.t, w.reset("r", "x", 1))
			w.settle()
			require.Equal(w.t, "1", string(w.summary("r").State))
			require.Equal(w.t, `"red"`, string(w.summary("r").Attributes["colour"]))
			w.signal("r", "m2", "go", `"b"`)
			w.ends("1")
		})
	})
	t.Run("a child whose end its parent was not told", func(t *testing.T) {
		define := func(w *world) []workflow.Definition {
			kid := workflow.Declare[int, int]("kid")
			return append(only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
				return workflow.ExecuteChild(ctx, kid.With(workflow.ChildOptions{ID: "kid"}), n)
			})(w), kid.Implement(func(ctx workflow.Context, n int) (int, error) {
				_, err := workflow.AwaitSignal(ctx, goSignal)
				if workflow.InfoOf(ctx).Generation > 1 && err == nil {
					_, err = workflow.AwaitSignal(ctx, goSignal)
				}
				return 7, err
			}))
		}
		simulate(t, define, func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.plan(fault{kind: crashAfter, op: "put", subject: "kid"})
			w.signal("kid", "m", "go", `"x"`)
			require.Error(w.t, w.deliver(w.activator(), w.takeOne("resume kid with mail#m")).wait())
			require.NoError(w.t, w.reset("kid", "x", 1))
			w.settle()
			require.Equal(w.t, 2, w.summary("kid").Generation)
			require.Equal(w.t, "7", string(w.summary("r").Result))
			w.signal("kid", "m2", "go", `"y"`)
			w.ends("7")
		})
	})
	t.Run("a step of the base", func(t *testing.T) {
		define := only("main", func(w *world, ctx workflow.Context, _ int) (int, error) {
			one, two := w.startStep(ctx, "a", 20*time.Second, 1), w.startStep(ctx, "b", 21*time.Second, 2)
			all, err := workflow.All(ctx, one, two)
			return len(all), err
		})
		inBoth(t, define, func(w *world) {
			w.start("r", "main", "1")
			w.pass(time.Second)
			require.NoError(w.t, w.reset("r", "x", 1))
			w.ends("2")
		})
	})
}

// upgrade has other code run from here on.
func (w *world) upgrade(version string, define func(w *world) []workflow.Definition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.define = define
	w.adjust = func(_ string, c *engine.Config) { c.Version = version }
	for _, p := range w.processes {
		p.dead = true
	}
}

// isBlocked checks the reason, then mends the cause, and sees the run go on.
func (w *world) isBlocked(reason, text string) {
	w.t.Helper()
	w.settle()
	block := w.summary("r").Blocked
	require.NotNil(w.t, block, w.show("r"))
	require.Equal(w.t, reason, block.Reason, block.Message)
	require.Contains(w.t, block.Message, text)
	require.NotEmpty(w.t, w.inbox("r"), "what was not taken stays")
}

func TestBlockedUntilItsWorkflowIsRegistered(t *testing.T) {
	simulate(t, func(w *world) []workflow.Definition { return []workflow.Definition{w.double()} }, func(w *world) {
		w.start("r", "main", "1")
		w.isBlocked(port.ReasonUnregistered, "main")
		_, err := ask(w, func(ctx context.Context, e *engine.Engine) (history.Payload, error) {
			return e.Query(ctx, "r", "sum", nil)
		})
		w.code(port.Blocked, err)
		w.upgrade("2", oneActivity)
		w.unblock("r")
		w.ends("2")
	})
}

func TestBlockedUntilTheCodeAgrees(t *testing.T) {
	simulate(t, twoStarted, func(w *world) {
		w.start("r", "main", "1")
		w.signal("r", "m1", "go", `"a"`)
		w.settle()
		w.upgrade("2", oneTimer)
		w.signal("r", "m2", "go", `"b"`)
		w.isBlocked(port.ReasonNondeterminism, "ran-double")
		w.upgrade("3", twoStarted)
		w.unblock("r")
		w.ends("2")
	})
}

// TestUnblockedByALearnedVersion: where no build names the version, functions/activate notes its own.
// What it blocked, and what other functions blocked before it began, is tried again once; and a run that
// stays blocked has functions/activate begin, so that it notes that it is new.
func TestUnblockedByALearnedVersion(t *testing.T) {
	simulate(t, oneSignal, func(w *world) {
		began := time.Now()
		block := func(run, version string, since time.Duration) {
			w.start(run, "main", "1")
			w.settle()
			require.NoError(w.t,
				w.store.Block(w.t.Context(), run,
					&port.Block{ID: run, Version: version, Since: began.Add(since)}))
		}
		block("a", "old", time.Second)
		block("b", "", -time.Second)
		block("c", "new", 0)
		block("d", "", time.Hour)
		unblock := func(deployed port.Deployment) (blocked, tried int) {
			require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) (err error) {
				blocked, tried, err = e.UnblockOlder(ctx, deployed)
				return err
			}))
			return blocked, tried
		}
		blocked, tried := unblock(port.Deployment{Learned: true})
		require.Equal(w.t, [2]int{4, 0}, [2]int{blocked, tried})
		require.Len(w.t, w.take(""), 1, "functions/activate begins")
		blocked, tried = unblock(port.Deployment{Learned: true, Version: "new", Since: began})
		require.Equal(w.t, [2]int{4, 2}, [2]int{blocked, tried})
		w.settle()
		for run, still := range map[string]bool{"a": false, "b": false, "c": true, "d": true} {
			require.Equal(w.t, still, w.summary(run).Blocked != nil, run)
		}
		blocked, tried = unblock(port.Deployment{Learned: true, Version: "new", Since: began})
		require.Equal(w.t, [2]int{2, 0}, [2]int{blocked, tried})
		w.settle()
	})
}

// TestUnblockedByTheNextDeployment: nobody has to ask for it, and nothing is tried again under the version that failed.
func TestUnblockedByTheNextDeployment(t *testing.T) {
	simulate(t, twoStarted, func(w *world) {
		w.start("r", "main", "1")
		w.signal("r", "m1", "go", `"a"`)
		w.settle()
		version := "1"
		upgrade := func(to string, define func(w *world) []workflow.Definition) {
			version = to
			w.upgrade(to, define)
		}
		older := func(blocked, tried int) {
			require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
				b, n, err := e.UnblockOlder(ctx, port.Deployment{Version: version})
				require.Equal(w.t, [2]int{blocked, tried}, [2]int{b, n})
				return err
			}))
		}
		older(0, 0)
		upgrade("2", oneTimer)
		w.signal("r", "m2", "go", `"b"`)
		w.isBlocked(port.ReasonNondeterminism, "ran-double")
		older(1, 0)
		upgrade("", twoStarted)
		older(1, 0)
		upgrade("3", twoStarted)
		older(1, 1)
		w.ends("2")
	})
}

// TestBlockedByAPanic: nothing of the activation counts, so the signal that met the panic is not lost.
func TestBlockedByAPanic(t *testing.T) {
	define := func(panics bool) func(w *world) []workflow.Definition {
		return only("main", func(_ *world, ctx workflow.Context, _ int) (seen string, err error) {
			workflow.HandleSignal(ctx, goSignal, func(_ workflow.Context, text string) error {
				if panics {
					panic("no handler for " + text)
				}
				seen = text
				return nil
			})
			err = workflow.AwaitCondition(ctx, func() bool { return seen != "" })
			return seen, err
		})
	}
	inBoth(t, define(true), func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.signal("r", "m", "go", `"a"`)
		w.isBlocked(port.ReasonPanic, "panicked in unit h0: no handler for a")
		require.Contains(w.t, w.summary("r").Blocked.Message, "life_test.go")
		w.upgrade("2", define(false))
		w.unblock("r")
		w.ends(`"a"`)
	})
}

// TestABlockThatIsNotStored: the message comes again until the block is there. Acknowledged before,
// the run would wait in silence.
func TestABlockThatIsNotStored(t *testing.T) {
	define := only("main", func(_ *world, _ workflow.Context, _ int) (int, error) {
		panic("a mistake")
	})
	inBoth(t, define, func(w *world) {
		w.plan(fault{kind: failBefore, op: "block"})
		w.start("r", "main", "1")
		w.settle()
		require.NotNil(w.t, w.summary("r").Blocked, "run r cannot advance, and must say so")
		require.Empty(w.t, w.violations)
	})
}

// TestAPanicFailsTheRunWhereItIsToldTo: by the option of its workflow.
func TestAPanicFailsTheRunWhereItIsToldTo(t *testing.T) {
	inBoth(t, func(*world) []workflow.Definition {
		return []workflow.Definition{workflow.New("main", func(workflow.Context, int) (int, error) { panic("oh") }).FailOnPanic()}
	}, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.finished()
		failure := w.summary("r").Failure
		require.Equal(w.t, history.Panic, failure.FailureKind)
		require.EqualError(w.t, failure, "panic: oh")
		require.Contains(w.t, failure.Stack, "life_test.go")
	})
}

func TestBlockedByAStuckUnit(t *testing.T) {
	stuck := make(chan chan struct{}, 1)
	define := func(hangs bool) func(w *world) []workflow.Definition {
		return only("main", func(_ *world, _ workflow.Context, n int) (int, error) {
			if hangs {
				gate := make(chan struct{})
				stuck <- gate
				<-gate
			}
			return n, nil
		})
	}
	simulate(t, define(true), func(w *world) {
		w.start("r", "main", "1")
		w.isBlocked(port.ReasonStuck, "life_test.go")
		close(<-stuck)
		w.upgrade("2", define(false))
		w.unblock("r")
		w.ends("1")
	})
}

func TestBlockedByAViolation(t *testing.T) {
	define := func(violates bool) func(w *world) []workflow.Definition {
		return only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
			if !violates {
				return n, nil
			}
			_, err := workflow.Go(ctx, func(workflow.Context) (int, error) { return 0, workflow.Sleep(ctx, time.Second) }).Await(ctx)
			return n, err
		})
	}
	simulate(t, define(true), func(w *world) {
		w.start("r", "main", "1")
		w.isBlocked(port.ReasonViolation, "Sleep")
		w.upgrade("2", define(false))
		w.unblock("r")
		w.ends("1")
	})
}

// TestBlockedByAStepThatCallsTheWorkflow: the function of a step called a workflow function. The run says so at once, and
// continues under fixed code.
func TestBlockedByAStepThatCallsTheWorkflow(t *testing.T) {
	for name, recovers := range map[string]bool{"panics": false, "recovers": true} {
		define := func(violates bool) func(w *world) []workflow.Definition {
			return only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
				return workflow.Step(ctx, "charge", func(context.Context) (int, error) {
					if recovers {
						defer func() { _ = recover() }()
					}
					if violates {
						return n, workflow.Sleep(ctx, time.Hour)
					}
					return n, nil
				})
			})
		}
		t.Run(name, func(t *testing.T) {
			inBoth(t, define(true), func(w *world) {
				w.start("r", "main", "1")
				w.isBlocked(port.ReasonViolation, "inside the function of a step")
				if !recovers {
					require.Contains(w.t, w.summary("r").Blocked.Message, "step charge (seq 0)")
				}
				w.upgrade("2", define(false))
				w.unblock("r")
				w.ends("1")
			})
		})
	}
}

func TestBlockedByGoexit(t *testing.T) {
	simulate(t, only("main", func(_ *world, _ workflow.Context, _ int) (int, error) {
		runtime.Goexit()
		return 0, nil
	}), func(w *world) {
		w.start("r", "main", "1")
		w.isBlocked(port.ReasonActivation, "Goexit")
	})
}

func TestBlockedByAnUnreadableRecord(t *testing.T) {
	simulate(t, twoStarted, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		// A record out of its place: the log goes from 1 to 3.
		require.NoError(w.t,
			w.store.Put(w.t.Context(),
				&port.Commit{Run: "r", Generation: 1,
					Record: &history.Record{Number: 3, Time: time.Now()}}))
		w.upgrade("2", twoStarted)
		w.signal("r", "m1", "go", `"a"`)
		w.isBlocked(port.ReasonUnreadable, "record 3")
	})
}

func TestClosePolicies(t *testing.T) {
	for policy, want := range map[workflow.ParentClosePolicy]history.Status{
		workflow.CancelChild: history.Cancelled, workflow.TerminateChild: history.Terminated, workflow.AbandonChild: history.Running,
	} {
		define := withPatient(only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
			workflow.StartChild(ctx, patient.With(workflow.ChildOptions{ID: "kid", ParentClosePolicy: policy}), n)
			return n, workflow.Sleep(ctx, time.Second)
		}))
		inBoth(t, define, func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			require.Equal(w.t, want, w.summary("kid").Status)
			if want == history.Running {
				w.signal("kid", "m", "go", `"x"`)
			}
			w.ends("1")
		})
	}
}

// TestWhatTheLastActivationBegins: what workflow code begins in the activation that ends its run comes too late for anything.
// No task, timer or step of it runs or waits anywhere; only a child that outlives its parent starts.
func TestWhatTheLastActivationBegins(t *testing.T) {
	next := func(workflow.Context, int) (int, error) { return 0, nil }
	for name, generations := range map[string]int{"completes": 1, "continues as new": 2} {
		define := func(w *world) []workflow.Definition {
			return withPatient(only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
				w.startStep(ctx, "step", time.Second, n)
				workflow.Start(ctx, callDouble, n)
				workflow.Timer(ctx, time.Minute)
				workflow.Timer(ctx, 365*24*time.Hour)
				workflow.StartChild(ctx, patient.With(workflow.ChildOptions{ID: "canceled"}), n)
				workflow.StartChild(ctx, patient.With(workflow.ChildOptions{ID: "abandoned", ParentClosePolicy: workflow.AbandonChild}), n)
				if n == generations {
					return n, nil
				}
				return workflow.ContinueAsNew(ctx, next, n+1)
			}))(w)
		}
		t.Run(name, func(t *testing.T) {
			inBoth(t, define, func(w *world) {
				w.start("r", "main", "1")
				w.settle()
				require.Equal(w.t, history.Completed, w.summary("r").Status)
				require.Empty(w.t, w.ran, "what ran, though the run had ended")
				require.Equal(w.t, []string{"abandoned", "r"}, w.runs())
				timers, err := w.store.DueBefore(t.Context(), time.Now().AddDate(2, 0, 0))
				require.NoError(w.t, err)
				require.Empty(w.t, timers, "timers that are kept for a run that has ended")
				states, err := w.store.TasksOf(t.Context(), "r")
				require.NoError(w.t, err)
				require.Empty(w.t, states)
			})
		})
	}
}

// TestChildThatBeginsLate: who closes a run looks for its children before the one that put an earlier record has started them.
func TestChildThatBeginsLate(t *testing.T) {
	define := withPatient(only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		workflow.StartChild(ctx, patient.With(workflow.ChildOptions{ID: "kid"}), n)
		_, err := workflow.AwaitSignal(ctx, goSignal)
		return n, err
	}))
	simulate(t, define, func(w *world) {
		hold := w.plan(fault{kind: pause, op: "create", subject: "kid"})
		first := w.deliver(w.activator(), w.begun("1"))
		require.NoError(w.t, w.deliver(w.activator(), w.filed("m", `"x"`)).wait())
		require.True(w.t, w.summary("r").Status.Closed())
		hold.release()
		require.NoError(w.t, first.wait())
		w.ends("1")
		require.Equal(w.t, history.Cancelled, w.summary("kid").Status)
	})
}

// TestCancelledThenTerminated: a child that did not heed its cancellation is terminated all the same.
func TestCancelledThenTerminated(t *testing.T) {
	deaf := workflow.New("deaf", func(ctx workflow.Context, _ int) (string, error) {
		return workflow.AwaitSignal(workflow.Shield(ctx), goSignal)
	})
	run := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		inner, cancel := workflow.WithCancel(ctx)
		workflow.StartChild(inner, deaf.With(workflow.ChildOptions{ID: "kid", ParentClosePolicy: workflow.TerminateChild}), n)
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return 0, err
		}
		cancel()
		return n, workflow.Sleep(ctx, time.Second)
	})
	inBoth(t, func(w *world) []workflow.Definition { return append(run(w), deaf) }, func(w *world) {
		w.start("r", "main", "1")
		w.ends("1")
		require.Equal(w.t, history.Terminated, w.summary("kid").Status)
	})
}

// TestRequestsToChildrenOutliveAProcess: what a parent asks of its child is asked, though its process dies on the way, and
// the answer that it followed from was only in memory.
func TestRequestsToChildrenOutliveAProcess(t *testing.T) {
	for name, cancels := range map[string]bool{"cancelled": true, "left": false} {
		t.Run(name, func(t *testing.T) {
			define := withPatient(only("main", func(_ *world, ctx workflow.Context, n int) (string, error) {
				inner, cancel := workflow.WithCancel(ctx)
				child := workflow.StartChild(inner, patient.With(workflow.ChildOptions{ID: "kid"}), n)
				if _, err := workflow.Execute(ctx, callDouble, n); err != nil || !cancels {
					return "", err
				}
				cancel()
				_, err := child.Await(ctx)
				return fmt.Sprint(errors.Is(err, workflow.ErrCancelled)), nil
			}))
			simulateAs(t, true, define, func(w *world) {
				w.plan(fault{kind: crashAfter, op: "put", subject: "r", nth: 2})
				w.start("r", "main", "1")
				w.settle()
				w.finished()
				require.Equal(w.t, history.Cancelled, w.summary("kid").Status)
			})
		})
	}
}

func TestChildIDInUse(t *testing.T) {
	define := withPatient(only("main", func(_ *world, ctx workflow.Context, n int) (string, error) {
		if err := workflow.Sleep(ctx, time.Second); err != nil { // the child is not the first call
			return "", err
		}
		_, err := workflow.ExecuteChild(ctx, patient.With(workflow.ChildOptions{ID: "taken"}), n)
		return workflow.FailureType(err), nil
	}))
	inBoth(t, define, func(w *world) {
		w.start("taken", "patient", "1")
		w.start("r", "main", "1")
		w.settle()
		w.signal("taken", "m", "go", `"x"`)
		w.ends(`"run-id-in-use"`)
	})
}

// TestAnIDOfAChildUsedAgain by its parent is in use, whether the first child has ended or not.
func TestAnIDOfAChildUsedAgain(t *testing.T) {
	kid := workflow.Declare[int, int]("leaf").With(workflow.ChildOptions{ID: "kid"})
	inBoth(t, only("main", func(_ *world, ctx workflow.Context, n int) ([]string, error) {
		first := workflow.StartChild(ctx, kid, n)
		_, open := workflow.ExecuteChild(ctx, kid, n)
		if _, err := first.Await(ctx); err != nil {
			return nil, err
		}
		_, closed := workflow.ExecuteChild(ctx, kid, n)
		return []string{workflow.FailureType(open), workflow.FailureType(closed)}, nil
	}), func(w *world) {
		w.start("r", "main", "1")
		w.ends(`["run-id-in-use","run-id-in-use"]`)
	})
}

// TestAttributesOverGenerations stay, those of the start and those that code has set, also where a
// generation sets none.
func TestAttributesOverGenerations(t *testing.T) {
	colour := workflow.NewAttribute[string]("colour")
	var main func(ctx workflow.Context, n int) (int, error)
	main = func(ctx workflow.Context, n int) (int, error) {
		switch n {
		case 1:
			workflow.SetAttributes(ctx, colour.Is("red"))
			return workflow.ContinueAsNew(ctx, main, 2)
		case 2:
			return workflow.ContinueAsNew(ctx, main, 3)
		default:
			return n, workflow.Sleep(ctx, time.Hour)
		}
	}
	inBoth(t, func(*world) []workflow.Definition {
		return []workflow.Definition{workflow.New("main", main)}
	}, func(w *world) {
		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
			_, _, err := e.Start(ctx, engine.StartRequest{Run: "r", Workflow: "main",
				Input:      history.Payload("1"),
				Attributes: history.Attributes{"customer": history.Payload(`"a"`)}})
			return err
		}))
		both := history.Attributes{"customer": history.Payload(`"a"`),
			"colour": history.Payload(`"red"`)}
		w.pass(time.Minute)
		require.Equal(w.t, both, w.summary("r").Attributes)
		require.NoError(w.t, w.resetTo("x", engine.ResetPoint{Record: 1}))
		require.Equal(w.t, both, w.summary("r").Attributes)
		w.ends("3")
		require.Equal(w.t, both, w.summary("r").Attributes)
	})
}

func TestWhatTheSummaryShows(t *testing.T) {
	customer := workflow.NewAttribute[string]("customer")
	define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		workflow.SetAttributes(ctx, customer.Is("a"))
		workflow.PublishState(ctx, map[string]int{"n": n})
		if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
			return 0, err
		}
		workflow.SetAttributes(ctx, customer.None())
		workflow.PublishState(ctx, "done")
		return n, workflow.Sleep(ctx, time.Second)
	})
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		page, _, err := w.store.List(w.t.Context(),
			port.ListQuery{Attributes: history.Attributes{"customer": history.Payload(`"a"`)}})
		require.NoError(w.t, err)
		require.Len(w.t, page, 1)
		require.JSONEq(w.t, `{"n":1}`, string(page[0].State))
		w.signal("r", "m", "go", `"x"`)
		w.ends("1")
		require.Empty(w.t, w.summary("r").Attributes)
		require.Equal(w.t, `"done"`, string(w.summary("r").State))
	})
}

// TestTheLimitsOfAttributesHoldForWorkflows: what a start may not have, a workflow may not set.
func TestTheLimitsOfAttributesHoldForWorkflows(t *testing.T) {
	large, small, long := workflow.NewAttribute[string]("large"), workflow.NewAttribute[int]("small"), workflow.NewAttribute[int](strings.Repeat("n", 101))
	var many []workflow.AttributeValue
	for i := range history.MaxAttributes {
		many = append(many, workflow.NewAttribute[int](fmt.Sprint("a", i)).Is(i))
	}
	for name, c := range map[string]struct {
		values  []workflow.AttributeValue
		problem string
	}{
		"at the limit": {append(many[1:], large.Is(strings.Repeat("x", history.MaxAttribute-2))), ""},
		"too many":     {append(many, small.Is(1)), "there are 101 attributes, the limit is 100"},
		"too large":    {[]workflow.AttributeValue{large.Is(strings.Repeat("x", history.MaxAttribute-1))}, `attribute "large" has 4097 bytes, the limit is 4096`},
		"a long name":  {[]workflow.AttributeValue{long.Is(1)}, "the name of the attribute has 101 bytes, the limit is 100"},
	} {
		t.Run(name, func(t *testing.T) {
			define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
				defer func() { _ = recover() }() // nothing that code does hides it
				for _, value := range c.values {
					workflow.SetAttributes(ctx, value)
				}
				return n, nil
			})
			inBoth(t, define, func(w *world) {
				w.start("r", "main", "1")
				w.settle()
				summary := w.summary("r")
				if c.problem == "" {
					require.Equal(w.t, history.Completed, summary.Status)
					return
				}
				require.NotNil(w.t, summary.Blocked)
				require.Contains(w.t, summary.Blocked.Message, "workflow.SetAttributes: "+c.problem)
			})
		})
	}
}

func TestHowWorkflowsFail(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(w *world, ctx workflow.Context, n int) (any, error)
		kind history.FailureKind
		text string
	}{
		"an error":                 {func(*world, workflow.Context, int) (any, error) { return nil, errors.New("no") }, history.Application, "no"},
		"a result that is no JSON": {func(*world, workflow.Context, int) (any, error) { return func() {}, nil }, history.Encoding, "JSON"},
		"an activity": {func(_ *world, ctx workflow.Context, n int) (any, error) {
			_, err := workflow.Execute(ctx, work.With(activity.Options{Retry: activity.Retry{MaxAttempts: 1}}), n)
			return nil, err
		}, history.ActivityKind, "work"},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, only("main", c.run), func(w *world) {
				w.start("r", "main", "1")
				w.settle()
				w.finished()
				failure := w.summary("r").Failure
				require.NotNil(w.t, failure)
				require.Equal(w.t, c.kind, failure.FailureKind)
				require.ErrorContains(w.t, failure, c.text)
			})
		})
	}
}
