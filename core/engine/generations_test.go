package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// What follows from one generation, while another one begins.

// onward takes a signal in each of two generations.
func onward(_ *world, ctx workflow.Context, input string) (string, error) {
	word, err := workflow.AwaitSignal(ctx, goSignal)
	if err != nil || workflow.InfoOf(ctx).Generation > 1 {
		return input + word, err
	}
	return workflow.ContinueAsNew(ctx, func(workflow.Context, string) (string, error) { return "", nil }, input+word)
}

// TestRuleLookAgain: a look is no look at one moment where others write while it reads. What came with the next generation
// must not pass for too late for the one before.
func TestRuleLookAgain(t *testing.T) {
	t.Run("a run that continues as new", func(t *testing.T) {
		simulate(t, only("main", onward), func(w *world) {
			w.start("r", "main", `""`)
			w.settle()
			hold := w.plan(fault{kind: pause, op: "put", subject: "r"})
			continuing := w.deliver(w.activator(), w.filed("m1", `"a"`))
			goOn := w.tear()
			torn := w.deliver(w.activator(), w.filed("m2", `"b"`))
			hold.release()
			require.NoError(w.t, continuing.wait())
			goOn()
			require.NoError(w.t, torn.wait())
			w.ends(`"ab"`)
		})
	})
	for name, signals := range map[string]bool{"a run that is started anew": false, "mail for a run that was started anew": true} {
		t.Run(name, func(t *testing.T) {
			simulate(t, oneSignal, func(w *world) {
				w.start("r", "main", "1")
				w.signal("r", "m1", "go", `"a"`)
				w.settle()
				goOn := w.tear()
				torn := w.deliver(w.activator(), look("r"))
				require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
					_, _, err := e.Start(ctx, engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("2"), Reuse: true})
					return err
				}))
				if signals {
					for _, l := range w.take("resume r with start#2") {
						require.NoError(w.t, w.deliver(w.activator(), l).wait())
					}
					hold := w.plan(fault{kind: pause, op: "look", subject: "r"})
					reading := w.deliver(w.activator(), w.filed("m2", `"b"`))
					goOn()
					require.NoError(w.t, torn.wait())
					hold.release()
					require.NoError(w.t, reading.wait())
					w.ends(`"b"`)
					return
				}
				goOn()
				require.NoError(w.t, torn.wait())
				w.signal("r", "m2", "go", `"b"`)
				w.ends(`"b"`)
			})
		})
	}
}

// TestTerminatedWhileContinuing: a termination that is accepted while a generation ends ends the next one.
func TestTerminatedWhileContinuing(t *testing.T) {
	for _, next := range []string{"records", "summary"} { // what who has looked is about to read
		t.Run(next, func(t *testing.T) {
			simulate(t, only("main", onward), func(w *world) {
				w.start("r", "main", `""`)
				w.settle()
				first := w.filed("m1", `"a"`)
				late := w.activator()
				hold := w.plan(fault{kind: pause, op: "put", subject: "r"})
				continuing := w.deliver(w.activator(), first) // it has looked, and is about to put the record that continues
				w.terminate("r", "t")
				read := w.plan(fault{kind: pause, op: next, subject: "r"})
				terminating := w.deliver(late, w.takeOne("resume r with mail#t"))
				hold.release()
				require.NoError(w.t, continuing.wait())
				read.release()
				require.NoError(w.t, terminating.wait())
				w.settle()
				require.Equal(w.t, history.Terminated, w.summary("r").Status)
				w.finished()
			})
		})
	}
}

// TestOwnRecordOfTheNextGeneration: numbers begin anew in every generation.
func TestOwnRecordOfTheNextGeneration(t *testing.T) {
	simulate(t, only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
		if workflow.InfoOf(ctx).Generation > 1 {
			return workflow.Execute(ctx, callDouble, n)
		}
		w.startStep(ctx, "a", 20*time.Second, 1)
		if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
			return 0, err
		}
		return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n)
	}), func(w *world) {
		first := w.deliver(w.activator(), w.begun("1"))
		hold := w.plan(fault{kind: pause, op: "send-resumes", role: "activate"})
		second := w.deliver(w.activator(), w.filed("m", `"x"`))
		w.plan(fault{kind: takenAfter, op: "put", nth: 2}) // the first one loses its race
		require.NoError(w.t, first.wait())
		hold.release()
		require.NoError(w.t, second.wait())
		w.ends("2")
	})
}

