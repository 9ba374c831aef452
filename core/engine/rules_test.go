package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// One test for each rule of the protocol, by its name there: the shortest way to the loss that the
// rule prevents. That each fails without its rule is shown in mutations_test.go. Strong and
// InboxFirst are rules of the stores: porttest has them.

var (
	oneActivity = only("main", func(_ *world, ctx workflow.Context, n int) (int, error) { return workflow.Execute(ctx, callDouble, n) })
	oneStep     = only("main", func(w *world, ctx workflow.Context, _ int) (int, error) { return w.step(ctx, "a", 20*time.Second, 1) })
	oneTimer    = only("main", func(_ *world, ctx workflow.Context, minutes int) (int, error) {
		return minutes, workflow.Sleep(ctx, time.Duration(minutes)*time.Minute)
	})
	oneChild = only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		return workflow.ExecuteChild(ctx, leafChild, n)
	})
	oneSignal = only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
		return workflow.AwaitSignal(ctx, goSignal)
	})
	twoStarted = only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		var started []workflow.Future[int]
		for range 2 {
			if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
				return 0, err
			}
			started = append(started, workflow.Start(ctx, callDouble, n))
		}
		both, err := workflow.All(ctx, started...)
		return len(both), err
	})
)

// activator is a process for resumes that nobody else uses.
func (w *world) activator() *process { return w.newProcess("activate") }

func look(run string) *letter { return &letter{resume: &port.Resume{Run: run}} }

// begun starts a run and leaves the letter that carries its start.
func (w *world) begun(input string) *letter {
	w.t.Helper()
	w.start("r", "main", input)
	return w.takeOne("resume r with start#1")
}

// filed sends a signal and leaves the letter that carries it.
func (w *world) filed(id, input string) *letter {
	w.t.Helper()
	w.signal("r", id, "go", input)
	return w.takeOne("resume r with mail#" + id)
}

func (w *world) put(letters ...*letter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.letters = append(w.letters, letters...)
}

func (w *world) ends(result string) {
	w.t.Helper()
	w.settle()
	w.finished()
	require.Equal(w.t, result, string(w.summary("r").Result), "run r must end with this result")
}

func (w *world) unblock(run string) {
	w.t.Helper()
	require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error { return e.Unblock(ctx, run) }),
		"an unblock must be accepted")
}

func TestRuleMessageFirst(t *testing.T) {
	t.Run("start", func(t *testing.T) {
		simulate(t, oneActivity, func(w *world) {
			w.plan(fault{kind: crashAfter, role: "api"})
			p := w.process("api")
			_, _, err := p.engine.Start(p.in(), engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("1")})
			require.Error(w.t, err, "the caller dies before it has an answer")
			w.ends("2")
		})
	})
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprint("signal dies after call ", n), func(t *testing.T) {
			simulate(t, oneSignal, func(w *world) {
				w.start("r", "main", "1")
				w.settle()
				w.newProcess("api")
				w.plan(fault{kind: crashAfter, role: "api", nth: n})
				p := w.process("api")
				_, err := p.engine.Signal(p.in(), engine.MessageRequest{Run: "r", ID: "m"}, "go", history.Payload(`"x"`))
				require.Error(w.t, err, "the caller dies before it has an answer")
				w.settle()
				require.Empty(w.t, w.inbox("r"),
					"a signal that was filed must be taken, though its sender died")
			})
		})
	}
}

func TestRuleMessageFirstReuse(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		hold := w.plan(fault{kind: pause, op: "summary", role: "api"})
		w.plan(fault{kind: crashAfter, op: "put", role: "api"})
		failed := make(chan error)
		go func() {
			p := w.process("api")
			_, _, err := p.engine.Start(p.in(), engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("5"), Reuse: true})
			failed <- err
		}()
		w.settle() // the start that it tried first has found nothing to do
		hold.release()
		require.Error(w.t, <-failed, "the caller dies before it has an answer")
		w.ends("10")
		require.Equal(w.t, 2, w.summary("r").Generation, "the id must be used again once")
	})
}

