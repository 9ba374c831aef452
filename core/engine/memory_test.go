package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// keeps a value, and waits for a signal.
func (s *storm) keeps(_ *world, ctx workflow.Context, value string) (int, error) {
	s.begun.Add(1)
	_, err := workflow.AwaitSignal(ctx, goSignal)
	return len(value), err
}

// large is a value of 100 KB.
var large = strings.Repeat("x", 100_000)

// TestLiveRunsAreBoundedByBytes: a thousand live runs are allowed, and the values of fifty do not
// fit.
func TestLiveRunsAreBoundedByBytes(t *testing.T) {
	s := &storm{}
	inBoth(t, only("main", s.keeps), func(w *world) {
		const runs = 50
		budget := memory.New(2_000_000)
		w.adjust = func(_ string, c *engine.Config) { c.Memory = budget }
		s.begun.Store(0)
		for i := range runs {
			w.start(fmt.Sprint("r", i), "main", `"`+large+`"`)
		}
		w.settle()
		require.LessOrEqual(w.t, budget.Used(), budget.Total(), "idle runs are evicted")
		require.Greater(w.t, budget.Used(), budget.Total()/2, "and no more of them than need be")
		require.EqualValues(w.t, runs, s.begun.Load())
		w.signal(fmt.Sprint("r", runs-1), "m", "go", `"x"`)
		w.settle()
		require.EqualValues(w.t, runs, s.begun.Load(), "the run that was used last is live")
		for i := range runs - 1 {
			w.signal(fmt.Sprint("r", i), "m", "go", `"x"`)
		}
		w.settle()
		require.Greater(w.t, s.begun.Load(), int64(runs), "others are replayed")
		for i := range runs {
			require.Equal(w.t, fmt.Sprint(len(large)), string(w.summary(fmt.Sprint("r", i)).Result))
		}
		require.Less(w.t, budget.Used(), int64(100_000), "what has ended holds next to nothing")
	})
}

// TestUnusedRunsAreEvicted: a run that waits leaves the memory, and is replayed when it is resumed.
func TestUnusedRunsAreEvicted(t *testing.T) {
	s := &storm{}
	inBoth(t, only("main", s.keeps), func(w *world) {
		budget := memory.New(2_000_000)
		w.adjust = func(_ string, c *engine.Config) { c.Memory = budget }
		s.begun.Store(0)
		w.start("r", "main", `"x"`)
		w.settle()
		var of *engine.Engine
		live := func() (runs int) {
			for _, p := range w.processes {
				if n := p.engine.LiveRuns(); n > 0 {
					runs, of = runs+n, p.engine
				}
			}
			return runs
		}
		require.Equal(w.t, 1, live())
		of.EvictUnused()
		require.Equal(w.t, 1, live(), "it was used since the last call")
		of.EvictUnused()
		require.Zero(w.t, live())
		require.Zero(w.t, budget.Used())
		w.signal("r", "m", "go", `"x"`)
		w.settle()
		require.EqualValues(w.t, 2, s.begun.Load(), "it is replayed")
		w.ends("1")
	})
}

// TestIdleRunsGiveWay: what a request needs for a moment, idle runs give up, and a run at work does
// not.
func TestIdleRunsGiveWay(t *testing.T) {
	s := &storm{}
	inBoth(t, only("main", s.keeps), func(w *world) {
		budget := memory.New(2_000_000)
		w.adjust = func(_ string, c *engine.Config) { c.Memory = budget }
		for i := range 4 {
			w.start(fmt.Sprint("r", i), "main", `"`+large+`"`)
		}
		w.settle()
		used := budget.Used()
		require.Greater(w.t, used, int64(1_000_000))
		require.True(w.t, budget.TryTake(1_900_000))
		require.Less(w.t, budget.Used(), int64(2_000_000))
		budget.Give(1_900_000)
	})
}

