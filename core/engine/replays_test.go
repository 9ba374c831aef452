package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// storm counts how many runs' code is running at one time.
type storm struct{ now, most, begun atomic.Int64 }

// code of a run takes a second to come to where it waits.
func (s *storm) code(_ *world, ctx workflow.Context, n int) (string, error) {
	workflow.HandleQuery(ctx, sumQuery, func(struct{}) (int, error) { return n, nil })
	s.begun.Add(1)
	if now := s.now.Add(1); now > s.most.Load() {
		s.most.Store(now)
	}
	<-time.After(time.Second)
	s.now.Add(-1)
	return workflow.AwaitSignal(ctx, goSignal)
}

// breaks out: many runs wait, then something happens to each, in a process that knows none of them.
func (s *storm) breaks(w *world, n int) (due []*delivery) {
	w.t.Helper()
	for i := range n {
		w.start(fmt.Sprint("run-", i), "main", "1")
	}
	w.settle()
	s.most.Store(0)
	if w.together {
		w.locked(func() { w.kill(w.processes[0]) })
	}
	p := w.activator()
	for i := range n {
		w.signal(fmt.Sprint("run-", i), "m", "go", `"x"`)
	}
	for _, l := range w.take("") {
		due = append(due, w.deliver(p, l))
	}
	return due
}

func TestReplaysAtOneTimeAreFew(t *testing.T) {
	s := &storm{}
	inBoth(t, only("main", s.code), func(w *world) {
		due := s.breaks(w, 100)
		for _, d := range due {
			require.NoError(w.t, d.wait())
		}
		require.EqualValues(w.t, 16, s.most.Load())
		w.settle()
		for i := range 100 {
			require.Equal(w.t, history.Completed, w.summary(fmt.Sprint("run-", i)).Status)
		}
	})
}

// Whoever asks, or starts a run, while many wait does not stand behind them all.
func TestCallersComeBeforeThoseWhoWait(t *testing.T) {
	for name, call := range map[string]func(p *process) error{
		"a question to a run that waits, too": func(p *process) error {
			_, err := p.engine.Query(p.in(), "run-57", "sum", nil)
			return err
		},
		"a new run": func(p *process) error {
			_, _, err := p.engine.Start(p.in(), engine.StartRequest{Run: "new", Workflow: "main", Input: history.Payload("1")})
			if err == nil {
				err = p.w.deliver(p, look("new")).wait()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &storm{}
			simulateAs(t, true, only("main", s.code), func(w *world) {
				due := s.breaks(w, 100)
				<-time.After(time.Second / 2)
				s.begun.Store(0)
				require.NoError(w.t, call(w.processes[len(w.processes)-1]))
				require.LessOrEqual(w.t, s.begun.Load(), int64(2*16), "begun before it was answered")
				for _, d := range due {
					require.NoError(w.t, d.wait())
				}
				w.settle()
			})
		})
	}
}

// Who gives up waiting takes no place, and whoever comes later gets one.
func TestNobodyWaitsForThoseWhoGaveUp(t *testing.T) {
	s := &storm{}
	simulate(t, only("main", s.code), func(w *world) {
		due := s.breaks(w, 40)
		p := w.processes[len(w.processes)-1]
		ctx, stop := context.WithTimeout(p.in(), time.Second/2)
		defer stop()
		var asking sync.WaitGroup
		var gaveUp atomic.Int64
		for i := range 20 {
			asking.Go(func() {
				if _, err := p.engine.Query(ctx, fmt.Sprint("run-", 20+i), "sum", nil); errors.Is(err, context.DeadlineExceeded) {
					gaveUp.Add(1)
				}
			})
		}
		asking.Wait()
		require.EqualValues(w.t, 4, gaveUp.Load())
		_, err := p.engine.Query(p.in(), "run-39", "sum", nil)
		require.NoError(w.t, err)
		for _, d := range due {
			require.NoError(w.t, d.wait())
		}
		w.settle()
		w.finished()
	})
}
