package s3

import (
	"container/list"
	"strings"
	"sync"
)

// cache keeps what was fetched, up to so many bytes; what was not asked for for the longest time goes first.
type cache struct {
	most   int
	mu     sync.Mutex
	bytes  int
	recent list.List // of *cached, the latest first
	byName map[string]*list.Element
}

type cached struct {
	place string
	data  []byte
}

func (c *cache) get(place string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, there := c.byName[place]
	if !there {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).data, true
}

func (c *cache) add(place string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.byName[place]; there || cap(data) > c.most {
		return
	}
	if c.byName == nil {
		c.byName = map[string]*list.Element{}
	}
	c.byName[place] = c.recent.PushFront(&cached{place, data})
	for c.bytes += cap(data); c.bytes > c.most; {
		c.remove(c.recent.Back())
	}
}

// remove takes one out. The lock is held.
func (c *cache) remove(e *list.Element) {
	gone := c.recent.Remove(e).(*cached)
	delete(c.byName, gone.place)
	c.bytes -= cap(gone.data)
}

// forget takes out all places that begin so.
func (c *cache) forget(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for place, e := range c.byName {
		if strings.HasPrefix(place, prefix) {
			c.remove(e)
		}
	}
}
