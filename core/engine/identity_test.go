package engine_test

import (
	"context"
	"strconv"
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

// What tells messages apart: kind, name and id. The callers here choose their ids.

// send sends a signal whose id its caller chose.
func (w *world) send(id, name, input string) (engine.Accepted, error) {
	w.t.Helper()
	return ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
		return e.Signal(ctx, engine.MessageRequest{Run: "r", ID: id}, name, history.Payload(input))
	})
}

func (w *world) sends(id, name, input string) {
	w.t.Helper()
	_, err := w.send(id, name, input)
	require.NoError(w.t, err)
}

func (w *world) stop(id, reason string) error {
	w.t.Helper()
	_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
		return e.Terminate(ctx, engine.MessageRequest{Run: "r", ID: id}, reason)
	})
	return err
}

// TestOneIDForMessagesOfManyKinds: the same id with another kind or name is another message.
func TestOneIDForMessagesOfManyKinds(t *testing.T) {
	collect := only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
		var taken string
		workflow.HandleUpdate(ctx, addUpdate, func(_ workflow.Context, n int) (int, error) {
			taken += "u"
			return n, nil
		})
		for _, name := range []string{"go", "stop"} {
			workflow.HandleSignal(ctx, workflow.NewSignal[string](name), func(_ workflow.Context, word string) error {
				taken += word
				return nil
			})
		}
		err := workflow.AwaitCondition(ctx, func() bool { return len(taken) == 3 })
		if err == nil {
			err = workflow.Sleep(ctx, time.Hour)
		}
		return taken, err
	})
	inBoth(t, collect, func(w *world) {
		w.start("r", "main", "1")
		w.pass(time.Minute)
		w.sends("req-7", "go", `"a"`)
		w.pass(time.Minute)
		w.sends("req-7", "stop", `"b"`)
		w.pass(time.Minute)
		answer, err := w.update("req-7", "add", "1")
		require.NoError(w.t, err)
		require.Equal(w.t, "1", string(answer.Result))
		other, err := w.update("req-7", "remove", "1")
		require.NoError(w.t, err)
		require.Equal(w.t, history.UpdateRejected, other.Phase, "the answer to the other update is not this one's")
		require.NoError(w.t, w.stop("req-7", "enough"))
		w.settle()
		require.Equal(w.t, history.Terminated, w.summary("r").Status)
		taken := 0
		for _, rec := range w.log("r", 1) {
			for _, event := range rec.Events {
				if mail, ok := event.(history.Mail); ok {
					require.Equal(w.t, "req-7", mail.MailID())
					taken++
				}
			}
		}
		require.Equal(w.t, 5, taken)
	})
}

// TestAnotherContentUnderTheSameID: it is a conflict, wherever the first message is by now; white
// space and the order of an object's members make no other content.
func TestAnotherContentUnderTheSameID(t *testing.T) {
	const first, same, other = `{"a":1,"b":[1,2]}`, `{ "b": [1, 2], "a": 1 }`, `{"a":1,"b":[2,1]}`
	generations := func(w *world) []workflow.Definition {
		return []workflow.Definition{workflow.New("main", func(ctx workflow.Context, n int) (int, error) {
			word, err := workflow.AwaitSignal(ctx, workflow.NewSignal[map[string]any]("go"))
			if err != nil || n == 3 || word["end"] != nil {
				return n, err
			}
			return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n+1)
		})}
	}
	inBoth(t, generations, func(w *world) {
		repeats := func() {
			w.t.Helper()
			w.sends("m", "go", same)
			_, err := w.send("m", "go", other)
			w.code(port.Conflict, err)
		}
		w.start("r", "main", "1")
		w.settle()
		w.sends("m", "go", first)
		repeats() // in the inbox
		w.settle()
		require.Equal(w.t, 2, w.summary("r").Generation)
		repeats() // in the log of the generation before
		w.sends("n", "go", `{"end":true}`)
		w.settle()
		repeats() // the run has ended
		require.Equal(w.t, history.Completed, w.summary("r").Status)
	})
	t.Run("in the log", func(t *testing.T) {
		simulate(t, only("main", twoSignals), func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			w.sends("m", "go", `"a"`)
			w.settle()
			w.sends("m", "go", `"a"`)
			_, err := w.send("m", "go", `"b"`)
			w.code(port.Conflict, err)
			w.sends("n", "go", `"c"`)
			w.ends(`"ac"`)
		})
	})
	t.Run("two senders at once", func(t *testing.T) {
		simulate(t, only("main", twoSignals), func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			hold, failed, late := w.holdsFiling(`"b"`)
			w.sends("m", "go", `"a"`)
			w.settle() // the log takes it, and it is deleted
			hold.release()
			w.code(port.Conflict, <-failed)
			w.put(late)
			w.settle()
			w.sends("n", "go", `"c"`)
			w.ends(`"ac"`)
		})
	})
}