// TestRuleStartLeft: a child that outlives its parent is started, though whoever was to start it dies and the parent closes.
func TestRuleStartLeft(t *testing.T) {
	leaves := func(ctx workflow.Context, n int) {
		workflow.StartChild(ctx, leafChild.With(workflow.ChildOptions{ID: "kid", ParentClosePolicy: workflow.AbandonChild}), n)
	}
	ends := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		leaves(ctx, n)
		return n, nil
	})
	continues := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		if workflow.InfoOf(ctx).Generation > 1 {
			return n, nil
		}
		leaves(ctx, n)
		return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n)
	})
	waits := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		leaves(ctx, n)
		_, err := workflow.AwaitSignal(ctx, goSignal)
		return n, err
	})
	signalled := func(w *world) { w.signal("r", "m", "go", `"x"`) }
	terminated := func(w *world) {
		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
			_, err := e.Terminate(ctx, engine.MessageRequest{Run: "r", ID: "t"}, "")
			return err
		}))
	}
	nothing := func(*world) {}
	t.Run("another run has its id by then", func(t *testing.T) {
		once := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
			if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil || workflow.InfoOf(ctx).Generation > 1 {
				return n, err
			}
			leaves(ctx, n)
			return n, nil
		})
		simulate(t, once, func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.plan(fault{kind: crashAfter, op: "put", subject: "r"})
			_ = w.deliver(w.activator(), w.filed("m", `"x"`)).wait()
			w.anew()
			w.settle()
			kid, err := w.store.Summary(w.t.Context(), "kid")
			require.NoError(w.t, err)
			require.Equal(w.t, history.Completed, kid.Status)
			w.signal("r", "m", "go", `"y"`)
			w.ends("1")
		})
	})
	for name, c := range map[string]struct {
		define func(w *world) []workflow.Definition
		fault  kind
		then   func(w *world)
	}{
		"its record ends the run":                     {ends, crashAfter, nothing},
		"its record ends the generation":              {continues, crashAfter, nothing},
		"its record ends the run, without an answer":  {ends, takenAfter, nothing},
		"its record ends the generation, without one": {continues, takenAfter, nothing},
		"another one's record ends the run":           {waits, crashAfter, signalled},
		"the run is terminated":                       {waits, crashAfter, terminated},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, c.define, func(w *world) {
				w.plan(fault{kind: c.fault, op: "put", subject: "r"})
				_ = w.deliver(w.activator(), w.begun("1")).wait()
				c.then(w)
				w.put(look("r"))
				w.settle()
				w.finished()
				kid, err := w.store.Summary(w.t.Context(), "kid")
				require.NoError(w.t, err)
				require.Equal(w.t, history.Completed, kid.Status)
			})
		})
	}
}

// TestLeftChildOutlivesTheProcess: in one process, a record that ends the run starts a child that outlives it, and the process
// dies with it. All that the record took could be brought back from the log, so nothing of it is on disk.
func TestLeftChildOutlivesTheProcess(t *testing.T) {
	for name, again := range map[string]bool{"the run ends": false, "the generation ends": true} {
		t.Run(name, func(t *testing.T) {
			simulateAs(t, true, only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
				if workflow.InfoOf(ctx).Generation > 1 {
					return n, nil
				}
				if _, err := workflow.Execute(ctx, callDouble, n); err != nil {
					return 0, err
				}
				workflow.StartChild(ctx, leafChild.With(workflow.ChildOptions{ID: "kid", ParentClosePolicy: workflow.AbandonChild}), n)
				if again {
					return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n)
				}
				return n, nil
			}), func(w *world) {
				w.plan(fault{kind: crashAfter, op: "put", subject: "r", nth: 2})
				w.start("r", "main", "1")
				w.settle()
				w.finished()
				kid, err := w.store.Summary(w.t.Context(), "kid")
				require.NoError(w.t, err)
				require.Equal(w.t, history.Completed, kid.Status)
			})
		})
	}
}

// few takes a signal in each of four generations, which know one letter of those before.
func few(w *world) []workflow.Definition { return knowing(w, 1) }

func knowing(w *world, letters int) []workflow.Definition {
	w.adjust = func(_ string, c *engine.Config) { c.KnownMail = letters }
	return only("main", func(_ *world, ctx workflow.Context, input string) (string, error) {
		word, err := workflow.AwaitSignal(ctx, goSignal)
		if err != nil || len(input) == 3 {
			return input + word, err
		}
		return workflow.ContinueAsNew(ctx, func(workflow.Context, string) (string, error) { return "", nil }, input+word)
	})(w)
}

