package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// conflicts sends another signal of the id m.
func (w *world) conflicts() {
	w.t.Helper()
	_, err := w.send("m", "go", `"b"`)
	w.code(port.Conflict, err)
}

// waiting starts a run that waits for two signals, and leaves the letter of the first of them.
func (w *world) waiting() *letter {
	w.t.Helper()
	w.start("r", "main", "1")
	w.settle()
	w.sends("m", "go", `"a"`)
	return w.takeOne("resume r with mail#m")
}

// TestRuleNoteFirst: the item goes once its note is there. The author of its record may
// delete it, and another invocation, if that author is dead.
func TestRuleNoteFirst(t *testing.T) {
	t.Run("the author dies", func(t *testing.T) {
		simulate(t, only("main", twoSignals), func(w *world) {
			letter := w.waiting()
			w.plan(fault{kind: crashBefore, op: "note", role: "activate"})
			require.Error(w.t, w.deliver(w.activator(), letter).wait(), "the author dies before it has noted the signal")
			w.conflicts()
			w.put(letter)
			w.settle()
			require.Empty(w.t, w.inbox("r"), "another invocation must finish the work of the author")
			w.conflicts()
			w.sends("n", "go", `"c"`)
			w.ends(`"ac"`)
		})
	})
	t.Run("the author of the generation's end dies", func(t *testing.T) {
		generations := only("main", func(_ *world, ctx workflow.Context, n int) (string, error) {
			word, err := workflow.AwaitSignal(ctx, goSignal)
			if err != nil || n == 2 {
				return word, err
			}
			return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (string, error) { return "", nil }, n+1)
		})
		simulate(t, generations, func(w *world) {
			letter := w.waiting()
			w.plan(fault{kind: crashBefore, op: "note", role: "activate"})
			require.Error(w.t, w.deliver(w.activator(), letter).wait(), "the author dies before it has noted the signal")
			w.put(letter)
			w.settle()
			require.Equal(w.t, 2, w.summary("r").Generation)
			require.Empty(w.t, w.inbox("r"), "another invocation must finish the work of the author")
			w.conflicts()
			w.sends("n", "go", `"c"`)
			w.ends(`"c"`)
		})
	})
	t.Run("a termination", func(t *testing.T) {
		simulate(t, only("main", twoSignals), func(w *world) {
			w.start("r", "main", "1")
			w.settle()
			require.NoError(w.t, w.stop("m", "enough"))
			w.plan(fault{kind: crashBefore, op: "note", role: "activate"})
			w.settle()
			w.code(port.Conflict, w.stop("m", "more than enough"))
			require.NoError(w.t, w.stop("m", "enough"), "it is the one that ended the run")
		})
	})
}

// holdsFiling sends run r the signal "go" with the id "m", and holds the sender before it files the
// signal. It gives the sender's error, and the message that is sent already.
func (w *world) holdsFiling(input string) (filing *fault, failed chan error, message *letter) {
	w.t.Helper()
	filing, failed = w.plan(fault{kind: pause, op: "file", role: "api"}), make(chan error)
	p := w.newProcess("api")
	request := engine.MessageRequest{Run: "r", ID: "m"}
	go func() {
		_, err := p.engine.Signal(p.in(), request, "go", history.Payload(input))
		failed <- err
	}()
	synctest.Wait()
	return filing, failed, w.takeOne("resume r with mail#m")
}

// TestRuleItemFirst: a sender that reads the note before the item misses a message that a record takes
// in between.
func TestRuleItemFirst(t *testing.T) {
	simulate(t, only("main", twoSignals), func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		filing, failed, late := w.holdsFiling(`"b"`)
		w.sends("m", "go", `"a"`)
		letter := w.takeOne("resume r with mail#m")
		reading := w.plan(fault{kind: pause, op: "item", role: "api"})
		filing.release() // "a" is there already
		synctest.Wait()
		require.NoError(w.t, w.deliver(w.activator(), letter).wait())
		require.Empty(w.t, w.inbox("r"))
		reading.release()
		w.code(port.Conflict, <-failed)
		w.put(late)
		w.settle()
		w.sends("n", "go", `"c"`)
		w.ends(`"ac"`)
	})
}

