package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// slow keeps its turn for as many milliseconds as it is given, and then is done.
func slow(_ *world, _ workflow.Context, milliseconds int) (int, error) {
	<-time.After(time.Duration(milliseconds) * time.Millisecond)
	return milliseconds, nil
}

// A process that was stopped, or a machine that slept: a clock goes on, and the code does not.
func TestTimeInWhichNothingRanIsNoTurn(t *testing.T) {
	simulate(t, only("main", slow), func(w *world) {
		p := w.activator()
		w.start("first", "main", "1500")
		w.start("r", "main", "4500")
		first := w.deliver(p, w.takeOne("resume first with start#1"))
		<-time.After(time.Second)
		second := w.deliver(p, w.takeOne("resume r with start#1"))
		<-time.After(2 * time.Second)
		p.clock.off = time.Hour
		require.NoError(w.t, first.wait())
		require.NoError(w.t, second.wait())
		require.Nil(w.t, w.summary("r").Blocked)
		w.ends("4500")
	})
}

// long has a log of several of a store's pages, and waits.
func long(_ *world, ctx workflow.Context, _ int) (string, error) {
	for range 3 {
		if _, err := workflow.Step(ctx, "write", func(context.Context) (string, error) { return strings.Repeat("x", 600<<10), nil }); err != nil {
			return "", err
		}
	}
	return workflow.AwaitSignal(ctx, goSignal)
}

// A disk may take longer for a page of a log than code may keep its turn.
func TestASlowStoreIsNoTurn(t *testing.T) {
	simulate(t, only("main", long), func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		slow := w.plan(fault{kind: pause, op: "records", subject: "r"})
		d := w.deliver(w.activator(), w.filed("m", `"x"`))
		<-time.After(20 * time.Second)
		require.True(w.t, slow.hit, "it reads the log page by page")
		slow.release()
		require.NoError(w.t, d.wait())
		w.ends(`"x"`)
	})
}

// Where more activations compute than there are processors, each gets a part of their time.
func TestManyThatComputeHaveMoreTime(t *testing.T) {
	simulate(t, only("main", slow), func(w *world) {
		p, many := w.activator(), 4*runtime.GOMAXPROCS(0)
		var all []*delivery
		for i := range many {
			run := fmt.Sprint("r", i)
			w.start(run, "main", "15000")
			all = append(all, w.deliver(p, w.takeOne("resume "+run+" with start#1")))
		}
		for _, d := range all {
			require.NoError(w.t, d.wait())
		}
		for i := range many {
			require.Nil(w.t, w.summary(fmt.Sprint("r", i)).Blocked)
		}
	})
}

func TestStuckForAsLongAsItMay(t *testing.T) {
	simulate(t, only("main", slow), func(w *world) {
		w.start("r", "main", "4900")
		w.ends("4900")
	})
	simulate(t, only("main", slow), func(w *world) {
		w.start("r", "main", "5600")
		w.isBlocked(port.ReasonStuck, "guard_test.go")
	})
}