// TestRuleCreated: a start created its run, too, if the receiver of its message put it first. No
// other start did.
func TestRuleCreated(t *testing.T) {
	for name, c := range map[string]struct {
		request engine.StartRequest
		before  func(w *world)
		puts    string // the call with which the caller is slow
	}{
		"an id that the caller gives": {engine.StartRequest{Run: "r"}, nil, "create"},
		"an id that the server makes": {engine.StartRequest{}, nil, "create"},
		"an id that was used before": {engine.StartRequest{Run: "r", Reuse: true},
			func(w *world) { w.start("r", "main", "1") }, "put"},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, oneActivity, func(w *world) {
				c.request.Workflow, c.request.Input = "main", history.Payload("5")
				if c.before != nil {
					c.before(w)
					w.settle()
				}
				hold := w.plan(fault{kind: pause, op: c.puts, role: "api"})
				type answer struct {
					summary *port.Summary
					created bool
					err     error
				}
				answered := make(chan answer)
				go func() {
					p := w.process("api")
					summary, created, err := p.engine.Start(p.in(), c.request)
					answered <- answer{summary, created, err}
				}()
				w.settle() // its message is faster
				require.True(w.t, hold.hit,
					"the planned fault must have happened, or this test shows nothing")
				hold.release()
				first := <-answered
				require.NoError(w.t, first.err, "the start must be answered")
				require.True(w.t, first.created,
					"the start that created the run must say so, though the receiver of its message was faster")
				c.request.Run, c.request.Reuse = first.summary.Run, false
				created, err := w.tryStart(c.request)
				require.NoError(w.t, err)
				require.False(w.t, created, "the same start, asked for again")
			})
		})
	}
}

// TestRuleCreatedOnce: of five callers that start a run at one time, one learns that it created it.
func TestRuleCreatedOnce(t *testing.T) {
	inBoth(t, oneActivity, func(w *world) {
		for _, reuse := range []bool{false, true} {
			request := engine.StartRequest{Run: "r", Workflow: "main", Reuse: reuse}
			request.Input = history.Payload("1")
			answers := make(chan bool)
			const many = 5
			for range many {
				p := w.newProcess("api")
				if w.together {
					p = w.process("api")
				}
				go func() {
					_, created, err := p.engine.Start(p.in(), request)
					answers <- created && err == nil
				}()
			}
			creators := 0
			for range many {
				if <-answers {
					creators++
				}
			}
			require.Equal(w.t, 1, creators,
				"one caller alone must learn that its start created the run")
			w.settle()
		}
	})
}

// TestRuleAnswerTravels: an activity that has run does not run again because the table does not take its
// answer, or because what is known of the activity is not deleted.
func TestRuleAnswerTravels(t *testing.T) {
	define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		return workflow.Execute(ctx, callDouble.With(activity.Options{Heartbeat: time.Minute}), n)
	})
	for _, op := range []string{"file", "delete-task"} {
		for _, kind := range []kind{failBefore, loseAnswer} {
			t.Run(fmt.Sprint(op, " ", kind), func(t *testing.T) {
				simulate(t, define, func(w *world) {
					w.plan(fault{kind: kind, op: op, role: "task", always: true})
					w.start("r", "main", "1")
					w.ends("2")
					require.Equal(w.t, 1, w.ran["r/1/activity-0"])
					states, err := w.store.TasksOf(w.t.Context(), "r")
					require.NoError(w.t, err)
					require.Empty(w.t, states)
				})
			})
		}
	}
}

