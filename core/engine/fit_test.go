package engine_test

import (
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

// with is definitions and some more.
func with(define func(*world) []workflow.Definition, more ...workflow.Definition) func(*world) []workflow.Definition {
	return func(w *world) []workflow.Definition { return append(define(w), more...) }
}

// refuses checks that a value was refused because of its type, and why.
func (w *world) refuses(err error, text string) {
	w.t.Helper()
	w.code(port.Invalid, err)
	require.Contains(w.t, err.Error(), text)
}

// TestStartOfAnotherType: the registered workflow's type decides, with the rules of its own decoding.
func TestStartOfAnotherType(t *testing.T) {
	type order struct{ Items int }
	main := only("main", func(_ *world, _ workflow.Context, o order) (int, error) { return o.Items, nil })
	simulate(t, main, func(w *world) {
		start := func(name, input string) error {
			_, err := w.tryStart(engine.StartRequest{Run: "r", Workflow: name, Input: history.Payload(input)})
			return err
		}
		w.refuses(start("main", `{"items":"two"}`), `the input of workflow "main" has another type: {"items":"two"} is not a engine_test.order`)
		w.refuses(start("main", `"`+strings.Repeat("x", 2<<20)+`"`), "(2097154 bytes) is not a engine_test.order")
		require.Empty(w.t, w.runs(), "nothing is stored of what was refused")
		require.NoError(w.t, start("main", `{"items":2,"unknown":true}`))
		w.ends("2")
	})
}

// TestStartOfAnotherTypeWhereItIsUnknown: a workflow that is not registered may take anything.
func TestStartOfAnotherTypeWhereItIsUnknown(t *testing.T) {
	simulate(t, oneSignal, func(w *world) {
		_, err := w.tryStart(engine.StartRequest{Run: "r", Workflow: "elsewhere", Input: history.Payload(`"text"`)})
		require.NoError(w.t, err)
		w.terminate("r", "t")
		w.settle()
	})
}

// TestSignalOfAnotherType: it is refused where the signal is registered. Workflows may have signals of
// one name and different types: then one that fits is enough.
func TestSignalOfAnotherType(t *testing.T) {
	define := with(oneSignal, goSignal, workflow.NewSignal[bool]("switch"), workflow.NewSignal[int]("switch"))
	inBoth(t, define, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		send := func(id, name, input string) error {
			_, err := w.send(id, name, input)
			return err
		}
		w.refuses(send("m1", "go", "5"), `the input of signal "go" has another type: 5 is not a string`)
		w.refuses(send("m2", "switch", `"on"`), `the input of signal "switch" has another type`)
		require.NoError(w.t, send("m3", "switch", "1"))
		require.NoError(w.t, send("m4", "switch", "true"))
		require.NoError(w.t, send("m5", "unregistered", "5"))
		require.NoError(w.t, send("m1", "go", `"a"`), "what was refused has not used its id")
		w.ends(`"a"`)
	})
}

// TestHintOfASignalThatIsNotRegistered: also where the run is not in memory, as in functions/api.
func TestHintOfASignalThatIsNotRegistered(t *testing.T) {
	hint := func(w *world) string {
		w.start("r", "main", "1")
		w.pass(0)
		defer func() {
			w.terminate("r", "t")
			w.settle()
		}()
		require.Empty(w.t, w.signal("r", "m1", "go", `"x"`).Hint)
		return w.signal("r", "m2", "gone", `"x"`).Hint
	}
	t.Run("others are", func(t *testing.T) {
		simulate(t, with(oneSignal, goSignal), func(w *world) {
			require.Contains(w.t, hint(w), `no signal "gone" is registered here; registered: go.`)
		})
	})
	t.Run("none is", func(t *testing.T) {
		simulate(t, oneSignal, func(w *world) { require.Empty(w.t, hint(w)) })
	})
}

// TestResultOfAnotherType: a completion by token that does not fit changes nothing.
func TestResultOfAnotherType(t *testing.T) {
	tokens := make(chan string, 2)
	inBoth(t, byToken(tokens, activity.Options{}), func(w *world) {
		w.start("r", "main", "1")
		w.pass(time.Second)
		token := <-tokens
		w.refuses(w.complete(token, "5", nil), `the result of activity "work" has another type: 5 is not a string`)
		require.NoError(w.t, w.complete(token, `"yes"`, nil))
		w.ends(`"yes"`)
	})
}

// whimsical is a type whose decoding panics.
type whimsical struct{}

func (*whimsical) UnmarshalJSON([]byte) error { panic("not today") }

// TestATypeThatPanics while it is decoded refuses nothing: the run's code is where that shows.
func TestATypeThatPanics(t *testing.T) {
	main := only("main", func(*world, workflow.Context, whimsical) (int, error) { return 0, nil })
	simulate(t, main, func(w *world) {
		w.start("r", "main", "1")
		w.isBlocked(port.ReasonPanic, "not today")
		w.terminate("r", "t")
		w.settle()
	})
}
