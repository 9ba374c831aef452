package workflow

import (
	"fmt"

	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Semaphore bounds how much of something the units of one run use at a time: branches, handlers and
// the workflow function itself. Units get their share in the order in which they asked. Make it in
// the workflow function with [NewSemaphore]; each run needs its own.
type Semaphore struct {
	size, used int
	run        *scheduler.Run
	queue      []*claim
}

// claim is a unit that waits for its share.
type claim struct {
	n       int
	granted machine.Promise
}

// NewSemaphore makes a semaphore of a size. It panics if the size is less than 1.
func NewSemaphore(size int) *Semaphore {
	if size < 1 {
		panic(fmt.Sprintf("workflow.NewSemaphore of size %d: the size must be at least 1", size))
	}
	return &Semaphore{size: size}
}

// Acquire takes n of the semaphore and waits until that many are free. Release them with
// [Semaphore.Release], even if the context's scope has been canceled since. If the scope is canceled
// while the unit waits, Acquire takes nothing and returns the scope's error. It also returns an error
// if n is less than 1 or more than the semaphore's size.
func (s *Semaphore) Acquire(ctx Context, n int) error {
	return s.acquire(ctx, "Semaphore.Acquire", n)
}

func (s *Semaphore) acquire(ctx Context, call string, n int) error {
	u, err := s.enter(ctx, call, n)
	if err != nil {
		return err
	}
	if s.take(n) {
		return nil
	}
	c := &claim{n: n}
	s.queue = append(s.queue, c)
	err = u.Await(&c.granted, ctx.scope, nil, label("workflow."+call))
	if err != nil {
		s.leave(c)
	}
	return err
}

// TryAcquire takes n of the semaphore if that many are free and no other unit waits. It does not wait
// and says whether it took them.
func (s *Semaphore) TryAcquire(ctx Context, n int) bool {
	_, err := s.enter(ctx, "Semaphore.TryAcquire", n)
	return err == nil && s.take(n)
}

// Release gives back n of what [Semaphore.Acquire] took. It does not wait. It panics if that is more
// than the run's units have taken.
func (s *Semaphore) Release(n int) { s.release("Semaphore.Release", n) }

func (s *Semaphore) release(call string, n int) {
	if n < 1 || n > s.used {
		panic(fmt.Sprintf("workflow.%s: %d given back, but %d taken", call, n, s.used))
	}
	s.run.Caller(call)
	s.used -= n
	s.grant()
}

// enter checks a call before it changes anything.
func (s *Semaphore) enter(ctx Context, call string, n int) (*scheduler.Unit, error) {
	u := ctx.enter(call)
	u.Change(call)
	if s.size == 0 {
		panic("workflow." + call + ": a semaphore without a size: make it with workflow.NewSemaphore")
	}
	if s.run == nil {
		s.run = u.Run()
	}
	if s.run != u.Run() {
		panic("workflow." + call + ": it belongs to another run: make one in the workflow function, not in a package variable")
	}
	if n < 1 || n > s.size {
		return nil, fmt.Errorf("workflow.%s of %d: the semaphore's size is %d", call, n, s.size)
	}
	return u, ctx.scope.Err()
}

// take takes n if that many are free and no unit waits.
func (s *Semaphore) take(n int) bool {
	if len(s.queue) > 0 || s.used+n > s.size {
		return false
	}
	s.used += n
	return true
}

// leave takes back a claim that no unit waits for any longer. The next one may fit now.
func (s *Semaphore) leave(c *claim) {
	for i, other := range s.queue {
		if other == c {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			break
		}
	}
	s.grant()
}

// grant wakes the units at the head of the queue whose share is free.
func (s *Semaphore) grant() {
	for len(s.queue) > 0 && s.used+s.queue[0].n <= s.size {
		c := s.queue[0]
		s.queue = s.queue[1:]
		s.used += c.n
		c.granted.KeepValue(c)
	}
}