// TestRuleAnswerTravelsAttempt: an attempt that has failed does not run again as the same attempt because
// the table does not take what is known of it.
func TestRuleAnswerTravelsAttempt(t *testing.T) {
	for _, op := range []string{"load-task", "save-task"} {
		for _, kind := range []kind{failBefore, loseAnswer} {
			t.Run(fmt.Sprint(op, " ", kind), func(t *testing.T) {
				var attempts []int
				failsOnce := activity.New("fails-once", func(ctx context.Context, n int) (int, error) {
					attempts = append(attempts, activity.InfoOf(ctx).Attempt)
					if len(attempts) == 1 {
						return 0, errors.New("not yet")
					}
					return 2 * n, nil
				})
				define := func(*world) []workflow.Definition {
					return []workflow.Definition{failsOnce, workflow.New("main", func(ctx workflow.Context, n int) (int, error) {
						return workflow.Execute(ctx, failsOnce, n)
					})}
				}
				simulate(t, define, func(w *world) {
					w.plan(fault{kind: kind, op: op, role: "task"})
					w.start("r", "main", "1")
					w.ends("2")
					require.Equal(w.t, []int{1, 2}, attempts)
				})
			})
		}
	}
}

func TestRuleResumeAgain(t *testing.T) {
	t.Run("result", func(t *testing.T) {
		simulate(t, oneActivity, func(w *world) {
			w.plan(fault{kind: crashAfter, op: "file", role: "task"})
			w.start("r", "main", "1")
			w.ends("2")
		})
	})
	t.Run("start", func(t *testing.T) {
		simulateAs(t, true, oneActivity, func(w *world) {
			w.plan(fault{kind: loseAnswer, op: "create"})
			w.start("r", "main", "1")
			w.ends("2")
		})
	})
	t.Run("child", func(t *testing.T) {
		simulate(t, oneChild, func(w *world) {
			w.plan(fault{kind: crashAfter, op: "create", subject: "r.1.0"})
			w.start("r", "main", "1")
			w.ends("3")
		})
	})
}

func TestRuleFileFirst(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		w.start("r", "main", "3")
		w.ends("3")
	})
}

func TestRuleFinish(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		w.plan(fault{kind: crashAfter, op: "put"})
		w.start("r", "main", "1")
		w.ends("2")
	})
}

func TestRulePatience(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		l := w.begun("1")
		hold := w.plan(fault{kind: pause, op: "send-tasks"})
		first := w.deliver(w.activator(), l)
		require.True(w.t, hold.hit,
			"the planned fault must have happened, or this test shows nothing")
		require.NoError(w.t, w.deliver(w.activator(), look("r")).wait(),
			"the message must be acknowledged")
		require.Equal(w.t, []string{"start#1"}, w.inbox("r"), "it belongs to the author that is at it")
		hold.release()
		require.NoError(w.t, first.wait(), "the message must be acknowledged")
		w.settle()
		w.once()
		w.ends("2")
	})
}

func TestRuleResumeLater(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		l := w.begun("1")
		w.plan(fault{kind: crashBefore, op: "send-tasks"})
		require.Error(w.t, w.deliver(w.activator(), l).wait(),
			"the message must come again: its handler died")
		require.NoError(w.t, w.deliver(w.activator(), l).wait(), "the same message, received twice, is acknowledged")
		w.ends("2")
	})
}

func TestRuleFinishFirst(t *testing.T) {
	simulate(t, twoStarted, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.plan(fault{kind: crashBefore, op: "send-tasks"})
		require.Error(w.t, w.deliver(w.activator(), w.filed("m1", `"1"`)).wait(),
			"the message must come again: its handler died")
		w.pass(2 * time.Minute)
		second := w.filed("m2", `"2"`)
		w.plan(fault{kind: crashAfter, op: "put"})
		require.Error(w.t, w.deliver(w.activator(), second).wait(),
			"the message must come again: its handler died")
		w.put(second)
		w.ends("2")
	})
}

func TestRuleNameAgain(t *testing.T) {
	simulate(t, twoStarted, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.plan(fault{kind: crashBefore, op: "send-tasks"})
		require.Error(w.t, w.deliver(w.activator(), w.filed("m1", `"1"`)).wait(),
			"the message must come again: its handler died")
		w.pass(2 * time.Minute)
		require.NoError(w.t, w.deliver(w.activator(), w.filed("m2", `"2"`)).wait(),
			"the message must be acknowledged")
		last := w.log("r", 1)[2]
		require.Len(w.t, last.Again, 1,
			"the record that takes over the step must name the item of the expired author")
		require.Equal(w.t, "mail#m1#signal#go", last.Again[0].Key,
			"the record must name the item that the expired author took")
		w.ends("2")
	})
}

