package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// What the simulation found, each as the shortest way to it.

// TestRepeatedMailKeepsItsStamp: mail is filed, and its sender is not told. A machine whose clock
// is behind answers the repetition. The sender's next mail comes after the first filing all the
// same. Two places know the first stamp: what the run knows of a chosen id, and the inbox itself,
// which alone is asked about a unique id.
func TestRepeatedMailKeepsItsStamp(t *testing.T) {
	for name, unique := range map[string]bool{"chosen": false, "unique": true} {
		t.Run(name, func(t *testing.T) {
			simulate(t, only("main", twoSignals), func(w *world) {
				w.put(w.begun("1"))
				ahead := w.newProcess("api")
				ahead.clock.off = 3 * time.Second
				w.plan(fault{kind: crashAfter, op: "file", role: "api"})
				send := func(p *process, id, input string, after int64) (engine.Accepted, error) {
					request := engine.MessageRequest{Run: "r", ID: id, Unique: unique, After: after}
					return p.engine.Signal(p.in(), request, "go", history.Payload(input))
				}
				_, err := send(ahead, "m1", `"a"`, 0)
				require.Error(w.t, err)
				behind := w.newProcess("api")
				first, err := send(behind, "m1", `"a"`, 0)
				require.NoError(w.t, err)
				_, err = send(behind, "m2", `"b"`, first.Stamp)
				require.NoError(w.t, err)
				w.ends(`"ab"`)
			})
		})
	}
}

// stubborn is a step that fails: each time, or as often as the world says.
func stubborn(options activity.Options) func(w *world, ctx workflow.Context, fails int) (int, error) {
	return func(w *world, ctx workflow.Context, fails int) (int, error) {
		tries := 0
		return workflow.StartStep(ctx, "ran-stubborn", options, func(ctx context.Context) (int, error) {
			if err := w.during(ctx, time.Second, true); err != nil {
				return 0, err
			}
			if tries = activity.InfoOf(ctx).Attempt; tries <= fails {
				return 0, activity.Fail("again", "attempt %d", tries)
			}
			return tries, nil
		}).Await(ctx)
	}
}

// TestStepsAreRetriedOverInvocations: the attempts of a step are counted, and its waits kept, however little time each
// invocation has.
func TestStepsAreRetriedOverInvocations(t *testing.T) {
	slow := activity.Options{ID: "stubborn", Retry: activity.Retry{InitialInterval: 2 * time.Minute, BackoffCoefficient: 1, MaxAttempts: 3}}
	short := func(int) time.Duration { return 20 * time.Second }
	t.Run("until one succeeds", func(t *testing.T) {
		simulate(t, only("main", stubborn(slow)), func(w *world) {
			w.lifetime = short
			begun := time.Now()
			w.start("r", "main", "2")
			w.settle()
			w.ends("3")
			require.GreaterOrEqual(w.t, time.Since(begun), 4*time.Minute)
			records := w.log("r", 1)
			require.Less(w.t, len(records), 10, "it waits without a record for each look")
			resolved := records[len(records)-1].Events[0].(*history.ActivityResolved)
			require.Len(w.t, resolved.Attempts, 2)
		})
	})
	t.Run("also where the run is evicted whenever nothing holds it", func(t *testing.T) {
		simulate(t, only("main", stubborn(slow)), func(w *world) {
			w.lifetime = short
			w.adjust = func(_ string, c *engine.Config) { c.Memory = memory.New(1000) }
			w.start("r", "main", "2")
			w.settle()
			w.ends("3")
			require.Equal(w.t, 3, w.ran[executionKey("r", 1, "stubborn")])
		})
	})
	t.Run("until there are no more", func(t *testing.T) {
		simulate(t, only("main", stubborn(slow)), func(w *world) {
			w.lifetime = short
			w.start("r", "main", "9")
			w.settle()
			w.finished()
			require.Equal(w.t, history.Failed, w.summary("r").Status)
			require.Equal(w.t, 3, w.ran[executionKey("r", 1, "stubborn")])
		})
	})
	t.Run("within the time for all of them", func(t *testing.T) {
		limited := slow
		limited.Retry.MaxAttempts, limited.ScheduleToClose = 0, 5*time.Minute
		simulate(t, only("main", stubborn(limited)), func(w *world) {
			w.lifetime = short
			w.start("r", "main", "9")
			w.settle()
			w.finished()
			require.Equal(w.t, 3, w.ran[executionKey("r", 1, "stubborn")])
		})
	})
	t.Run("but not once it is asked to stop", func(t *testing.T) {
		simulate(t, only("main", stubborn(slow)), func(w *world) {
			w.lifetime = short
			w.start("r", "main", "9")
			w.pass(time.Minute)
			begun := time.Now()
			require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
				_, err := e.Cancel(ctx, engine.MessageRequest{Run: "r", ID: "stop"}, "enough")
				return err
			}))
			w.pass(5 * time.Second)
			require.Equal(w.t, history.Cancelled, w.summary("r").Status, "%s after %s", w.show("r"), time.Since(begun))
			w.settle()
			w.finished()
		})
	})
}