// TestForgottenMail: generations hand on the newest ids of mail alone, for senders who repeat theirs. What a queue brings again is
// found in the log that took it, however long ago.
func TestForgottenMail(t *testing.T) {
	send := func(w *world, ids ...string) {
		for _, id := range ids {
			w.pass(time.Minute)
			w.signal("r", "m"+id, "go", `"`+id+`"`)
			w.settle()
		}
	}
	first := func(w *world) (again letter) {
		w.put(w.begun(`""`))
		w.settle()
		message := w.filed("ma", `"a"`)
		again = *message
		w.put(message)
		w.settle()
		return again
	}
	t.Run("come again", func(t *testing.T) {
		simulate(t, few, func(w *world) {
			again := first(w)
			send(w, "b", "c")
			w.put(&again)
			w.settle()
			require.Empty(w.t, w.inbox("r"))
			send(w, "d")
			w.ends(`"abcd"`)
		})
	})
	t.Run("come again, of several that ended a generation", func(t *testing.T) {
		simulate(t, few, func(w *world) {
			w.put(w.begun(`""`))
			w.pass(time.Minute)
			message := w.filed("ma", `"a"`)
			again := *message
			w.put(message, w.filed("mb", `"b"`))
			w.settle()
			w.put(&again)
			w.settle()
			send(w, "c", "d")
			w.ends(`"abcd"`)
		})
	})
	t.Run("come again after the end", func(t *testing.T) {
		simulate(t, few, func(w *world) {
			again := first(w)
			send(w, "b", "c", "d")
			w.put(&again)
			w.ends(`"abcd"`)
			require.Empty(w.t, w.inbox("r"))
		})
	})
	t.Run("late, and never taken", func(t *testing.T) {
		simulate(t, few, func(w *world) {
			w.put(w.begun(`""`))
			w.settle()
			late := w.unfiled(w.filed("ma", `"a"`))
			send(w, "b", "c")
			w.put(late)
			w.settle()
			send(w, "d")
			w.ends(`"bcad"`)
		})
	})
	t.Run("not forgotten: the newest, repeated by its sender", func(t *testing.T) {
		simulate(t, few, func(w *world) {
			first(w)
			send(w, "b", "b", "c", "d")
			w.ends(`"abcd"`)
			require.Equal(w.t, []string{"mc#signal#go"}, w.log("r", 4)[0].Events[0].(*history.Started).Mail)
		})
	})
	t.Run("not forgotten for an older one, that is handed on unread", func(t *testing.T) {
		simulate(t, func(w *world) []workflow.Definition { return knowing(w, 2) }, func(w *world) {
			w.start("r", "main", `""`)
			w.settle()
			w.signal("r", "mx", "nobody-reads-it", "1")
			send(w, "a", "b", "c", "b", "d")
			w.ends(`"abcd"`)
		})
	})
	t.Run("that ended the run before a reset", func(t *testing.T) {
		simulate(t, few, func(w *world) {
			w.start("r", "main", `""`)
			w.settle()
			w.terminate("r", "t")
			message := w.takeOne("resume r with mail#t")
			again := *message
			w.put(message)
			w.settle()
			require.Equal(w.t, history.Terminated, w.summary("r").Status)
			require.NoError(w.t, w.reset("r", "x", 1))
			w.settle()
			send(w, "a", "b")
			w.put(&again)
			w.settle()
			require.Equal(w.t, history.Running, w.summary("r").Status)
			send(w, "c", "d")
			w.ends(`"abcd"`)
		})
	})
}

// TestAnswerOfAForgottenUpdate: a caller who looks for an answer finds it, however many generations have begun since.
func TestAnswerOfAForgottenUpdate(t *testing.T) {
	simulate(t, func(w *world) []workflow.Definition {
		w.adjust = func(_ string, c *engine.Config) { c.KnownMail = 1 }
		return only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
			added := 0
			workflow.HandleUpdate(ctx, addUpdate, func(_ workflow.Context, k int) (int, error) {
				added = k
				return n + k, nil
			})
			if err := workflow.AwaitCondition(ctx, func() bool { return added > 0 }); err != nil || n+added >= 7 {
				return n + added, err
			}
			return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n+added)
		})(w)
	}, func(w *world) {
		w.start("r", "main", "0")
		w.settle()
		w.newProcess("api")
		hold := w.plan(fault{kind: pause, op: "look", role: "api"})
		waiting := make(chan engine.UpdateAnswer)
		go func() {
			p := w.process("api")
			ctx, cancel := context.WithTimeout(p.in(), 10*time.Minute)
			defer cancel()
			answer, err := p.engine.Update(ctx, engine.MessageRequest{Run: "r", ID: "u1", Unique: true}, "add", history.Payload("1"))
			assert.NoError(w.t, err)
			waiting <- answer
		}()
		synctest.Wait()
		w.settle()
		for _, id := range []string{"u2", "u3"} {
			_, err := w.update(id, "add", "2")
			require.NoError(w.t, err)
		}
		hold.release()
		w.pass(10 * time.Minute)
		require.Equal(w.t, "1", string((<-waiting).Result))
		_, err := w.update("u4", "add", "2")
		require.NoError(w.t, err)
		w.ends("7")
	})
}