func TestRuleTakeover(t *testing.T) {
	simulate(t, oneStep, func(w *world) {
		w.plan(fault{kind: crashAfter, op: "put"})
		require.Error(w.t, w.deliver(w.activator(), w.begun("1")).wait(),
			"the message must come again: its handler died")
		w.pass(2 * time.Minute)
		one, two := w.plan(fault{kind: pause, op: "put"}), w.plan(fault{kind: pause, op: "put", nth: 1})
		a := w.deliver(w.activator(), look("r"))
		b := w.deliver(w.activator(), look("r"))
		one.release()
		two.release()
		require.NoError(w.t, a.wait(), "the message must be acknowledged")
		require.NoError(w.t, b.wait(), "the message must be acknowledged")
		w.ends("1")
	})
}

func TestRuleDeadline(t *testing.T) {
	simulate(t, oneStep, func(w *world) {
		a := w.deliver(w.activator(), w.begun("1"))
		require.NoError(w.t, elapse(w.t.Context(), 10*time.Second))
		require.NoError(w.t, w.deliver(w.activator(), look("r")).wait(),
			"the message must be acknowledged")
		require.NoError(w.t, a.wait(), "the message must be acknowledged")
		w.settle()
		w.once()
		w.ends("1")
	})
}

func TestRuleOneFiling(t *testing.T) {
	simulate(t, twoStarted, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		hold := w.plan(fault{kind: pause, op: "file", role: "api"})
		accepted := make(chan error)
		go func() {
			p := w.process("api")
			_, err := p.engine.Signal(p.in(), engine.MessageRequest{Run: "r", ID: "m1"}, "go", history.Payload(`"1"`))
			accepted <- err
		}()
		synctest.Wait()
		p := w.activator()
		require.NoError(w.t, w.deliver(p, w.takeOne("resume r with mail#m1")).wait(),
			"the message must be acknowledged")
		hold.release()
		require.NoError(w.t, <-accepted, "the signal must be accepted")
		require.Equal(w.t, []string{"mail#m1"}, w.inbox("r"), "filed again, after it was taken and deleted")
		task := w.takeOne("task r/1/0 attempt 1")
		w.pass(2 * time.Minute)
		for _, by := range []*process{p, w.activator()} { // with its run in memory, and without
			require.NoError(w.t, w.deliver(by, look("r")).wait(),
				"the message must be acknowledged")
		}
		require.Empty(w.t, w.inbox("r"), "what the log took in another filing must be deleted")
		w.once()
		w.put(task)
		w.signal("r", "m2", "go", `"2"`)
		w.ends("2")
	})
}

// TestRuleMark: in one process, who takes up a step after a restart has an item in its name, also if it tries twice in one instant.
func TestRuleMark(t *testing.T) {
	simulateAs(t, true, only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
		if _, err := workflow.Execute(ctx, callDouble, n); err != nil { // its answer dies with the process
			return 0, err
		}
		return w.step(ctx, "a", 20*time.Second, 1)
	}), func(w *world) {
		w.start("r", "main", "1")
		require.NoError(w.t, w.deliver(w.process("node"), w.takeOne("resume r")).wait(),
			"the message must be acknowledged")
		require.NoError(w.t, w.deliver(w.process("node"), w.takeOne("task r/1/0 attempt 1")).wait(),
			"the message must be acknowledged")
		w.plan(fault{kind: crashAfter, op: "put"})
		require.Error(w.t, w.deliver(w.process("node"), w.takeOne("resume r")).wait(),
			"the message must come again: its handler died")
		require.True(w.t, w.restart(), "the process must have died and started again")
		again := w.takeOne("resume r")
		w.plan(fault{kind: failBefore, op: "put"})
		require.Error(w.t, w.deliver(w.process("node"), again).wait(),
			"the message must come again: its handler died")
		w.deliver(w.process("node"), again) // its step runs
		records := w.log("r", 1)
		marks := records[len(records)-1].Again
		require.Len(w.t, marks, 1,
			"a record that takes up a step must name a marker of unfinished work")
		view, err := w.store.Look(w.t.Context(), "r", port.Position{})
		require.NoError(w.t, err)
		require.True(w.t, slices.ContainsFunc(view.Inbox, func(item port.Item) bool {
			return item.Key == marks[0].Key && item.Event.Filing() == marks[0].Filing
		}), "%v is not in the inbox: %v", marks[0], view.Inbox)
		w.ends("1")
	})
}

