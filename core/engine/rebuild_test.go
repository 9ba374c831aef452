package engine_test

import (
	"context"
	"fmt"
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

// lostRuns starts runs of which the queues are lost before anybody has looked at them.
func (w *world) lostRuns(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		w.start(id, "main", "1")
	}
	require.Len(w.t, w.take(""), len(ids))
}

// pages rebuilds page by page, each in a time of its own; zero: there is no limit.
func (w *world) pages(within time.Duration) (all []engine.Rebuilt) {
	w.t.Helper()
	p := w.process("api")
	for cursor := ""; ; {
		ctx, stop := p.in(), func() {}
		if within > 0 {
			ctx, stop = context.WithTimeout(ctx, within)
		}
		page, next, err := p.engine.RebuildPage(ctx, cursor)
		stop()
		require.NoError(w.t, err)
		all = append(all, page)
		if cursor = next; next == "" {
			return all
		}
	}
}

func TestRebuildPages(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		var ids []string
		for i := range 250 { // a store's page has 100
			ids = append(ids, fmt.Sprint("run-", i))
		}
		w.lostRuns(ids...)
		require.Equal(w.t, []engine.Rebuilt{{Open: 100}, {Open: 100}, {Open: 50}}, w.pages(0))
		w.settle()
		for _, id := range ids {
			require.Equal(w.t, history.Completed, w.summary(id).Status)
		}
		require.Equal(w.t, []engine.Rebuilt{{}}, w.pages(0))
	})
}

func TestRebuildInLittleTime(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		w.lostRuns("a", "b", "c")
		require.Equal(w.t, []engine.Rebuilt{{Open: 1}, {Open: 1}, {Open: 1}}, w.pages(2*time.Second), "one at least, so that it comes to an end")
		require.Len(w.t, w.take("resume b"), 1)
		w.settle()
		require.Equal(w.t, history.Completed, w.summary("a").Status)
		require.Equal(w.t, history.Running, w.summary("b").Status)
		require.Equal(w.t, []engine.Rebuilt{{Open: 1}}, w.pages(time.Minute))
		w.settle()
		require.Equal(w.t, history.Completed, w.summary("b").Status)
	})
}

func TestRebuildGoesOnAfterAnError(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		w.lostRuns("a", "b", "c")
		w.plan(fault{kind: failBefore, op: "look", subject: "b"})
		p := w.process("api")
		_, _, err := p.engine.RebuildPage(p.in(), "")
		require.Equal(w.t, port.Unavailable, port.CodeOf(err))
		require.ErrorContains(w.t, err, `run "b" was not rebuilt`)
		require.Equal(w.t, []engine.Rebuilt{{Open: 3}}, w.pages(0))

		done, next, err := p.engine.RebuildPage(p.in(), "b#")
		require.NoError(w.t, err)
		require.Equal(w.t, engine.Rebuilt{Open: 1}, done)
		require.Empty(w.t, next)
		done, _, err = p.engine.RebuildPage(p.in(), "a run that has ended since#")
		require.NoError(w.t, err)
		require.Equal(w.t, engine.Rebuilt{Open: 3}, done, "where its place is not known any more, the page is done again")
		_, _, err = p.engine.RebuildPage(p.in(), "b")
		require.Equal(w.t, port.Invalid, port.CodeOf(err))
		w.settle()
	})
}

// TestRebuildManyAtATime: one run whose read takes long does not delay the others; and a call with time left goes on to the
// store's next page.
func TestRebuildManyAtATime(t *testing.T) {
	simulate(t, oneActivity, func(w *world) {
		var ids []string
		for i := range 250 { // a store's page has 100
			ids = append(ids, fmt.Sprintf("run-%03d", i))
		}
		w.lostRuns(ids...)
		slow := w.plan(fault{kind: pause, op: "look", subject: "run-100"})
		done := make(chan []engine.Rebuilt, 1)
		go func() { done <- w.pages(time.Minute) }()
		synctest.Wait()
		require.Len(w.t, w.take(""), 199, "all of two pages but the slow one")
		slow.release()
		require.Equal(w.t, []engine.Rebuilt{{Open: 250}}, <-done)
		w.settle()
		require.Equal(w.t, history.Completed, w.summary("run-249").Status)
	})
}

// TestLongTimersOfARunAreStoredTogether: a run with many long timers begins, and is rebuilt, with one
// call of the store, not with one for each timer.
func TestLongTimersOfARunAreStoredTogether(t *testing.T) {
	define := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		timers := make([]workflow.Future[struct{}], n)
		for i := range timers {
			timers[i] = workflow.Timer(ctx, time.Hour)
		}
		_, err := workflow.All(ctx, timers...)
		return n, err
	})
	simulateAs(t, true, define, func(w *world) {
		calls := func() int {
			return len(slices.DeleteFunc(slices.Clone(w.journal), func(line string) bool { return !strings.Contains(line, " put-due ") }))
		}
		w.start("r", "main", "100")
		w.pass(time.Second)
		require.Equal(w.t, 1, calls())
		w.locked(func() { w.kill(w.processes[0]) })
		w.pass(time.Second)
		require.Equal(w.t, 2, calls())
		w.ends("100")
	})
}

// TestARebuildMeetsTheEndOfARun: a rebuild reads that a run is open; the run ends; then the rebuild
// reads the log. The child that the last record asks for never begins.
func TestARebuildMeetsTheEndOfARun(t *testing.T) {
	leaves := only("main", func(_ *world, ctx workflow.Context, n int) (int, error) {
		_, err := workflow.AwaitSignal(ctx, goSignal)
		workflow.StartChild(ctx, leafChild, n)
		return n, err
	})
	simulate(t, leaves, func(w *world) {
		w.start("r", "main", "1")
		w.settle()
		goOn := w.tear()
		p, done := w.process("api"), make(chan error)
		go func() {
			_, err := p.engine.Rebuild(p.in())
			done <- err
		}()
		synctest.Wait()
		require.NoError(w.t, w.deliver(w.activator(), w.filed("m1", `"a"`)).wait())
		goOn()
		require.NoError(w.t, <-done)
		w.settle()
		require.Equal(w.t, []string{"r"}, w.runs())
		w.finished()
	})
}
