// Package memory counts the bytes that a process holds for its runs and its callers, and keeps
// their sum within one budget.
//
// The bytes are estimates: Go does not say how much memory a value holds. What can be brought back,
// such as a live run that waits, is evicted when the room is needed for something else. What cannot
// be brought back has to wait, or is refused.
package memory

import (
	"container/list"
	"context"
	"sync"
)

// Budget is a number of bytes that several holders share. It is safe for concurrent use. A nil
// Budget has no limit.
type Budget struct {
	total   int64
	mu      sync.Mutex
	used    int64
	evict   []func() bool
	waiting *list.List // of *claim, the one that waits longest in front
}

// claim is one call of Take that waits.
type claim struct {
	bytes     int64
	granted   chan struct{}
	overtaken int // by small claims
}

// Small claims do not wait behind large ones, of which each may hold its bytes for seconds: many of
// these would else stop all others. They have a reserve beyond the budget. But a large claim
// waits behind no more than so many small ones.
const (
	partOfSmall   = 256 // of the budget: what a small claim has at most
	partOfReserve = 16  // of the budget, beyond it
	mostOvertakes = 1000
)

// fits says whether there is room for bytes. The lock is held.
func (b *Budget) fits(bytes int64) bool {
	total := b.total
	if b.isSmall(bytes) {
		total += b.total / partOfReserve
	}
	return b.used+bytes <= total
}

func (b *Budget) isSmall(bytes int64) bool { return bytes <= b.total/partOfSmall }

// overtakes says whether a claim need not wait for those before it, and notes that for the first of
// them. The lock is held.
func (b *Budget) overtakes(bytes int64) bool {
	first := b.waiting.Front()
	if first == nil {
		return true
	}
	before := first.Value.(*claim)
	if !b.isSmall(bytes) || before.overtaken == mostOvertakes {
		return false
	}
	before.overtaken++
	return true
}

// New makes a budget of so many bytes.
func New(total int64) *Budget { return &Budget{total: total, waiting: list.New()} }

// Total is how many bytes there are, and Used how many of them are taken. Both are zero without a
// limit.
func (b *Budget) Total() int64 {
	if b == nil {
		return 0
	}
	return b.total
}

// Used is how many bytes are taken. It may be more than there are: see [Budget.Add].
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// OnPressure registers a function that evicts one thing, gives its bytes back, and says whether
// there was one. The budget calls it, without holding a lock, when it lacks room.
func (b *Budget) OnPressure(evict func() bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.evict = append(b.evict, evict)
}

// TryTake takes bytes if there is room for them, and says whether there was. It does not overtake a
// caller that waits, unless the bytes are few.
func (b *Budget) TryTake(bytes int64) bool {
	if b == nil {
		return true
	}
	for {
		b.mu.Lock()
		fits := b.fits(bytes)
		if fits && b.overtakes(bytes) {
			b.used += bytes
			b.mu.Unlock()
			return true
		}
		b.mu.Unlock()
		if fits || bytes > b.total || !b.evictOne() {
			return false
		}
	}
}

// Take takes bytes, and waits until there is room for them, or until the context ends. A caller
// that holds bytes of this budget must not wait for more, or two of them could wait for each other.
// A claim of more than the whole budget counts as the whole, so that it cannot wait forever; Take
// says how many bytes it took.
func (b *Budget) Take(ctx context.Context, bytes int64) (taken int64, err error) {
	if b == nil {
		return 0, nil
	}
	bytes = min(bytes, b.total)
	mine := &claim{bytes: bytes, granted: make(chan struct{})}
	b.mu.Lock()
	if b.fits(bytes) && b.overtakes(bytes) {
		b.used += bytes
		b.mu.Unlock()
		return bytes, nil
	}
	place := b.waiting.PushBack(mine)
	b.mu.Unlock()
	b.settle()
	select {
	case <-mine.granted:
		return bytes, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	select {
	case <-mine.granted:
		b.mu.Unlock()
		return bytes, nil
	default:
	}
	b.waiting.Remove(place)
	b.mu.Unlock()
	b.settle() // the next one may need less
	return 0, ctx.Err()
}

// Add counts bytes that are held already, even beyond the budget, and evicts for them what it can.
// Negative bytes are as with [Budget.Give].
func (b *Budget) Add(bytes int64) {
	if b == nil || bytes == 0 {
		return
	}
	b.mu.Lock()
	b.used += bytes
	over := b.used > b.total
	b.mu.Unlock()
	for over && b.evictOne() {
		b.mu.Lock()
		over = b.used > b.total
		b.mu.Unlock()
	}
	if bytes < 0 {
		b.settle()
	}
}

// Give gives bytes back.
func (b *Budget) Give(bytes int64) { b.Add(-bytes) }

// Evictable says that something can be evicted from now on: a caller that waits may get its room.
func (b *Budget) Evictable() {
	if b != nil {
		b.settle()
	}
}

// settle grants what waits, in its order, as far as there is room or something can be evicted.
func (b *Budget) settle() {
	for {
		b.mu.Lock()
		first := b.waiting.Front()
		if first == nil {
			b.mu.Unlock()
			return
		}
		next := first.Value.(*claim)
		fits := b.fits(next.bytes)
		if fits {
			b.used += next.bytes
			b.waiting.Remove(first)
			close(next.granted)
		}
		b.mu.Unlock()
		if !fits && !b.evictOne() {
			return
		}
	}
}

// evictOne has one holder evict something. It says whether one did.
func (b *Budget) evictOne() bool {
	b.mu.Lock()
	holders := b.evict
	b.mu.Unlock()
	for _, evict := range holders {
		if evict() {
			return true
		}
	}
	return false
}
