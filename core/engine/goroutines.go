package engine

import "sync"

// goroutines keeps goroutines for the functions that come next. A new goroutine would grow its
// stack for each activation and each attempt, which costs more than the work of a short one.
type goroutines struct {
	idle   chan chan func()
	closed chan struct{}
	once   sync.Once
}

// mostIdle is how many goroutines it keeps.
const mostIdle = 64

func newGoroutines() *goroutines {
	return &goroutines{idle: make(chan chan func(), mostIdle), closed: make(chan struct{})}
}

// run runs a function in another goroutine, and does not wait.
func (g *goroutines) run(f func()) {
	select {
	case work := <-g.idle:
		work <- f
	default:
		go g.work(f)
	}
}

func (g *goroutines) work(f func()) {
	mine := make(chan func(), 1)
	for {
		f()
		select {
		case g.idle <- mine:
			select {
			case f = <-mine:
			case <-g.closed:
				return
			}
		default:
			return
		}
	}
}

// close ends the goroutines: those that are idle now, the others once their function has returned.
// The caller runs nothing after it.
func (g *goroutines) close() { g.once.Do(func() { close(g.closed) }) }
