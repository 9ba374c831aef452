package engine

import (
	"context"
	"sync"
	"time"
)

// watch tells callers of this process that a run has changed. What other processes change is found by looking again.
type watch struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]struct{}
}

func newWatch() *watch { return &watch{waiting: map[string]map[chan struct{}]struct{}{}} }

// changed wakes all who wait for the run.
func (w *watch) changed(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for woken := range w.waiting[run] { // order-insensitive: each is woken
		select {
		case woken <- struct{}{}:
		default:
		}
	}
}

func (w *watch) join(run string) (woken chan struct{}, leave func()) {
	woken = make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[run] == nil {
		w.waiting[run] = map[chan struct{}]struct{}{}
	}
	w.waiting[run][woken] = struct{}{}
	return woken, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.waiting[run], woken); len(w.waiting[run]) == 0 {
			delete(w.waiting, run)
		}
	}
}

// until looks at a run again and again, whenever it has changed, until done says so or the context ends.
func (e *Engine) until(ctx context.Context, run string, done func() (bool, error)) error {
	woken, leave := e.watch.join(run)
	defer leave()
	again := make(chan struct{}, 1)
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		stop := e.Clock.AfterFunc(e.config.Poll, func() {
			select {
			case again <- struct{}{}:
			default:
			}
		})
		select {
		case <-woken:
		case <-again:
		case <-ctx.Done():
			stop()
			return ctx.Err()
		}
		stop()
	}
}

// after gives a channel that closes after a while, and what stops it.
func (e *Engine) after(d time.Duration) (done <-chan struct{}, stop func() bool) {
	closed := make(chan struct{})
	return closed, e.Clock.AfterFunc(d, func() { close(closed) })
}
