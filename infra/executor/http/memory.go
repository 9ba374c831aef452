package httpexec

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/reprise-run/reprise/core/memory"
)

// What a call holds of the budget that live runs and requests share: see core/memory.
const (
	// freeBytes of an input or an answer are not counted.
	freeBytes = 64 << 10
	// copiesOfInput: the input as it was decoded, and the request's body.
	copiesOfInput = 2
	// copiesOfAnswer: the body, its result, and the answer as it is encoded for the run.
	copiesOfAnswer = 3
)

// room is what calls share: the budget, and the right to exceed it, which one call has at a time.
// A call that holds bytes can therefore always get more after a while, and no two calls wait for
// each other.
type room struct {
	budget *memory.Budget
	exceed chan struct{}
}

func newRoom(budget *memory.Budget) *room { return &room{budget, make(chan struct{}, 1)} }

var errTaken = errors.New("the memory of this server is taken")

// claim is what one call holds.
type claim struct {
	room    *room
	bytes   int64
	exceeds bool
}

// grow has the call hold so many more bytes, and waits for them until the context ends.
func (c *claim) grow(ctx context.Context, bytes int64) error {
	if !c.exceeds && !c.room.budget.TryTake(bytes) {
		select {
		case c.room.exceed <- struct{}{}:
			c.exceeds = true
		case <-ctx.Done():
			return fmt.Errorf("%w, and the call needs %d bytes more: try again, or give the server more memory",
				errTaken, bytes)
		}
	}
	if c.exceeds {
		c.room.budget.Add(bytes)
	}
	c.bytes += bytes
	return nil
}

// shrink gives back the bytes beyond so many.
func (c *claim) shrink(to int64) {
	c.room.budget.Give(c.bytes - to)
	c.bytes = to
}

// release gives all back.
func (c *claim) release() {
	c.shrink(0)
	if c.exceeds {
		<-c.room.exceed
	}
}

// readAll reads an answer, and claims memory for it as it grows.
func (c *claim) readAll(ctx context.Context, from io.Reader) ([]byte, error) {
	text, room := make([]byte, 0, 512), freeBytes
	for {
		if len(text) == cap(text) {
			if cap(text) >= room {
				if err := c.grow(ctx, int64(copiesOfAnswer*room)); err != nil {
					return nil, err
				}
				room *= 2
			}
			text = append(text, 0)[:len(text)]
		}
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