// TestLogsOfEarlierGenerations: a run that goes on for ever keeps the logs of generations that ended lately, and the first one.
func TestLogsOfEarlierGenerations(t *testing.T) {
	const retention = time.Hour
	define := func(w *world) []workflow.Definition {
		w.adjust = func(_ string, c *engine.Config) { c.Retention = retention }
		return only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
			if word, err := workflow.AwaitSignal(ctx, goSignal); err != nil || word == "stop" {
				return n, err
			}
			return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n+1)
		})(w)
	}
	goOn := func(w *world, times int) {
		for range times {
			w.pass(retention / 3)
			w.signal("r", w.newID(), "go", `"on"`)
			w.settle()
		}
	}
	kept := func(w *world) (generations []int) {
		for g := 1; g <= w.summary("r").Generation; g++ {
			if log := w.log("r", g); len(log) > 0 {
				generations = append(generations, g)
			}
		}
		return generations
	}
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "0")
		w.settle()
		goOn(w, 30)
		require.Equal(w.t, 31, w.summary("r").Generation)
		left := kept(w)
		require.Equal(w.t, 1, left[0], "a start that is asked for again is known by it")
		require.LessOrEqual(w.t, len(left), 3*3+2)
		oldest := w.log("r", 31)[0].Events[0].(*history.Started).Logs.First
		for g := oldest; g <= 31; g++ {
			require.Contains(w.t, left, g, "its start says that the logs since %d are kept", oldest)
		}
		for g := 31 - 3; g <= 31; g++ {
			require.Contains(w.t, left, g, "it ended less than a retention ago")
		}
		created, err := w.tryStart(engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("0")})
		require.NoError(w.t, err)
		require.False(w.t, created)
		_, err = ask(w, func(ctx context.Context, e *engine.Engine) ([]*history.Record, error) {
			return e.History(ctx, "r", 2, 0)
		})
		w.code(port.NotFound, err)
		require.ErrorContains(w.t, err, "has been deleted")

		w.pass(3 * retention)
		require.NoError(w.t, w.reset("r", "x", 1))
		w.settle()
		w.pass(10 * retention)
		goOn(w, 1)
		require.Equal(w.t, 33, w.summary("r").Generation)
		require.Subset(w.t, kept(w), []int{31, 32}, "the second goes on from the first, and has just ended")
		goOn(w, 30)
		require.NotContains(w.t, kept(w), 31)
		w.signal("r", "end", "go", `"stop"`)
		w.settle()
		w.finished()
	})
}

// TestLogsThatExpireLeaveNothingInTheInbox: what a log took may still lie in the inbox when the log expires, if its author died, and
// so did whoever was to tidy up. It is tidied before the log goes, or nobody could tell that it was taken.
func TestLogsThatExpireLeaveNothingInTheInbox(t *testing.T) {
	simulate(t, func(w *world) []workflow.Definition {
		definitions := few(w)
		knows := w.adjust
		w.adjust = func(role string, c *engine.Config) {
			knows(role, c)
			c.Retention = time.Minute
		}
		return definitions
	}, func(w *world) {
		untidied := func(l *letter) {
			w.plan(fault{kind: crashBefore, op: "delete", subject: "r"})
			<-w.deliver(w.process("activate"), l).done
		}
		w.start("r", "main", `""`)
		w.settle()
		w.signal("r", "ma", "go", `"a"`)
		w.settle()
		w.pass(2 * time.Minute)
		w.signal("r", "mb", "go", `"b"`)
		untidied(w.takeOne("resume r with mail#mb"))
		w.take("")
		w.pass(20 * time.Minute)
		w.signal("r", "mc", "go", `"c"`)
		w.signal("r", "md", "go", `"d"`)
		w.take("")
		untidied(look("r"))
		require.Contains(w.t, w.inbox("r"), "mail#mb")
		w.ends(`"abcd"`)
		for _, rec := range w.log("r", 4) {
			for _, event := range rec.Events {
				if mail, ok := event.(history.Mail); ok {
					require.NotEqual(w.t, "mb", mail.MailID(), "it is taken a second time")
				}
			}
		}
	})
}

