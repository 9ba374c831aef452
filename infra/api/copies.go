package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/reprise-run/reprise/core/port"
)

// copies are the long values that callers take at this moment. Each lies in a file, once for all of
// them. So a caller holds one small buffer, however long the value is, and however slow the caller.
type copies struct {
	folder string // empty: the system's folder for such files
	mu     sync.Mutex
	wanted map[string]*wanted
}

// wanted is a value, for as long as a caller wants it.
type wanted struct {
	turn    chan struct{} // held by the caller that reads the value
	callers int
	asked   int     // callers so far
	latest  *copied // nil: it was not read yet
	fresh   int     // of those that asked, the last one for whom latest was read late enough
}

// copied is a value as it was at one moment.
type copied struct {
	*scratch
	hash    [sha256.Size]byte
	sum     uint32 // see spot
	holders int
}

// newCopies removes what a process left behind that ended while callers took values.
func newCopies(folder string) *copies {
	if folder != "" {
		left, _ := filepath.Glob(filepath.Join(folder, scratchFiles))
		for _, file := range left {
			_ = os.Remove(file)
		}
	}
	return &copies{folder: folder, wanted: map[string]*wanted{}}
}

// take gives a value as it is at some moment after this call, and what ends the need for it. The
// callers that come while the value is read share the next reading.
func (c *copies) take(ctx context.Context, key string, read func() (text []byte, sum uint32, err error)) (
	value *copied, leave func(), err error,
) {
	c.mu.Lock()
	w := c.wanted[key]
	if w == nil {
		w = &wanted{turn: make(chan struct{}, 1)}
		c.wanted[key] = w
	}
	w.callers++
	w.asked++
	mine := w.asked
	c.mu.Unlock()
	select {
	case w.turn <- struct{}{}:
		value, err = c.latest(w, mine, read)
		<-w.turn
	case <-ctx.Done():
		err = ctx.Err()
	}
	leave = func() { c.leave(key, w, value) }
	if err != nil {
		leave()
	}
	return value, leave, err
}

// latest reads the value, unless the reading of another caller began late enough. The caller has the
// turn.
func (c *copies) latest(w *wanted, mine int, read func() (text []byte, sum uint32, err error)) (
	*copied, error,
) {
	c.mu.Lock()
	asked := w.asked
	fresh := w.latest != nil && w.fresh >= mine
	c.mu.Unlock()
	if !fresh {
		text, sum, err := read()
		if err != nil {
			return nil, err
		}
		if err := c.renew(w, text, sum); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !fresh {
		w.fresh = asked
	}
	w.latest.holders++
	return w.latest, nil
}

// renew makes a copy of the value, unless it is what it was.
func (c *copies) renew(w *wanted, text []byte, sum uint32) error {
	hash := sha256.Sum256(text)
	if w.latest != nil && w.latest.hash == hash {
		return nil
	}
	file, err := newScratch(c.folder, text)
	if err != nil {
		return fmt.Errorf("%w: the disk did not take the copy that the value is read from: %w",
			port.ErrUnavailable, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := w.latest
	w.latest = &copied{scratch: file, hash: hash, sum: sum, holders: 1}
	before.let()
	return nil
}

// leave ends a caller's need for a value. The last one has its copy deleted.
func (c *copies) leave(key string, w *wanted, value *copied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value.let()
	if w.callers--; w.callers == 0 {
		w.latest.let()
		delete(c.wanted, key)
	}
}

// let ends one need for a copy, if there is one. The lock is held.
func (v *copied) let() {
	if v == nil {
		return
	}
	if v.holders--; v.holders == 0 {
		_ = v.close() // nothing in it is needed any more
	}
}