// parting starts a child that only a request to cancel ends, and goes on as new when its activity has answered.
func parting(_ *world, ctx workflow.Context, n int) (int, error) {
	if workflow.InfoOf(ctx).Generation > 1 {
		return n, nil
	}
	workflow.StartChild(ctx, patient, 0)
	if _, err := workflow.Execute(ctx, callDouble, n); err != nil {
		return 0, err
	}
	return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n)
}

var patient = workflow.New("patient", func(ctx workflow.Context, _ int) (string, error) { return workflow.AwaitSignal(ctx, goSignal) })

func withPatient(define func(w *world) []workflow.Definition) func(w *world) []workflow.Definition {
	return func(w *world) []workflow.Definition { return append(define(w), patient) }
}

func TestRuleLookback(t *testing.T) {
	simulate(t, withPatient(only("main", parting)), func(w *world) {
		w.plan(fault{kind: crashAfter, op: "put", subject: "r", nth: 2})
		w.start("r", "main", "1")
		w.ends("1")
		require.Equal(w.t, history.Cancelled, w.summary("r.1.0").Status,
			"the child that the expired author was to start must be started, and told")
	})
}

func TestRuleCarryIds(t *testing.T) {
	simulate(t, only("main", collect), func(w *world) {
		w.start("r", "main", `""`)
		w.signal("r", "m1", "go", `"a"`)
		w.settle()
		w.signal("r", "m1", "go", `"a"`)
		w.settle()
		w.signal("r", "m2", "go", `"b"`)
		w.settle()
		w.signal("r", "m1", "go", `"a"`)
		w.settle()
		w.signal("r", "m3", "go", `"c"`)
		w.ends(`"abc2"`)
	})
}

func TestRuleCarrySignals(t *testing.T) {
	simulate(t, only("main", collect), func(w *world) {
		w.start("r", "main", `""`)
		for i, input := range []string{`"a"`, `"b"`, `"c"`} {
			w.signal("r", fmt.Sprint("m", i), "go", input)
		}
		w.ends(`"abc2"`)
	})
}

func TestRuleDeleteLast(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		w.plan(fault{kind: crashBefore, op: "send-tasks"})
		w.start("r", "main", "1")
		w.ends("2")
	})
}

func TestRuleAcknowledgeLast(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		w.plan(fault{kind: failBefore, op: "send-tasks"})
		w.start("r", "main", "1")
		w.ends("2")
	})
}

func TestRuleHandOver(t *testing.T) {
	define := only("main", func(w *world, ctx workflow.Context, n int) (int, error) {
		if _, err := w.step(ctx, "long", 7*time.Second, 1); err != nil {
			return 0, err
		}
		started := workflow.Start(ctx, callDouble, n)
		if _, err := w.step(ctx, "a", time.Second, 1); err != nil {
			return 0, err
		}
		return started.Await(ctx)
	})
	simulate(t, define, func(w *world) {
		w.lifetime = func(number int) time.Duration {
			if number == 1 {
				return 10 * time.Second // of which the second step finds too little
			}
			return time.Minute
		}
		require.NoError(w.t, w.deliver(w.activator(), w.begun("1")).wait(),
			"the message must be acknowledged")
		task := w.takeOne("task r/1/1 attempt 1")
		w.pass(2 * time.Minute)
		require.Empty(w.t, w.inbox("r"), "the items of the author that handed over must be deleted")
		w.once()
		w.put(task)
		w.ends("2")
	})
}