// TestItemsThatComeWhileTheLogIsRead: an inbox is read; an item comes, is taken, and its author dies before it has sent what
// follows; then the log is read. The item is unfinished work, not void.
func TestItemsThatComeWhileTheLogIsRead(t *testing.T) {
	simulate(t, only("main", twoSignals), func(w *world) {
		reader := w.activator()
		require.NoError(w.t, w.deliver(reader, w.begun("1")).wait()) // the run is live there
		goOn := w.tearLog()
		torn := w.deliver(reader, look("r"))
		w.plan(fault{kind: crashBefore, op: "send-tasks", role: "activate"})
		require.Error(w.t, w.deliver(w.activator(), w.filed("m1", `"a"`)).wait())
		goOn()
		require.NoError(w.t, torn.wait())
		require.NoError(w.t, w.deliver(reader, look("r")).wait())
		require.Contains(w.t, w.inbox("r"), "mail#m1")
		w.settle()
		w.signal("r", "m2", "go", `"b"`)
		w.ends(`"ab"`)
	})
}

var colour = workflow.NewAttribute[string]("colour")

// TestSummariesShowWhatTheCodeHasSaid: a summary is read; another invocation publishes a state and an attribute; then the log
// is read, and the run ends, or is ended. Its summary shows both.
func TestSummariesShowWhatTheCodeHasSaid(t *testing.T) {
	publishes := only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
		first, err := workflow.AwaitSignal(ctx, goSignal)
		if err != nil {
			return "", err
		}
		workflow.PublishState(ctx, first)
		workflow.SetAttributes(ctx, colour.Is("red"))
		second, err := workflow.AwaitSignal(ctx, goSignal)
		return first + second, err
	})
	for name, end := range map[string]func(w *world){
		"it ends":       func(w *world) { w.signal("r", "m2", "go", `"b"`) },
		"it is stopped": func(w *world) { w.terminate("r", "t") },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, publishes, func(w *world) {
				w.put(w.begun("1"))
				w.settle()
				goOn := w.tear()
				torn := w.deliver(w.activator(), look("r"))
				require.NoError(w.t, w.deliver(w.activator(), w.filed("m1", `"a"`)).wait())
				end(w)
				goOn()
				require.NoError(w.t, torn.wait())
				w.settle()
				w.finished()
				require.Equal(w.t, `"a"`, string(w.summary("r").State))
				require.Equal(w.t, `"red"`, string(w.summary("r").Attributes["colour"]))
			})
		})
	}
}

