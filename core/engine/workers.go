package engine

// workers runs functions in goroutines that are kept for the next function: a new goroutine would grow its stack anew for
// each activation and each attempt, which costs more than the work of a short one.
type workers struct {
	idle chan chan func()
}

// mostIdle is how many goroutines are kept.
const mostIdle = 64

func newWorkers() *workers { return &workers{idle: make(chan chan func(), mostIdle)} }

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
	for f != nil {
		f()
		select {
		case w.idle <- mine:
			f = <-mine
		default:
			return
		}
	}
}

// close ends the goroutines that are idle. Those at work end when no room is left for them.
func (w *workers) close() {
	for {
		select {
		case work := <-w.idle:
			work <- nil
		default:
			return
		}
	}
}
