package engine

import (
	"container/list"
	"context"
	"sync"

	"github.com/reprise-run/reprise/core/memory"
)

// cache keeps live runs between activations, the most recently used ones, and gives each to one
// visit at a time. It is nothing but a cache: a run that is not here is replayed. Two limits bound
// it: the number of runs, and a budget of bytes that others share, who may have a run evicted for
// the room that they need.
type cache struct {
	mu     sync.Mutex
	most   int
	memory *memory.Budget
	slots  map[string]*slot
	young  map[string]bool // runs that have just begun: they have no log yet
	idle   *list.List      // of *slot with a live run that nobody holds, the most recently used first
}

// slot is one run's place: held by one visit at a time.
type slot struct {
	run     string
	live    *live
	held    chan struct{} // has room for one
	waiting int           // visits that hold it or wait for it
	place   *list.Element // in idle
	unused  bool          // since the last sweep
	// replaying is where the holder has a place, until its run is live; nil: none.
	replaying *places
	// claimed is how many bytes the holder has taken for its turn, and weight how many the live run
	// is estimated to hold.
	claimed, weight int64
}

func newCache(most int, budget *memory.Budget) *cache {
	c := &cache{most: most, memory: budget, slots: map[string]*slot{}, young: map[string]bool{}, idle: list.New()}
	budget.OnPressure(c.evict)
	return c
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
	s.unused = false
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
	before := s.weight + s.claimed
	s.weight, s.claimed = s.live.weight(c.memory.Total()), 0
	change := s.weight - before
	<-s.held
	c.leave(s)
	c.memory.Add(change) // after the run may be evicted itself
	c.memory.Evictable()
}

func (c *cache) leave(s *slot) {
	c.mu.Lock()
	if s.waiting--; s.waiting == 0 {
		if s.live == nil {
			delete(c.slots, s.run)
		} else {
			s.place = c.idle.PushFront(s)
		}
	}
	over := c.idle.Len() > c.most
	c.mu.Unlock()
	if over {
		c.evict()
	}
}

// evict forgets the idle run that was used longest ago. It says whether there was one.
func (c *cache) evict() bool {
	c.mu.Lock()
	last := c.idle.Back()
	if last == nil {
		c.mu.Unlock()
		return false
	}
	oldest := c.remove(last)
	c.mu.Unlock()
	c.end(oldest)
	return true
}

// remove takes a slot out of the cache. The lock is held.
func (c *cache) remove(idle *list.Element) *slot {
	s := c.idle.Remove(idle).(*slot)
	delete(c.slots, s.run)
	return s
}

// end ends the live run of a slot that was removed.
func (c *cache) end(s *slot) {
	s.live.close()
	c.memory.Give(s.weight)
}

// sweep forgets the idle runs that no visit has held since the last sweep.
func (c *cache) sweep() {
	var unused []*slot
	c.mu.Lock()
	for at := c.idle.Back(); at != nil; {
		next := at.Prev()
		if s := at.Value.(*slot); s.unused {
			unused = append(unused, c.remove(at))
		} else {
			s.unused = true
		}
		at = next
	}
	c.mu.Unlock()
	for _, s := range unused {
		c.end(s)
	}
}

// size is how many runs are here.
func (c *cache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.slots)
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
	idle := c.idle
	c.idle = list.New()
	clear(c.slots)
	c.mu.Unlock()
	for element := idle.Front(); element != nil; element = element.Next() {
		element.Value.(*slot).live.close() // which gives memory back, and may so evict
	}
}
