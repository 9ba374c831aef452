package engine

import (
	"container/list"
	"context"
	"sync"
)

// cache keeps live runs between activations, the most recently used ones, and gives each to one visit at a time. It is
// nothing but a cache: a run that is not here is replayed.
type cache struct {
	mu    sync.Mutex
	most  int
	slots map[string]*slot
	young map[string]bool // runs that have just begun: they have no log yet
	idle  *list.List      // of *slot with a live run that nobody holds, the most recently used first
}

// slot is one run's place: held by one visit at a time.
type slot struct {
	run     string
	live    *live
	held    chan struct{} // has room for one
	waiting int           // visits that hold it or wait for it
	place   *list.Element // in idle
	// replaying is where whoever holds it has a place, until its run is live; nil: none.
	replaying places
}

func newCache(most int) *cache {
	return &cache{most: most, slots: map[string]*slot{}, young: map[string]bool{}, idle: list.New()}
}

// hold waits until nobody else holds the run.
func (c *cache) hold(ctx context.Context, run string) (*slot, error) {
	c.mu.Lock()
	s := c.slots[run]
	if s == nil {
		s = &slot{run: run, held: make(chan struct{}, 1)}
		c.slots[run] = s
	}
	s.waiting++
	if s.place != nil {
		c.idle.Remove(s.place)
		s.place = nil
	}
	c.mu.Unlock()
	select {
	case s.held <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		c.leave(s)
		return nil, ctx.Err()
	}
}

// release gives the run back, with its live run, if it has one still.
func (c *cache) release(s *slot) {
	s.replayed()
	<-s.held
	c.leave(s)
}

func (c *cache) leave(s *slot) {
	var evicted []*live
	c.mu.Lock()
	if s.waiting--; s.waiting == 0 {
		if s.live == nil {
			delete(c.slots, s.run)
		} else {
			s.place = c.idle.PushFront(s)
		}
	}
	for c.idle.Len() > c.most {
		oldest := c.idle.Remove(c.idle.Back()).(*slot)
		delete(c.slots, oldest.run)
		evicted = append(evicted, oldest.live)
	}
	c.mu.Unlock()
	for _, l := range evicted {
		l.close()
	}
}

// begins says that a run has just begun, until somebody asks.
func (c *cache) begins(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young[run] = true
}

// isNew says, once, that a run has just begun.
func (c *cache) isNew(run string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	young := c.young[run]
	delete(c.young, run)
	return young
}

// drop forgets the live run of a slot that is held: it is of no more use.
func (s *slot) drop() {
	if s.live != nil {
		s.live.close()
		s.live = nil
	}
}

func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for element := c.idle.Front(); element != nil; element = element.Next() {
		element.Value.(*slot).live.close()
	}
	c.idle.Init()
	clear(c.slots)
}
