package engine

import "sync"

// workers runs functions in goroutines that are kept for the next function: a new goroutine would grow its stack anew for
// each activation and each attempt, which costs more than the work of a short one.
type workers struct {
	idle   chan chan func()
	closed chan struct{}
	once   sync.Once
}

// mostIdle is how many goroutines are kept.
const mostIdle = 64

func newWorkers() *workers {
	return &workers{idle: make(chan chan func(), mostIdle), closed: make(chan struct{})}
}

// run has a function run by some other goroutine, and does not wait.
func (w *workers) run(f func()) {
	select {
	case work := <-w.idle:
		work <- f
	default:
		go w.work(f)
	}
}

func (w *workers) work(f func()) {
	mine := make(chan func(), 1)
	for {
		f()
		select {
		case w.idle <- mine:
			select {
			case f = <-mine:
			case <-w.closed:
				return
			}
		default:
			return
		}
	}
}

// close ends the goroutines: those that are idle now, the others when they are done. Nothing may be run any more.
func (w *workers) close() { w.once.Do(func() { close(w.closed) }) }