// TestLateMailAndAReset: what comes too late for a generation that has ended, the next one takes, if its sender repeats it after a
// reset, though somebody who saw that end is about to delete it.
func TestLateMailAndAReset(t *testing.T) {
	for name, c := range map[string]struct {
		send   func(w *world)
		calls  int // of the one who is about to delete it
		status history.Status
	}{
		"a signal":      {func(w *world) { w.signal("r", "m", "go", `"late"`) }, 5, history.Completed},
		"a termination": {func(w *world) { w.terminate("r", "m") }, 6, history.Terminated},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, oneSignal, func(w *world) {
				w.put(w.begun("1"))
				w.settle()
				c.send(w)
				late := w.unfiled(w.takeOne("resume r with mail#m"))
				w.terminate("r", "t")
				w.settle()
				discard := w.plan(fault{kind: pause, role: "activate", nth: c.calls})
				discarding := w.deliver(w.activator(), late)
				require.NoError(w.t, w.reset("r", "x", 1))
				begin := w.plan(fault{kind: pause, op: "send-resumes", role: "activate"})
				beginning := w.deliver(w.activator(), w.takeOne("resume r with mail#x"))
				require.Equal(w.t, 2, w.summary("r").Generation)
				c.send(w)
				read := w.plan(fault{kind: pause, op: "look", role: "activate"})
				reading := w.deliver(w.activator(), w.takeOne("resume r with mail#m"))
				discard.release()
				require.NoError(w.t, discarding.wait())
				read.release()
				require.NoError(w.t, reading.wait())
				begin.release()
				require.NoError(w.t, beginning.wait())
				w.settle()
				require.Equal(w.t, c.status, w.summary("r").Status)
			})
		})
	}
}

// TestResetWhoseAuthorDies: the author of a reset dies after its put, and before it has told a child of the generation that ended.
// The message of the reset comes again, and its handler sends what the reset asks for.
func TestResetWhoseAuthorDies(t *testing.T) {
	define := withPatient(only("main", func(_ *world, ctx workflow.Context, n int) (string, error) {
		if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
			return "", err
		}
		workflow.StartChild(ctx, patient, n)
		return workflow.AwaitSignal(ctx, goSignal)
	}))
	simulate(t, define, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.signal("r", "m1", "go", `"a"`)
		w.settle()
		const child = "r.1.0"
		require.Equal(w.t, history.Running, w.summary(child).Status)
		require.NoError(w.t, w.reset("r", "x", 1))
		w.plan(fault{kind: crashAfter, op: "put", subject: "r"})
		w.settle()
		require.Equal(w.t, 2, w.summary("r").Generation, "one reset begins one generation")
		require.Equal(w.t, history.Cancelled, w.summary(child).Status, "a child of the generation that ended must be canceled")
		w.signal("r", "m2", "go", `"b"`)
		w.ends(`"b"`)
	})
}

// TestWhatAGenerationThatNeverBeganKnows: a generation is terminated before it begins. A reset to before its run's signals continues
// the run without them. The queue message of a signal that the first generation took comes again: the run still knows it.
func TestWhatAGenerationThatNeverBeganKnows(t *testing.T) {
	simulate(t, oneSignal, func(w *world) {
		w.put(w.begun("1"))
		w.settle()
		first := w.filed("m1", `"old"`)
		again := *first
		w.put(first)
		w.ends(`"old"`)
		require.NoError(w.t, w.reset("r", "x", 1))
		hold := w.plan(fault{kind: pause, op: "send-resumes", role: "activate"})
		resetting := w.deliver(w.activator(), w.takeOne("resume r with mail#x"))
		w.terminate("r", "t")
		require.NoError(w.t, w.deliver(w.activator(), w.takeOne("resume r with mail#t")).wait())
		hold.release()
		require.NoError(w.t, resetting.wait())
		w.settle()
		_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
			point := engine.ResetPoint{Generation: 1, Record: 1, ExcludeSignals: true}
			return e.Reset(ctx, engine.MessageRequest{Run: "r", ID: "y", Unique: true}, point, "without its signals")
		})
		require.NoError(w.t, err)
		w.settle()
		w.put(&again)
		w.settle()
		require.Equal(w.t, history.Running, w.summary("r").Status, "a signal that the run has read must not be read again")
		w.signal("r", "m9", "go", `"new"`)
		w.ends(`"new"`)
	})
}
