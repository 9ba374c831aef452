package workflow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// All waits for all futures and gives their values in order. The first failure ends the wait: the others go on, unless
// their scope is cancelled.
func All[T any](ctx Context, futures ...Future[T]) ([]T, error) {
	ctx.enter("All")
	erased := erase(futures)
	defer releaseAll(ctx, erased)
	if err := allOf(ctx, erased); err != nil {
		return nil, err
	}
	var err error
	values := make([]T, len(futures))
	for _, f := range futures {
		if f.settled() && f.failed() != nil {
			return nil, f.failed()
		}
	}
	for i, f := range futures {
		if values[i], err = f.Await(ctx); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// allOf pauses the unit until all futures have settled, or one has failed. It counts them, so that
// its work is in proportion to the futures, and not to their square. It holds the futures; its caller
// releases them.
func allOf(ctx Context, futures []Awaitable) error {
	hold(ctx, futures)
	t := &tally{unit: ctx.unit}
	var joined []*counted
	for _, f := range futures {
		if c := (&counted{t, f}); f.settled() {
			c.count()
		} else {
			f.join(c)
			joined = append(joined, c)
		}
	}
	defer func() {
		for _, c := range joined {
			c.future.leave(c)
		}
	}()
	return ctx.unit.Until(ctx.scope, waitsFor{"all of", futures}, func() bool {
		return t.failed || t.settled == len(futures)
	})
}

// tally is how many of a unit's futures have settled, and whether one of them has failed.
type tally struct {
	unit    *scheduler.Unit
	settled int
	failed  bool
}

// counted waits for one future of a tally.
type counted struct {
	tally  *tally
	future Awaitable
}

// Wake implements machine.Waiter.
func (c *counted) Wake() {
	c.count()
	c.tally.unit.Wake()
}

func (c *counted) count() {
	c.tally.settled++
	c.tally.failed = c.tally.failed || c.future.failed() != nil
}

// Any waits for the first success and gives its index and value. When all have failed, the error joins their failures in order.
func Any[T any](ctx Context, futures ...Future[T]) (int, T, error) {
	ctx.enter("Any")
	var none T
	if len(futures) == 0 {
		return -1, none, errors.New("workflow.Any of no futures: none can succeed")
	}
	first, erased := -1, erase(futures)
	defer releaseAll(ctx, erased)
	err := until(ctx, waitsFor{"any of", erased}, erased, func() bool {
		failed := 0
		for i, f := range futures {
			if !f.settled() {
				continue
			}
			if f.failed() == nil {
				first = i
				return true
			}
			failed++
		}
		return failed == len(futures)
	})
	if err != nil {
		return -1, none, err
	}
	if first >= 0 {
		value, err := futures[first].Await(ctx)
		return first, value, err
	}
	var errs []error
	for _, f := range futures {
		errs = append(errs, f.failed())
	}
	return -1, none, errors.Join(errs...)
}

// Race waits until the first future has settled, whether it succeeded or failed, and gives its index;
// Await on it then does not wait. Of those that settled in one activation, the first of the list wins.
// A future of a signal that does not win takes no signal: the next receiver gets it. The error is the
// scope's, when it is cancelled before.
func Race(ctx Context, futures ...Awaitable) (int, error) {
	ctx.enter("Race")
	if len(futures) == 0 {
		return -1, errors.New("workflow.Race of no futures: none can settle")
	}
	first := -1
	err := until(ctx, waitsFor{"the first of", futures}, futures, func() bool {
		for i, f := range futures {
			if f.settled() {
				first = i
				return true
			}
		}
		return false
	})
	for i, f := range futures {
		if i != first {
			f.release(ctx.unit)
		}
	}
	return first, err
}

// releaseAll gives back what until has held.
func releaseAll(ctx Context, futures []Awaitable) {
	for _, f := range futures {
		f.release(ctx.unit)
	}
}

// until pauses the unit as long as the answer is no, looking again whenever one of the futures has
// settled. It holds the futures; its caller releases them.
func until(ctx Context, what fmt.Stringer, futures []Awaitable, enough func() bool) error {
	hold(ctx, futures)
	if enough() {
		return nil
	}
	for _, f := range futures {
		if !f.settled() {
			f.join(ctx.unit)
		}
	}
	defer func() {
		for _, f := range futures {
			f.leave(ctx.unit)
		}
	}()
	return ctx.unit.Until(ctx.scope, what, enough)
}

// hold has futures of signals take their places among the receivers.
func hold(ctx Context, futures []Awaitable) {
	for i, f := range futures {
		if f.empty() {
			panic(fmt.Sprintf("workflow: future number %d of %d is empty: only those that this package returns ever settle", i+1, len(futures)))
		}
	}
	for _, f := range futures {
		f.hold(ctx.unit)
	}
}

// waitsFor says what is still waited for.
type waitsFor struct {
	what    string
	futures []Awaitable
}

func (w waitsFor) String() string {
	var open []string
	for _, f := range w.futures {
		if !f.settled() {
			open = append(open, f.what())
		}
	}
	return w.what + ": " + strings.Join(open, ", ")
}

func erase[T any](futures []Future[T]) []Awaitable {
	erased := make([]Awaitable, len(futures))
	for i, f := range futures {
		erased[i] = f
	}
	return erased
}
