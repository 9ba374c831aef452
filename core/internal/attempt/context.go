package attempt

import (
	"context"
	"sync"
	"time"
)

// Context is an activity's context: the invocation's, with the attempt in it, its deadline, and an end of its own. It costs
// nothing but itself until somebody waits for it, which short activities never do; a chain of context.WithValue,
// WithDeadline and WithCancelCause costs ten allocations for each attempt.
type Context struct {
	parent   context.Context //nolint:containedctx // this is a context
	attempt  *Attempt
	deadline time.Time

	mu    sync.Mutex
	done  chan struct{} // nil until asked for
	err   error
	cause error
	leave func() bool // stops listening to the parent
}

// NewContext makes an attempt's context; a zero deadline is none. End must be called.
func NewContext(parent context.Context, a *Attempt, deadline time.Time) *Context {
	return &Context{parent: parent, attempt: a, deadline: deadline}
}

// Deadline is when the attempt will be given up.
func (c *Context) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() {
		return c.parent.Deadline()
	}
	return c.deadline, true
}

// Done closes when the attempt should stop.
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		} else {
			c.leave = context.AfterFunc(c.parent, func() { c.End(c.parent.Err(), context.Cause(c.parent)) })
		}
	}
	return c.done
}

// Err says why.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return c.parent.Err()
	}
	return c.err
}

// Cause is the reason behind Err.
func (c *Context) Cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return context.Cause(c.parent)
	}
	return c.cause
}

// Value finds the attempt, and what the invocation's context has.
func (c *Context) Value(k any) any {
	if k == (key{}) {
		return c.attempt
	}
	return c.parent.Value(k)
}

// End ends the context. The first end counts.
func (c *Context) End(err, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err, c.cause = err, cause
	if c.done != nil {
		close(c.done)
	}
	if c.leave != nil {
		c.leave()
	}
}