func TestRuleDeadFiles(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		w.start("r", "main", "3")
		w.pass(time.Second)
		p := w.process("deadletter")
		require.NoError(w.t, p.engine.DeadResume(p.in(), w.takeOne("resume r with fired#1#0").carried()))
		require.NotNil(w.t, w.summary("r").Blocked,
			"a run whose resume was received too often must be blocked")
		require.Equal(w.t, port.ReasonUndeliverable, w.summary("r").Blocked.Reason,
			"the block must say that a resume was received too often")
		w.unblock("r")
		w.ends("3")
	})
}

func TestRuleBlockClosed(t *testing.T) {
	simulate(t, oneChild, func(w *world) {
		w.plan(fault{kind: crashAfter, op: "put", subject: "r.1.0", nth: 3})
		w.start("r", "main", "1")
		w.pass(2 * time.Second)
		require.True(w.t, w.summary("r.1.0").Status.Closed(),
			"the child must have ended before its message dies")
		require.NotEmpty(w.t, w.take(""), "the resumes that the child sent must be lost")
		p := w.process("deadletter")
		require.NoError(w.t, p.engine.DeadResume(p.in(), look("r.1.0").carried()))
		require.NotNil(w.t, w.summary("r.1.0").Blocked,
			"a closed run with items in its inbox must be blocked, too")
		w.unblock("r.1.0")
		w.ends("3")
	})
}

// blocked gives a world with a run that a dead message has blocked, with the signal that it waits for in its inbox.
func (w *world) blocked() {
	w.t.Helper()
	w.start("r", "main", "1")
	w.settle()
	p := w.process("deadletter")
	require.NoError(w.t, p.engine.DeadResume(p.in(), w.filed("m", `"x"`).carried()))
	require.NotNil(w.t, w.summary("r").Blocked,
		"a run whose resume was received too often must be blocked")
}

func TestRuleUnblockByMessage(t *testing.T) {
	for n := 1; n <= 2; n++ {
		simulate(t, oneSignal, func(w *world) {
			w.blocked()
			w.plan(fault{kind: crashAfter, role: "api", nth: n})
			p := w.process("api")
			require.Error(w.t, p.engine.Unblock(p.in(), "r"),
				"the operator dies in the middle of the unblock")
			w.settle()
			if w.summary("r").Blocked != nil { // it died before it said anything
				w.unblock("r")
			}
			w.ends(`"x"`)
		})
	}
}

// TestRuleUnblockNames: a message that takes off a mark passes for undeliverable while its handler lives. For that the run is marked with
// another mark, which the handler leaves: it may die, and nobody else would come.
func TestRuleUnblockNames(t *testing.T) {
	for name, begin := range map[string]func(w *world){
		"what waits": func(w *world) { w.blocked() },
		"what arrives later": func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			require.NoError(w.t,
				w.store.Block(w.t.Context(), "r",
					&port.Block{ID: "mark", Reason: port.ReasonActivation}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, oneSignal, func(w *world) {
				begin(w)
				w.unblock("r")
				message := w.takeOne("unblock r")
				p := w.process("deadletter")
				require.NoError(w.t, p.engine.DeadResume(p.in(), message.carried()))
				w.signal("r", "m", "go", `"x"`)
				w.settle()
				w.plan(fault{kind: crashBefore, op: "look", subject: "r"})
				<-w.deliver(w.process("activate"), message).done
				require.NotNil(w.t, w.summary("r").Blocked,
					"a run whose resume was received too often must be blocked")
				w.unblock("r")
				w.ends(`"x"`)
			})
		})
	}
}