// TestReplaysWaitForMemory: a run is read when there is room for it, and the run can be asked
// meanwhile.
func TestReplaysWaitForMemory(t *testing.T) {
	s := &storm{}
	inBoth(t, only("main", s.keeps), func(w *world) {
		budget := memory.New(2_000_000)
		w.adjust = func(_ string, c *engine.Config) { c.Memory = budget }
		w.start("r", "main", `"`+large+`"`)
		w.settle()
		require.True(w.t, budget.TryTake(budget.Total()), "the run is evicted, and nothing is left")
		s.begun.Store(0)
		w.signal("r", "m", "go", `"x"`)
		p := w.activator()
		if w.together {
			p = w.processes[0]
		}
		var under []*delivery
		for _, l := range w.take("") {
			under = append(under, w.deliver(p, l))
		}
		<-time.After(time.Minute)
		synctest.Wait()
		require.Zero(w.t, s.begun.Load(), "there is no room for it")
		_, err := p.engine.Query(p.in(), "r", "sum", nil)
		require.Equal(w.t, port.Unavailable, port.CodeOf(err), "%v", err)
		budget.Give(budget.Total())
		for _, d := range under {
			require.NoError(w.t, d.wait())
		}
		w.settle()
		require.Equal(w.t, history.Completed, w.summary("r").Status)
	})
}

// longWords is a source of 60 KB that begins with a wait.
var longWords = strings.Repeat("wait, ", 10_000) + "wait"

// TestCodeOfDefinitionsIsBoundedByBytes: runs of twenty definitions fit one after another, and idle
// code is evicted like idle runs.
func TestCodeOfDefinitionsIsBoundedByBytes(t *testing.T) {
	publishing(t, func(w *world) {
		const definitions = 20
		budget := memory.New(8_000_000)
		adjust := w.adjust
		w.adjust = func(name string, c *engine.Config) {
			adjust(name, c)
			c.Memory = budget
		}
		for i := range definitions {
			w.publish(fmt.Sprint("d", i), longWords)
			w.start(fmt.Sprint("r", i), fmt.Sprint("d", i), "1")
			w.settle()
		}
		require.LessOrEqual(w.t, budget.Used(), budget.Total())
		require.Greater(w.t, budget.Used(), budget.Total()/2, "no more is evicted than need be")
		for i := range definitions {
			w.terminate(fmt.Sprint("r", i), "end")
			w.settle()
		}
		require.LessOrEqual(w.t, budget.Used(), budget.Total()/4+100_000,
			"of what no run has, a part stays")
	})
}

// TestCodeOfDefinitionsCountsOnce: live runs of one version share its code.
func TestCodeOfDefinitionsCountsOnce(t *testing.T) {
	publishing(t, func(w *world) {
		budget := memory.New(100_000_000)
		adjust := w.adjust
		w.adjust = func(name string, c *engine.Config) {
			adjust(name, c)
			c.Memory = budget
		}
		w.publish("main", longWords)
		w.start("r", "main", "1")
		w.settle()
		one := budget.Used()
		require.Greater(w.t, one, int64(10*len(longWords)),
			"code counts by the length of its source")
		for i := range 20 {
			w.start(fmt.Sprint("r", i), "main", "1")
		}
		w.settle()
		require.Less(w.t, budget.Used(), 3*one)
	})
}

// TestResultsAreCounted: the result of an activity counts from when it is there until it is filed.
func TestResultsAreCounted(t *testing.T) {
	budget := memory.New(2_000_000)
	simulateAs(t, true, only("main", func(_ *world, ctx workflow.Context, _ int) (int, error) {
		grow := activity.Declare[int, string]("grow")
		text, err := workflow.Execute(ctx, grow, 1)
		return len(text), err
	}), func(w *world) {
		grow := activity.New("grow", func(context.Context, int) (string, error) {
			return large, nil
		})
		w.adjust = func(_ string, c *engine.Config) {
			c.Memory, c.Definitions = budget, append(c.Definitions, grow)
		}
		w.start("r", "main", "1")
		node := w.processes[0]
		require.NoError(w.t, w.deliver(node, w.takeOne("resume r")).wait())
		before := budget.Used()
		hold := w.plan(fault{kind: pause, op: "file"})
		filing := w.deliver(node, w.takeOne("task r/1/0 attempt 1"))
		require.True(w.t, hold.hit,
			"the planned fault must have happened, or this test shows nothing")
		require.GreaterOrEqual(w.t, budget.Used()-before, int64(2*len(large)))
		hold.release()
		require.NoError(w.t, filing.wait())
		require.Equal(w.t, before, budget.Used())
		w.ends("100000")
	})
}