// TestStepsTakenUpAgainInOneProcess: a server that starts again takes up a step, with nothing in the inbox. What its result
// brings about is recorded, and then the disk fails. The message comes again, and finds what is unfinished.
func TestStepsTakenUpAgainInOneProcess(t *testing.T) {
	simulateAs(t, true, only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
		if _, err := workflow.Execute(ctx, callDouble, n); err != nil {
			return 0, err
		}
		if _, err := w.step(ctx, "a", time.Second, 1); err != nil {
			return 0, err
		}
		return n, workflow.Sleep(ctx, time.Hour)
	}), func(w *world) {
		w.start("r", "main", "3")
		w.pass(1500 * time.Millisecond) // the step is under way, after an answer that is not on disk
		w.locked(func() { w.kill(w.processes[0]) })
		w.plan(fault{kind: failBefore, op: "put-due"})
		w.ends("3")
	})
}

// TestTerminationDoesNotReachBeyondAReset: the message of a termination comes a second time, after the run was reset.
func TestTerminationDoesNotReachBeyondAReset(t *testing.T) {
	simulate(t, only("main", twoSignals), func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.terminate("r", "t")
		message := w.takeOne("resume r with mail#t")
		again := *message
		require.NoError(w.t, w.deliver(w.activator(), message).wait())
		require.Equal(w.t, history.Terminated, w.summary("r").Status)
		require.NoError(w.t, w.reset("r", "x", 1))
		w.settle()
		w.put(&again)
		w.settle()
		require.Equal(w.t, history.Running, w.summary("r").Status)
		w.signal("r", "m1", "go", `"a"`)
		w.signal("r", "m2", "go", `"b"`)
		w.ends(`"ab"`)
	})
}

// TestNoPutTakesOffAMark: a handler resets a run, for so long that its message passes for undeliverable and the run is blocked;
// then it dies, with nobody to come after it. The mark must stay, or nobody knows.
func TestNoPutTakesOffAMark(t *testing.T) {
	simulate(t, only("main", twoSignals), func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		require.NoError(w.t, w.reset("r", "x", 1))
		message := w.takeOne("resume r with mail#x")
		hold := w.plan(fault{kind: pause, op: "put", subject: "r"})
		resetting := w.deliver(w.activator(), message)
		w.bury(message)
		w.plan(fault{kind: crashBefore, op: "send-resumes", role: "activate"})
		hold.release()
		require.Error(w.t, resetting.wait())
		w.settle()
		require.Equal(w.t, port.ReasonUndeliverable, w.summary("r").Blocked.Reason)
		w.unblock("r")
		w.signal("r", "m1", "go", `"a"`)
		w.signal("r", "m2", "go", `"b"`)
		w.ends(`"ab"`)
		require.Equal(w.t, 2, w.summary("r").Generation)
	})
}

// stopsItsChild is a workflow that starts the child kid, and asks it to stop once a signal has
// come.
var stopsItsChild = withPatient(only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
	inner, cancel := workflow.WithCancel(ctx)
	child := workflow.StartChild(inner, patient.With(workflow.ChildOptions{ID: "kid"}), 0)
	if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
		return "", err
	}
	cancel()
	_, err := child.Await(workflow.Shield(ctx))
	return fmt.Sprint(errors.Is(err, workflow.ErrCancelled)), nil
}))

// TestChildThatIsCancelledBeforeItBegins: a parent asks its child to stop before the one that put an earlier record has started
// it; or that one has died.
func TestChildThatIsCancelledBeforeItBegins(t *testing.T) {
	for name, kind := range map[string]kind{"who starts it is slow": pause, "who starts it dies": crashBefore} {
		t.Run(name, func(t *testing.T) {
			simulate(t, stopsItsChild, func(w *world) {
				hold := w.plan(fault{kind: kind, op: "create", subject: "kid"})
				first := w.deliver(w.activator(), w.begun("1"))
				require.NoError(w.t, w.deliver(w.activator(), w.filed("m", `"x"`)).wait())
				if kind == pause {
					hold.release()
				}
				_ = first.wait()
				w.put(look("r"))
				w.ends(`"true"`)
			})
		})
	}
}