func TestRuleClearFirst(t *testing.T) {
	simulate(t, oneSignal, func(w *world) {
		w.blocked()
		w.settle()
		require.NotNil(w.t, w.summary("r").Blocked, "everything stays where it is")
		w.unblock("r")
		w.ends(`"x"`)
	})
}

func (w *world) rebuild() {
	w.t.Helper()
	p := w.process("api")
	_, err := p.engine.Rebuild(p.in())
	require.NoError(w.t, err)
}

func TestRuleRebuildSends(t *testing.T) {
	define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		activity, timer, child := workflow.Start(ctx, callDouble, n), workflow.Timer(ctx, 3*time.Minute), workflow.StartChild(ctx, leafChild, n)
		_, err := workflow.Race(ctx, timer)
		if err != nil {
			return 0, err
		}
		both, err := workflow.All(ctx, activity, child)
		return len(both), err
	})
	simulate(t, define, func(w *world) {
		require.NoError(w.t, w.deliver(w.activator(), w.begun("1")).wait(),
			"the message must be acknowledged")
		require.Len(w.t, w.take(""), 3,
			"a task, a child and a timer must have been sent, and are lost")
		w.rebuild()
		w.ends("2")
	})
}

// TestRuleResentOnce: in one process, the rebuild sends a pending activity. The author that
// finishes the work of the dead one does not send it, too.
func TestRuleResentOnce(t *testing.T) {
	simulateAs(t, true, oneActivity, func(w *world) {
		w.plan(fault{kind: crashBefore, op: "send-tasks"})
		w.start("r", "main", "1")
		w.settle()
		w.ends("2")
		require.Len(w.t, w.ran, 1)
		for what, times := range w.ran {
			require.Equal(w.t, 1, times, "times that %q was executed", what)
		}
	})
}

func TestRuleRebuildClosed(t *testing.T) {
	simulate(t, oneChild, func(w *world) {
		w.plan(fault{kind: crashAfter, op: "put", subject: "r.1.0", nth: 3})
		w.start("r", "main", "1")
		w.pass(2 * time.Second)
		w.take("")
		require.Equal(w.t, history.Completed, w.summary("r.1.0").Status,
			"the child must have ended before the queues are lost")
		require.NotEmpty(w.t, w.inbox("r.1.0"),
			"the child's inbox must still hold what its author did not finish")
		p := w.process("api")
		_, err := p.engine.Rebuild(p.in())
		require.NoError(w.t, err)
		resumed := w.take("resume r.1.0")
		require.NotEmpty(w.t, resumed, "a rebuild must resume the closed child")
		w.put(resumed...)
		w.ends("3")
	})
}

func TestRuleRoute(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		w.plan(fault{kind: crashBefore, op: "put-due"})
		require.Error(w.t, w.deliver(w.activator(), w.begun("20")).wait(),
			"the message must come again: its handler died")
		w.pass(10 * time.Minute)
		require.NoError(w.t, w.deliver(w.activator(), look("r")).wait(),
			"the message must be acknowledged")
		require.Equal(w.t, 1, w.sent["resume r with fired#1#0"], "what is due within 15 minutes goes to the queue")
		w.ends("20")
	})
}

func TestRuleCursor(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		require.NoError(w.t, w.deliver(w.activator(), w.begun("20")).wait(),
			"the message must be acknowledged")
		require.NoError(w.t, elapse(w.t.Context(), 3*time.Hour)) // functions/timer does not run meanwhile
		w.fireDue()
		w.ends("20")
		require.Equal(w.t, 1, w.sent["resume r with fired#1#0"],
			"a bucket that an outage left behind must be fired")
	})
}

func TestRuleSendFirst(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		w.plan(fault{kind: crashAfter, role: "timer", nth: 2})
		w.start("r", "main", "20")
		w.ends("20")
	})
}

