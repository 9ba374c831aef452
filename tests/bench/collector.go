package main

import (
	"sync"
	"time"
)

// collector gathers numbers from many goroutines.
type collector struct {
	mu     sync.Mutex
	values []int64
	grown  chan struct{} // closed when a value comes; nil: nobody waits
}

func (c *collector) add(value int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values = append(c.values, value)
	if c.grown != nil {
		close(c.grown)
		c.grown = nil
	}
}

// take gives all values, and forgets them.
func (c *collector) take() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.values
	c.values = nil
	return taken
}

// at waits for a value. It gives 0 if none comes in time.
func (c *collector) at(index int, patience time.Duration) int64 {
	late := time.After(patience)
	for {
		value, grown := c.look(index)
		if grown == nil {
			return value
		}
		select {
		case <-grown:
		case <-late:
			return 0
		}
	}
}

// look gives a value, or what is closed when the next one comes.
func (c *collector) look(index int) (value int64, grown <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index < len(c.values) {
		return c.values[index], nil
	}
	if c.grown == nil {
		c.grown = make(chan struct{})
	}
	return 0, c.grown
}
