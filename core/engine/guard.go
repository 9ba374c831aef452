package engine

import (
	"errors"
	"runtime"
	"sync"

	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// guard runs code of the core in a goroutine of its own, and gives it up when a unit keeps its turn for too long: then the
// goroutine is lost, not the process.
func (e *Engine) guard(exec *scheduler.Run, run func() error) error {
	if e.config.StuckAfter < 0 {
		return run()
	}
	g := e.watchdog.begin(e, exec)
	e.goroutines.run(func() {
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

// patience is how often the watchdog finds a unit at the same turn before it gives it up.
const patience = 10

// watchdog looks at all activations under way, every now and then. It counts its looks, and reads no clock: when a process
// was stopped, or its machine slept, one look comes late, and all the time that nothing ran in counts as one.
type watchdog struct {
	mu    sync.Mutex
	first *guarded // a list: most activations are over before it ever looks
	armed bool
	spare sync.Pool // of *guarded; an engine's own, since a channel made in a test's bubble is of no use outside of it
}

// guarded is one activation under way.
type guarded struct {
	exec       *scheduler.Run
	turns      uint64
	seen       int // looks that found these turns, in parts of a look; 0: not looked at yet
	ended      chan error
	prev, next *guarded
}

func (w *watchdog) begin(e *Engine, exec *scheduler.Run) *guarded {
	g, _ := w.spare.Get().(*guarded)
	if g == nil {
		g = &guarded{ended: make(chan error, 1)}
	}
	g.exec, g.seen = exec, 0
	w.mu.Lock()
	defer w.mu.Unlock()
	g.prev, g.next = nil, w.first
	if w.first != nil {
		w.first.prev = g
	}
	w.first = g
	if !w.armed {
		w.armed = true
		w.arm(e)
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

func (w *watchdog) arm(e *Engine) {
	e.Clock.AfterFunc(e.config.StuckAfter/patience, func() { w.look(e) })
}

// wholeLook is what a look counts where a unit has a processor for itself. Else it counts a part of
// that, a twelfth at least.
const wholeLook = 12

// share is how many units share a processor: those that the watchdog has seen at work before, too.
func (w *watchdog) share() int {
	busy := 0
	for g := w.first; g != nil; g = g.next {
		if g.seen > 0 {
			busy++
		}
	}
	return min(max(busy/runtime.GOMAXPROCS(0), 1), wholeLook)
}

// look gives up every activation of which a unit has kept its turn since it was looked at StuckAfter ago. One that waits for
// the store to give the next page of its log is not at anybody's turn.
func (w *watchdog) look(e *Engine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	look := wholeLook / w.share()
	for g := w.first; g != nil; g = g.next {
		turns := g.exec.Turns()
		switch {
		case g.seen == 0 || turns != g.turns:
			g.turns, g.seen = turns, wholeLook
		case !g.exec.HasTurn():
		case g.seen < patience*wholeLook:
			g.seen += look
		default:
			select {
			case g.ended <- g.exec.Stuck():
			default: // it has just ended
			}
		}
	}
	if w.armed = w.first != nil; w.armed {
		w.arm(e)
	}
}