// TestRuleOneRecord: the put is conditional. Of two handlers at once, one loses, looks again, and takes only what is still news.
func TestRuleOneRecord(t *testing.T) {
	simulate(t, twoStarted, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		one, two := w.filed("m1", `"1"`), w.filed("m2", `"2"`)
		first, second := w.plan(fault{kind: pause, op: "put"}), w.plan(fault{kind: pause, op: "put"})
		a, b := w.deliver(w.activator(), one), w.deliver(w.activator(), two)
		require.True(w.t, first.hit,
			"the planned fault must have happened, or this test shows nothing")
		require.True(w.t, second.hit,
			"the planned fault must have happened, or this test shows nothing")
		second.release()
		require.NoError(w.t, b.wait(), "the message must be acknowledged")
		first.release()
		require.NoError(w.t, a.wait(), "the message must be acknowledged")
		w.settle()
		w.once()
		require.Equal(w.t, []string{`"1"`, `"2"`}, w.signals("r"),
			"both signals must be in the log, once each")
		w.ends("2")
	})
}

// TestRuleOwnRecord: who hears that the place of a record is taken knows the record as its own, and goes on from it.
func TestRuleOwnRecord(t *testing.T) {
	for _, s := range scenarios() {
		for nth := 1; nth <= 6; nth++ {
			simulate(t, s.define, func(w *world) {
				w.plan(fault{kind: takenAfter, op: "put", nth: nth})
				s.play(w)
				w.once()
				s.check(w)
			})
		}
	}
}

// TestRuleTimeGoesOn: the time that a run sees never goes back, whatever the clocks of its handlers say.
func TestRuleTimeGoesOn(t *testing.T) {
	simulate(t, twoStarted, func(w *world) {
		fast, slow := w.activator(), w.activator()
		fast.clock.off, slow.clock.off = 30*time.Second, -30*time.Second
		require.NoError(w.t, w.deliver(fast, w.begun("1")).wait(),
			"the message must be acknowledged")
		require.NoError(w.t, w.deliver(slow, w.filed("m1", `"1"`)).wait(),
			"the message must be acknowledged")
		fast.dead = true
		w.signal("r", "m2", "go", `"2"`)
		w.ends("2")
	})
	simulate(t, oneSignal, func(w *world) { // terminated by code or by hand
		fast, slow := w.activator(), w.activator()
		fast.clock.off, slow.clock.off = 30*time.Second, -30*time.Second
		require.NoError(w.t, w.deliver(fast, w.begun("1")).wait(),
			"the message must be acknowledged")
		require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
			_, err := e.Terminate(ctx, engine.MessageRequest{Run: "r", ID: "t"}, "")
			return err
		}))
		require.NoError(w.t, w.deliver(slow, w.takeOne("resume r with mail#t")).wait(),
			"the message must be acknowledged")
		w.settle()
		w.finished()
	})
}

// TestRuleStamps: one sender's mail counts in its order, though a later one was stamped by a clock that is behind.
func TestRuleStamps(t *testing.T) {
	simulate(t, only("main", twoSignals), func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		fast, slow := w.newProcess("api"), w.newProcess("api")
		fast.clock.off, slow.clock.off = 30*time.Second, -30*time.Second
		first, err := fast.engine.Signal(fast.in(), engine.MessageRequest{Run: "r", ID: "m1"}, "go", history.Payload(`"a"`))
		require.NoError(w.t, err)
		second, err := slow.engine.Signal(slow.in(), engine.MessageRequest{Run: "r", ID: "m2", After: first.Stamp}, "go", history.Payload(`"b"`))
		require.NoError(w.t, err)
		require.Greater(w.t, second.Stamp, first.Stamp,
			"a later message of a sender must have a later stamp")
		letters := w.take("")
		slices.Reverse(letters)
		w.put(letters...)
		w.ends(`"ab"`)
	})
}

// TestRuleLongTimers: a timer of more than 15 minutes waits in a bucket, page after page, and fires once.
func TestRuleLongTimers(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		for i := range 5 {
			w.start(fmt.Sprint("r", i), "main", fmt.Sprint(20*(i+1)))
		}
		w.settle()
		w.once()
		w.finished()
	})
}
