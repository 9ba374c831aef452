package engine

import (
	"errors"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/internal/executor"
)

// guard runs code of the core in a goroutine of its own, and gives it up when a unit keeps its turn for too long: then the
// goroutine is lost, not the process.
func (e *Engine) guard(exec *executor.Run, run func() error) error {
	if e.config.StuckAfter < 0 {
		return run()
	}
	g := e.watchdog.begin(e, exec)
	e.workers.run(func() {
		err := errors.New("the activation ended without a word: workflow code called runtime.Goexit")
		defer func() {
			if failed := exec.Failed(); failed != nil {
				err = failed
			}
			g.end(err)
		}()
		err = run()
	})
	err := <-g.ended
	e.watchdog.end(g)
	return err
}

// watchdog looks at all activations under way, every now and then.
type watchdog struct {
	mu    sync.Mutex
	first *guarded // a list: most activations are over before it ever looks
	armed bool
	spare sync.Pool // of *guarded; an engine's own, since a channel made in a test's bubble is of no use outside of it
}

// guarded is one activation under way.
type guarded struct {
	exec       *executor.Run
	turns      uint64
	since      time.Time // when turns was seen first; zero: not looked at yet
	ended      chan error
	prev, next *guarded
}

func (w *watchdog) begin(e *Engine, exec *executor.Run) *guarded {
	g, _ := w.spare.Get().(*guarded)
	if g == nil {
		g = &guarded{ended: make(chan error, 1)}
	}
	g.exec, g.since = exec, time.Time{}
	w.mu.Lock()
	defer w.mu.Unlock()
	g.prev, g.next = nil, w.first
	if w.first != nil {
		w.first.prev = g
	}
	w.first = g
	if !w.armed {
		w.armed = true
		e.Clock.AfterFunc(e.config.StuckAfter/2, func() { w.look(e) })
	}
	return g
}

// end reports the end of the activation, unless it was given up already.
func (g *guarded) end(err error) {
	select {
	case g.ended <- err:
	default: // given up, and nobody waits
	}
}

func (w *watchdog) end(g *guarded) {
	w.mu.Lock()
	if g.prev != nil {
		g.prev.next = g.next
	} else {
		w.first = g.next
	}
	if g.next != nil {
		g.next.prev = g.prev
	}
	w.mu.Unlock()
	if exec := g.exec; !exec.Lost() { // a lost activation may still report to its channel
		g.exec = nil
		w.spare.Put(g)
	}
}

// look gives up every activation that has not got on since it was looked at StuckAfter ago.
func (w *watchdog) look(e *Engine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := e.Clock.Now()
	for g := w.first; g != nil; g = g.next {
		turns := g.exec.Turns()
		switch {
		case g.since.IsZero() || turns != g.turns:
			g.turns, g.since = turns, now
		case now.Sub(g.since) >= e.config.StuckAfter:
			select {
			case g.ended <- g.exec.Stuck():
			default: // it has just ended
			}
		}
	}
	if w.armed = w.first != nil; w.armed {
		e.Clock.AfterFunc(e.config.StuckAfter/2, func() { w.look(e) })
	}
}