// TestAChildEndsBeforeItsParentHasResumedIt: an author asks a child to cancel, and dies before it
// resumes the child. Another resume has the child end, and its handler dies before it tells the
// parent.
func TestAChildEndsBeforeItsParentHasResumedIt(t *testing.T) {
	simulate(t, stopsItsChild, func(w *world) {
		require.NoError(w.t, w.deliver(w.activator(), w.begun("1")).wait())
		require.NoError(w.t, w.deliver(w.activator(), w.takeOne("resume kid")).wait())
		signal := w.filed("m", `"x"`)
		w.plan(fault{kind: crashAfter, op: "file", subject: "kid"})
		require.Error(w.t, w.deliver(w.activator(), signal).wait())
		w.plan(fault{kind: crashAfter, op: "put", subject: "kid"})
		require.Error(w.t, w.deliver(w.activator(), look("kid")).wait())
		require.Equal(w.t, history.Cancelled, w.summary("kid").Status)
		w.put(signal) // which was not acknowledged
		w.ends(`"true"`)
	})
}

// TestTokenThatWasNotKept: the table does not answer when an activity asks for its token, and the activity leaves its answer to
// others. It is begun again, with a token that opens something.
func TestTokenThatWasNotKept(t *testing.T) {
	tokens := make(chan string, 9)
	inBoth(t, byToken(tokens, activity.Options{}), func(w *world) {
		w.plan(fault{kind: failBefore, op: "save-task"})
		w.start("r", "main", "1")
		w.pass(time.Hour)
		require.Len(w.t, tokens, 2)
		<-tokens
		require.NoError(w.t, w.complete(<-tokens, `"yes"`, nil))
		w.ends(`"yes"`)
	})
}

// TestExpiredAndNotYetTriedAgain: an attempt that was to be completed from outside is over; whoever finds that decides on the next
// one, and dies before it is sent.
func TestExpiredAndNotYetTriedAgain(t *testing.T) {
	tokens := make(chan string, 9)
	simulate(t, byToken(tokens, activity.Options{StartToClose: time.Minute}), func(w *world) {
		w.start("r", "main", "2")
		w.pass(30 * time.Second)
		w.plan(fault{kind: crashBefore, op: "send-tasks", role: "task"})
		w.ends(`"another attempt"`)
		attempts := w.log("r", 1)[1].Events[0].(*history.ActivityResolved).Attempts
		require.Len(w.t, attempts, 1)
		require.Equal(w.t, "start-to-close timeout of 1m0s", attempts[0].Failure.Message)
		require.Equal(w.t, time.Minute, attempts[0].Ended.Sub(attempts[0].Started).Truncate(time.Minute))
	})
}

// TestOneTimeForAllOfADecision: the deadline of an author who died passes while another visit, which has found its item, reads an
// earlier log for a second one. The author is dead for its item and for its step, or for neither.
func TestOneTimeForAllOfADecision(t *testing.T) {
	define := only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
		if workflow.InfoOf(ctx).Generation == 1 {
			if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
				return 0, err
			}
			return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n)
		}
		if _, err := w.step(ctx, "a", 20*time.Second, 1); err != nil {
			return 0, err
		}
		return workflow.Execute(ctx, callDouble, n)
	})
	for range 8 { // an inbox has no order: the item that matters comes first in half of them
		simulate(t, define, func(w *world) {
			w.put(w.begun("1"))
			w.settle()
			w.put(w.filed("m1", `"a"`))
			w.pass(time.Second) // the next generation's step is under way
			w.locked(func() {
				for _, p := range w.processes {
					w.kill(p)
				}
			})
			w.pass(time.Minute + skew - 2*time.Second)
			w.take("")
			again := w.filed("m1", `"a"`)
			read := w.plan(fault{kind: pause, op: "records", subject: "r"})
			deciding := w.deliver(w.activator(), again)
			<-time.After(5 * time.Second)
			read.release()
			<-time.After(time.Second)
			require.NoError(w.t, w.deliver(w.activator(), look("r")).wait())
			w.plan(fault{kind: crashBefore, op: "send-tasks", role: "activate"})
			w.put(look("r"), &letter{resume: &port.Resume{Run: "r"},
				ready: time.Now().Add(2 * time.Minute)})
			_ = deciding.wait()
			w.ends("2")
		})
	}
}

