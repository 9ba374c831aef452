package engine

import (
	"container/list"
	"sync"

	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/memory"
)

// Estimates of what the code of a definition holds. A flow holds some 10 bytes for each byte of its
// source, and up to 30 where the source is all conditions.
const (
	bytesOfCode   = 16 << 10
	bytesOfSource = 16
)

// Limits of the code that no live run has. Of a budget, it may hold one part of partOfCode; without
// a budget, mostIdleBytes.
const (
	mostIdleCode  = 200
	mostIdleBytes = 256 << 20
	partOfCode    = 4
)

// made is what a source was made into.
type made struct {
	entry   scheduler.Entry
	fitting Fitting // nil: it takes what comes
}

// code is the code of a workflow. All live runs of one version of a definition share it.
type code struct {
	made
	of     pin    // the version of a definition; zero: it is the program's own code
	shared *codes // nil: likewise
	weight int64
	users  int
	place  *list.Element // in idle
}

// codes keeps the code of definitions. Code that a live run has stays until that run is evicted. Of
// the other code, it keeps the last used. All of it counts against the budget.
type codes struct {
	budget *memory.Budget
	mu     sync.Mutex
	known  map[pin]*code
	idle   *list.List // of *code without users, the code that was used last in front
	bytes  int64      // of idle
}

func newCodes(budget *memory.Budget) *codes {
	p := &codes{budget: budget, known: map[pin]*code{}, idle: list.New()}
	budget.OnPressure(p.evict)
	return p
}

// take gives the code of a version to a user, which releases it. Nil: it is not here.
func (p *codes) take(of pin) *code {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.known[of]
	if c == nil {
		return nil
	}
	p.busy(c)
	c.users++
	return c
}

// add parses a source of so many bytes, which count from then on, and gives the code to a user.
func (p *codes) add(of pin, source int, parse func() (made, error)) (*code, error) {
	c := &code{of: of, shared: p, users: 1, weight: bytesOfCode + bytesOfSource*int64(source)}
	p.budget.Add(c.weight)
	var err error
	if c.made, err = parse(); err != nil {
		p.budget.Give(c.weight)
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[of] == nil { // else another user has added it meanwhile
		p.known[of] = c
	}
	return c, nil
}

// release ends a use. Of nil, it does nothing.
func (c *code) release() {
	if c != nil && c.shared != nil {
		c.shared.release(c)
	}
}

func (p *codes) release(c *code) {
	p.mu.Lock()
	gone := false
	if c.users--; c.users == 0 {
		if gone = p.known[c.of] != c; !gone {
			c.place = p.idle.PushFront(c)
			p.bytes += c.weight
		}
	}
	p.mu.Unlock()
	if gone {
		p.budget.Give(c.weight)
	}
	for p.over() && p.evict() {
	}
}

// over says whether more code without users is here than is kept.
func (p *codes) over() bool {
	most := int64(mostIdleBytes)
	if total := p.budget.Total(); total > 0 {
		most = total / partOfCode
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle.Len() > mostIdleCode || p.bytes > most
}

// evict forgets the code without users that was used longest ago. It says whether there was any.
func (p *codes) evict() bool {
	p.mu.Lock()
	last := p.idle.Back()
	if last == nil {
		p.mu.Unlock()
		return false
	}
	c := last.Value.(*code)
	p.busy(c)
	delete(p.known, c.of)
	p.mu.Unlock()
	p.budget.Give(c.weight)
	return true
}

// busy takes code off the idle list, if it is there. The caller holds the lock.
func (p *codes) busy(c *code) {
	if c.place != nil {
		p.idle.Remove(c.place)
		p.bytes -= c.weight
		c.place = nil
	}
}