// TestAResetOfAnEndedRunThatIsRepeated: no record has the request, as the run had ended.
func TestAResetOfAnEndedRunThatIsRepeated(t *testing.T) {
	inBoth(t, only("main", twoSignals), func(w *world) {
		reset := func(record int) error {
			_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
				return e.Reset(ctx, engine.MessageRequest{Run: "r", ID: "x"}, engine.ResetPoint{Record: record}, "again")
			})
			return err
		}
		repeats := func() {
			w.t.Helper()
			require.NoError(w.t, reset(2))
			w.code(port.Conflict, reset(1))
		}
		w.start("r", "main", "1")
		w.settle()
		w.sends("m1", "go", `"a"`)
		w.settle()
		w.sends("m2", "go", `"b"`)
		w.ends(`"ab"`)
		require.NoError(w.t, reset(2))
		for range 5 {
			repeats()
			w.pass(time.Millisecond)
		}
		w.ends(`"ab"`)
		require.Equal(w.t, 2, w.summary("r").Generation)
		repeats()
		w.settle()
		require.Equal(w.t, 2, w.summary("r").Generation)
	})
	t.Run("before its start is recorded", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) {
			reset := func(record int) error {
				_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
					return e.Reset(ctx, engine.MessageRequest{Run: "r", ID: "x"}, engine.ResetPoint{Record: record}, "again")
				})
				return err
			}
			w.start("r", "main", "1")
			w.settle()
			w.sends("m", "go", `"a"`)
			w.ends(`"a"`)
			require.NoError(w.t, reset(1))
			w.plan(fault{kind: crashAfter, op: "delete", role: "activate"})
			_ = w.deliver(w.activator(), w.takeOne("resume r with mail#x")).wait()
			w.take("resume r")
			require.Empty(w.t, w.log("r", 2))
			require.NoError(w.t, reset(1))
			w.code(port.Conflict, reset(2))
			w.put(look("r"))
			w.ends(`"a"`)
		})
	})
}

// TestAResetThatLiesInTheInboxIsNotFiledAgain: the run was reset, and the item is still there. A
// second filing would be a reset of the next generation.
func TestAResetThatLiesInTheInboxIsNotFiledAgain(t *testing.T) {
	simulate(t, only("main", twoSignals), func(w *world) {
		reset := func() error {
			_, err := ask(w, func(ctx context.Context, e *engine.Engine) (engine.Accepted, error) {
				return e.Reset(ctx, engine.MessageRequest{Run: "r", ID: "x"}, engine.ResetPoint{Record: 2}, "again")
			})
			return err
		}
		w.start("r", "main", "1")
		w.settle()
		w.sends("m1", "go", `"a"`)
		w.settle()
		require.NoError(w.t, reset())
		noting := w.plan(fault{kind: pause, op: "note", role: "activate"})
		activation := w.deliver(w.activator(), w.takeOne("resume r with mail#x"))
		synctest.Wait()
		require.Equal(w.t, 2, w.summary("r").Generation)
		require.Len(w.t, w.inbox("r"), 2, "the reset, and the start that follows from it")
		require.NoError(w.t, reset())
		noting.release()
		require.NoError(w.t, activation.wait())
		w.settle()
		w.sends("m2", "go", `"b"`)
		w.ends(`"ab"`)
		require.Equal(w.t, 2, w.summary("r").Generation)
	})
}

// TestUniqueMessagesCostNothingMore: nothing is read or noted where no other message has the id.
func TestUniqueMessagesCostNothingMore(t *testing.T) {
	inBoth(t, oneSignal, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		w.signal("r", "m", "go", `"a"`)
		w.ends(`"a"`)
		require.False(w.t, slices.ContainsFunc(w.journal, func(line string) bool {
			return strings.Contains(line, " note") || strings.Contains(line, " item ")
		}), "%s", strings.Join(w.journal, "\n"))
	})
}

// TestAnUpdateOfALongRunIsAnsweredFromItsPlace: the search for the answer to an update that comes
// again begins at the record that took it.
func TestAnUpdateOfALongRunIsAnsweredFromItsPlace(t *testing.T) {
	counting := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		workflow.HandleUpdate(ctx, addUpdate, func(_ workflow.Context, k int) (int, error) { return n + k, nil })
		word, err := workflow.AwaitSignal(ctx, goSignal)
		if err != nil || word == "end" {
			return n, err
		}
		return workflow.ContinueAsNew(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, n+10)
	})
	simulate(t, counting, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		answer, err := w.update("u", "add", "5")
		require.NoError(w.t, err)
		require.Equal(w.t, "6", string(answer.Result))
		for _, id := range []string{"m1", "m2", "m3"} {
			w.settle()
			w.signal("r", id, "go", `"on"`)
		}
		w.settle()
		require.Equal(w.t, 4, w.summary("r").Generation)
		answer, err = w.update("u", "add", "5")
		require.NoError(w.t, err)
		require.Equal(w.t, "6", string(answer.Result))
		w.signal("r", "m4", "go", `"end"`)
		w.ends("31")
		answer, err = w.update("u", "add", "5")
		require.NoError(w.t, err)
		require.Equal(w.t, "6", string(answer.Result))
	})
}