// TestWhoStopsAWaitingStepAnswersForItsRun: a step waits to be tried again, handed over until then, and is asked to stop. Who stops
// it early takes over the items as well as the step: what it runs next is taken up again if it dies, though another handler of
// the same message has acknowledged that.
func TestWhoStopsAWaitingStepAnswersForItsRun(t *testing.T) {
	retry := activity.Options{ID: "stubborn", Retry: activity.Retry{InitialInterval: 30 * time.Second, BackoffCoefficient: 1}}
	cleansUp := func(w *world, ctx workflow.Context, fails int) (int, error) {
		_, failed := stubborn(retry)(w, ctx, fails)
		_, err := workflow.Step(workflow.Shield(ctx), "clean-up", func(ctx context.Context) (int, error) { return 0, w.during(ctx, 50*time.Second, true) })
		return 0, errors.Join(failed, err)
	}
	simulate(t, only("main", cleansUp), func(w *world) {
		w.lifetime = func(number int) time.Duration {
			if number == 1 {
				return 20 * time.Second
			}
			return 10 * time.Minute
		}
		waits := w.deliver(w.activator(), w.begun("9"))
		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error { // it does not reach the step
			_, err := e.Cancel(ctx, engine.MessageRequest{Run: "r", ID: "stop"}, "enough")
			return err
		}))
		require.NoError(w.t, w.deliver(w.activator(), w.takeOne("resume r with mail#stop")).wait())
		require.NoError(w.t, waits.wait())
		require.Equal(w.t, []string{"start#1"}, w.inbox("r"))
		again := look("r")
		first := w.activator()
		stops := w.deliver(first, again)
		<-time.After(40 * time.Second)
		require.NoError(w.t, w.deliver(w.activator(), again).wait())
		w.locked(func() { w.kill(first) })
		require.Error(w.t, stops.wait())
		w.settle()
		w.finished()
		require.Equal(w.t, history.Cancelled, w.summary("r").Status)
	})
}

// TestAnAuthorThatEndsDuringALook: an invocation deletes its items while the next one reads the
// run. It has ended before that one decides. Nothing of its work is left to be finished.
func TestAnAuthorThatEndsDuringALook(t *testing.T) {
	simulateAs(t, true, oneActivity, func(w *world) {
		w.start("r", "main", "1")
		node := w.processes[0]
		hold := w.plan(fault{kind: pause, op: "delete"})
		first := w.deliver(node, w.takeOne("resume r"))
		require.True(w.t, hold.hit,
			"the planned fault must have happened, or this test shows nothing")
		continues := w.tearLog()
		second := w.deliver(node, look("r"))
		hold.release()
		require.NoError(w.t, first.wait(), "the message must be acknowledged")
		continues()
		require.NoError(w.t, second.wait(), "the message must be acknowledged")
		w.settle()
		w.once()
		w.ends("2")
	})
}

// TestVisitsThatWaitToReadARun: a message is answered by a visit that has not read the run yet, and
// not by one that has.
func TestVisitsThatWaitToReadARun(t *testing.T) {
	simulateAs(t, true, oneSignal, func(w *world) {
		w.start("r", "main", "1")
		node := w.processes[0]
		hold := w.plan(fault{kind: pause, op: "put"})
		first := w.deliver(node, w.takeOne("resume r"))
		require.True(w.t, hold.hit,
			"the planned fault must have happened, or this test shows nothing")
		w.signal("r", "m", "go", `"x"`)
		second := w.deliver(node, w.takeOne("resume r"))
		for range 3 {
			require.NoError(w.t, w.deliver(node, look("r")).wait(),
				"the second visit answers for it")
		}
		hold.release()
		require.NoError(w.t, first.wait())
		require.NoError(w.t, second.wait())
		w.finished()
		require.Equal(w.t, history.Completed, w.summary("r").Status)
	})
}
