package workflowtest

import (
	"context"
	"iter"
	"runtime/debug"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/attempt"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// work is a plain function under way in virtual time: an attempt of an activity, a step, a mocked child. It is a coroutine,
// so that Sleep can pause it while other things happen.
type work struct {
	env *Env
	ctx *attempt.Context

	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	running bool
	over    bool
	ignored int // calls of Sleep after the context had ended

	result history.Payload
	err    error
	done   func() // called when the function has returned
}

type workKey struct{}

// perform prepares a function; resume begins it.
func (env *Env) perform(of *attempt.Attempt, function registry.Activity, input history.Payload) *work {
	w := &work{env: env}
	// Without a deadline: one in virtual time would mean something else to whoever holds it against the wall clock.
	w.ctx = attempt.NewContext(context.WithValue(context.Background(), workKey{}, w), of, time.Time{})
	w.next, w.stop = iter.Pull(func(yield func(struct{}) bool) {
		w.yield = yield
		defer func() {
			switch p := recover().(type) {
			case nil:
			case failure:
				panic(p) // of the test, not of the function
			case *scheduler.Violation:
				w.err = p
			default:
				w.err = scheduler.PanicFailure(p, debug.Stack())
			}
		}()
		scheduler.Attempt(func() { w.result, w.err = function(w.ctx, input) })
	})
	env.works = append(env.works, w)
	return w
}

// resume runs the function until it sleeps or returns.
func (w *work) resume() {
	if w.running || w.over {
		return
	}
	w.running = true
	_, asleep := w.next()
	w.running = false
	if !asleep {
		w.over = true
		w.ctx.End(context.Canceled, nil)
		w.done()
	}
}

// end ends the context. A function that sleeps is woken, and returns.
func (w *work) end(err, cause error) {
	w.ctx.End(err, cause)
	w.resume()
}

// cancel ends it because it was asked to stop.
func (w *work) cancel() { w.end(context.Canceled, history.ErrCancelled) }

// quit gets rid of the function when the test is over.
func (w *work) quit() {
	if !w.over && !w.running {
		w.over = true
		w.ctx.End(context.Canceled, nil)
		w.stop()
	}
}

// Sleep lets virtual time pass in a mock, or in an activity's or a step's own code. Other things happen meanwhile. It
// returns early, with an error, when the attempt has run out of time (context.DeadlineExceeded) or is cancelled
// (context.Canceled); the function should then return, too. Whatever else waits, waits in real time, and all else with it.
//
// It panics with a context that is not one of those.
func Sleep(ctx context.Context, d time.Duration) error {
	w, ok := ctx.Value(workKey{}).(*work)
	if !ok {
		panic("workflowtest.Sleep is for mocks, activities and steps, with the context that they are given; workflow code calls workflow.Sleep")
	}
	if err := w.ctx.Err(); err != nil {
		if w.ignored++; w.ignored > 1000 {
			panic("the function goes on and on although its context has ended: return when workflowtest.Sleep gives an error")
		}
		return err
	}
	w.env.after(max(0, d), func() bool { return w.ctx.Err() != nil }, w.resume)
	w.yield(struct{}{})
	return w.ctx.Err()
}