// TestANewRunKnowsNoIDsOfTheFormer: the run that has an id now takes what its callers send it,
// whatever the former run took.
func TestANewRunKnowsNoIDsOfTheFormer(t *testing.T) {
	counting := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		done := false
		workflow.HandleUpdate(ctx, addUpdate, func(_ workflow.Context, k int) (int, error) {
			done = true
			return n + k, nil
		})
		return n, workflow.AwaitCondition(ctx, func() bool { return done })
	})
	inBoth(t, counting, func(w *world) {
		for run := range 3 {
			_, err := w.tryStart(engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload(strconv.Itoa(run)), Reuse: true})
			require.NoError(w.t, err)
			w.settle()
			for range 2 { // also repeated, after the end
				answer, err := w.update("u", "add", "1")
				require.NoError(w.t, err)
				require.Equal(w.t, strconv.Itoa(run+1), string(answer.Result))
			}
			require.Equal(w.t, run+1, w.summary("r").Generation)
		}
		w.finished()
	})
	t.Run("in any of its generations", func(t *testing.T) {
		simulate(t, few, func(w *world) { // it knows one message
			for range 2 {
				_, err := w.tryStart(engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload(`""`), Reuse: true})
				require.NoError(w.t, err)
				w.settle()
				var last *letter
				for _, id := range []string{"a", "b", "c", "d"} {
					if last != nil {
						w.put(last)
					}
					last = w.filed("m"+id, `"`+id+`"`)
				}
				w.put(last)
				w.ends(`"abcd"`)
			}
		})
	})
}

// TestAMessageWhoseRunHasEndedSince: an update waits for the run that it was sent to, not for the
// one that has the id since. The run ended in the activation that took the update: it is rejected.
func TestAMessageWhoseRunHasEndedSince(t *testing.T) {
	simulate(t, oneSignal, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.newProcess("api")
		answered := make(chan engine.UpdateAnswer)
		p := w.process("api")
		hold := w.plan(fault{kind: pause, op: "file", role: "api"})
		go func() {
			answer, err := p.engine.Update(p.in(), engine.MessageRequest{Run: "r", ID: "u"}, "add", history.Payload("1"))
			assert.NoError(w.t, err)
			answered <- answer
		}()
		synctest.Wait()
		w.signal("r", "m", "go", `"a"`)
		w.settle()
		w.anew()
		w.settle()
		hold.release()
		answer := <-answered
		require.Equal(w.t, history.UpdateRejected, answer.Phase)
		require.EqualError(w.t, answer.Failure, `the run ended before it handled update "add"`)
		w.signal("r", "m", "go", `"b"`)
		w.ends(`"b"`)
	})
}

// TestRepeatedAfterTheEnd: a repetition of a message that its run took has the answer of the first
// one, also if that ended the run.
func TestRepeatedAfterTheEnd(t *testing.T) {
	for name, send := range map[string]func(context.Context, *engine.Engine, engine.MessageRequest) (engine.Accepted, error){
		"a signal": func(ctx context.Context, e *engine.Engine, m engine.MessageRequest) (engine.Accepted, error) {
			return e.Signal(ctx, m, "go", history.Payload(`"x"`))
		},
		"a cancellation": func(ctx context.Context, e *engine.Engine, m engine.MessageRequest) (engine.Accepted, error) {
			return e.Cancel(ctx, m, "enough")
		},
		"a termination": func(ctx context.Context, e *engine.Engine, m engine.MessageRequest) (engine.Accepted, error) {
			return e.Terminate(ctx, m, "enough")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, oneSignal, func(w *world) {
				w.start("r", "main", "1")
				w.settle()
				for _, unique := range []bool{false, false, true} { // by a caller, and by a client that had no answer
					accepted, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
						return send(ctx, e, engine.MessageRequest{Run: "r", ID: "m", Unique: unique})
					})
					require.NoError(w.t, err)
					require.Equal(w.t, "m", accepted.ID)
					require.NotZero(w.t, accepted.Stamp)
					w.settle()
					require.True(w.t, w.summary("r").Status.Closed())
				}
				require.Len(w.t, w.log("r", 1), 2)
				_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
					return send(ctx, e, engine.MessageRequest{Run: "r", ID: "n"})
				})
				w.code(port.Closed, err)
			})
		})
	}
}

// TestAResetThatIsRepeated: at any moment it has the answer of the first one, and the run is reset
// once.
func TestAResetThatIsRepeated(t *testing.T) {
	inBoth(t, only("main", twoSignals), func(w *world) {
		reset := func(record int) error {
			_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
				return e.Reset(ctx, engine.MessageRequest{Run: "r", ID: "x"}, engine.ResetPoint{Record: record}, "again")
			})
			return err
		}
		w.start("r", "main", "1")
		w.settle()
		w.sends("m1", "go", `"a"`)
		w.settle()
		require.NoError(w.t, reset(2))
		require.NoError(w.t, reset(2), "in the inbox")
		for range 3 {
			require.NoError(w.t, reset(2), "the new generation has no such record")
			w.code(port.Conflict, reset(1))
			w.pass(time.Millisecond)
		}
		w.settle()
		require.NoError(w.t, reset(2))
		w.settle()
		require.Equal(w.t, 2, w.summary("r").Generation)
		w.sends("m2", "go", `"b"`)
		w.ends(`"ab"`)
		require.NoError(w.t, reset(2))
		w.settle()
		require.Equal(w.t, 2, w.summary("r").Generation)
	})
}

func TestIDsThatAreNotUnicode(t *testing.T) {
	simulate(t, oneSignal, func(w *world) {
		w.start("r", "main", "1")
		for _, id := range []string{"a\xff", "a\ufffd"} { // the second is what a JSON decoder makes of a lone surrogate
			_, err := w.send(id, "go", `"x"`)
			w.code(port.Invalid, err)
			_, err = w.send("m", id, `"x"`)
			w.code(port.Invalid, err)
			_, err = w.tryStart(engine.StartRequest{Run: id, Workflow: "main"})
			w.code(port.Invalid, err)
		}
		w.signal("r", "m", "go", `"a"`)
		w.ends(`"a"`)
	})
}
