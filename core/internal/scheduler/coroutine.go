package scheduler

import (
	"iter"
	"runtime"
)

// coroutine runs author's code that can be paused in the middle: the one place in core where a goroutine is made.
//
// iter.Pull switches to it and back directly, four times as fast as two channels, and a panic in it crosses to the
// resumer (measured in tests/bench).
type coroutine struct {
	next  func() (struct{}, bool)
	end   func()
	yield func(struct{}) bool
}

func (c *coroutine) start(main func()) {
	c.next, c.end = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		main()
	})
}

// resume runs the coroutine until it suspends (true) or ends (false).
func (c *coroutine) resume() bool {
	_, suspended := c.next()
	return suspended
}

// suspend goes back to the resumer. It returns when it is resumed; if the coroutine is stopped instead, it never returns:
// deferred functions run, and a recover in them finds nothing (a panic could be swallowed there).
func (c *coroutine) suspend() {
	if !c.yield(struct{}{}) {
		runtime.Goexit()
	}
}

// stop ends a suspended coroutine. iter.Pull passes the coroutine's Goexit on to whoever stops it, hence the goroutine.
func (c *coroutine) stop() {
	if c.end == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.end()
	}()
	<-done
}
