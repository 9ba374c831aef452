package sqlite

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
)

// hotRuns are the runs in memory: those used lately, those in use, and those with items that are only here.
//
// What the table holds of a run (summary, stream, last, durable items) changes only under both mutexes, table's and this
// one: when it is loaded, and when a group was committed. So a run loaded from the table is never older than the table.
type hotRuns struct {
	mu     sync.Mutex
	byName map[string]*run
	idle   *list.List // of loaded runs that nobody pins, the latest used in front
	limit  int
	most   int // bytes that the summaries and durable items of hot runs may hold together
	bytes  int
}

// run is what is in memory of one.
type run struct {
	name    string
	number  int64
	pins    int
	element *list.Element // in idle
	loaded  bool          // all of it is here, not just the items that are not durable
	placed  bool          // what pinToWrite gives is here: number, stream, last, and the columns' part of summary
	gone    bool          // it was deleted
	summary *port.Summary
	stream  int64 // of the current generation
	last    int   // the number of its last record
	bytes   int
	inbox   map[string]port.Item
	// broken says why the summary has no more than what the columns beside it say, if that is so; and unreadable why items in the
	// inbox have no event. Nobody looks at such a run; but mail is still filed, and it is shown, and can be blocked.
	broken     error
	unreadable map[string]error
	// Keys of durable items under way: being filed, and being deleted. A deleted item no longer shows.
	filing, deleting map[string]int
}

// clear forgets all runs. Who still pins one does no harm.
func (h *hotRuns) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byName, h.idle, h.bytes = map[string]*run{}, list.New(), 0
}

// distrust has every run loaded again before it is used.
func (h *hotRuns) distrust() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.byName {
		r.loaded, r.placed = false, false
	}
}

// pin gives a run, all of it, and keeps it in memory until unpin. ErrNoRun if there is none.
func (s *Store) pin(ctx context.Context, name string) (*run, error) {
	return s.findOrLoad(ctx, name, s.hot.find, func() (*run, error) {
		stored, err := s.load(ctx, s.db, name)
		if err != nil {
			return nil, err
		}
		return s.hot.take(stored), nil
	})
}

// pinToWrite is pin for a caller that reads neither values nor inbox. Of a run that is not in
// memory, it loads only the columns beside the summary: a large run is not read for each of its
// writes.
func (s *Store) pinToWrite(ctx context.Context, name string) (*run, error) {
	return s.findOrLoad(ctx, name, s.hot.findToWrite, func() (*run, error) {
		var stored *run
		err := s.db.rows(withPlace+"NULL, "+besideSummary+" FROM run WHERE run = ?",
			func(row []driver.Value) bool {
				stored = newRun(name, row)
				found := summaryOf(row[3:])
				stored.summary = &found.apart
				return false
			}, name)
		if err == nil && stored == nil {
			err = noRun(name)
		}
		if err != nil {
			return nil, err
		}
		return s.hot.takeToWrite(stored), nil
	})
}

// findOrLoad pins a run that is in memory, or loads it with the table to itself.
func (s *Store) findOrLoad(
	ctx context.Context, name string, find func(name string) *run, load func() (*run, error),
) (*run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r := find(name); r != nil {
		return r, nil
	}
	if err := s.use(); err != nil {
		return nil, err
	}
	defer s.table.Unlock()
	if r := find(name); r != nil {
		return r, nil
	}
	r, err := load()
	if err != nil {
		return nil, explain(s.file, err)
	}
	return r, nil
}

// takeToWrite is take for a run of which nothing but the columns was loaded.
func (h *hotRuns) takeToWrite(stored *run) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.byName[stored.name]
	if r == nil {
		h.byName[stored.name] = stored
		r = stored
	} else {
		h.count(r, -r.summary.Bytes())
		r.number, r.summary, r.stream, r.last = stored.number, stored.summary, stored.stream, stored.last
	}
	r.placed = true
	h.hold(r)
	return r
}

func (h *hotRuns) find(name string) *run {
	return h.findIf(name, func(r *run) bool { return r.loaded })
}

func (h *hotRuns) findToWrite(name string) *run {
	return h.findIf(name, func(r *run) bool { return r.loaded || r.placed })
}

func (h *hotRuns) findIf(name string, known func(*run) bool) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.byName[name]
	if r == nil || !known(r) {
		return nil
	}
	h.hold(r)
	return r
}

// take merges what was loaded with what is only in memory.
func (h *hotRuns) take(stored *run) *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.byName[stored.name]
	if r == nil {
		h.byName[stored.name] = stored
		r = stored
	} else {
		h.bytes -= r.bytes
		for key, item := range r.inbox {
			if !item.Durable {
				stored.inbox[key] = item
			}
		}
		for key := range r.deleting {
			if item, there := stored.inbox[key]; there && item.Durable {
				stored.bytes -= history.EventBytes(item.Event)
				delete(stored.inbox, key)
			}
		}
		r.number, r.summary, r.stream, r.last = stored.number, stored.summary, stored.stream, stored.last
		r.inbox, r.broken, r.unreadable, r.bytes, r.loaded = stored.inbox, stored.broken, stored.unreadable, stored.bytes, true
	}
	h.bytes += r.bytes
	h.hold(r)
	return r
}

// hold pins.
func (h *hotRuns) hold(r *run) {
	if r.pins++; r.element != nil {
		h.idle.Remove(r.element)
		r.element = nil
	}
}

func (h *hotRuns) unpin(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.release(r)
}

// release unpins, and makes room.
func (h *hotRuns) release(r *run) {
	if r.pins--; r.pins > 0 || h.byName[r.name] != r {
		return
	}
	if !r.loaded {
		h.evict(r)
		return
	}
	r.element = h.idle.PushFront(r)
	for h.idle.Len() > h.limit || h.bytes > h.most && h.idle.Len() > 0 {
		h.evict(h.idle.Remove(h.idle.Back()).(*run))
	}
}

// evict forgets what the table has.
func (h *hotRuns) evict(r *run) {
	h.bytes -= r.bytes
	r.element, r.loaded, r.placed, r.summary, r.bytes = nil, false, false, nil, 0
	for key, item := range r.inbox {
		if item.Durable {
			delete(r.inbox, key)
		}
	}
	if len(r.inbox) == 0 {
		delete(h.byName, r.name)
	}
}

// add makes a run that was just created a hot one, pinned.
func (h *hotRuns) add(r *run) {
	r.loaded = true
	h.byName[r.name] = r
	h.bytes += r.bytes
	h.hold(r)
}

// forget drops a run that was deleted.
func (h *hotRuns) forget(name string) {
	r := h.byName[name]
	if r == nil {
		return
	}
	h.bytes -= r.bytes
	if delete(h.byName, name); r.element != nil {
		h.idle.Remove(r.element)
		r.element = nil
	}
	r.gone = true
}

// summarize replaces the summary.
func (h *hotRuns) summarize(r *run, summary *port.Summary) {
	change := summary.Bytes() - r.summary.Bytes()
	r.summary = summary
	h.count(r, change)
}

// count counts bytes that a run holds from now on, or no longer.
func (h *hotRuns) count(r *run, change int) {
	r.bytes += change
	if !r.gone {
		h.bytes += change
	}
}

// keep puts an item into the inbox of a run.
func (h *hotRuns) keep(r *run, item port.Item) {
	h.remove(r, item.Key)
	if r.inbox == nil {
		r.inbox = map[string]port.Item{}
	}
	r.inbox[item.Key] = item
	if item.Durable {
		h.count(r, history.EventBytes(item.Event))
	}
}

// remove takes an item out of the inbox of a run, and says which one it was.
func (h *hotRuns) remove(r *run, key string) (item port.Item, there bool) {
	if item, there = r.inbox[key]; there {
		delete(r.inbox, key)
		if item.Durable {
			h.count(r, -history.EventBytes(item.Event))
		}
	}
	return item, there
}

// count counts one more, or one less, and removes what comes to nothing.
func count(keys *map[string]int, key string, by int) {
	if *keys == nil {
		*keys = map[string]int{}
	}
	if (*keys)[key] += by; (*keys)[key] == 0 {
		delete(*keys, key)
	}
}

// withPlace reads where a run is in the tables, for newRun, and then more.
const withPlace = "SELECT number, stream, (SELECT max(key) FROM record WHERE key BETWEEN (stream << 24) AND (stream << 24 | 0xffffff)), "

func newRun(name string, row []driver.Value) *run {
	r := &run{name: name, number: row[0].(int64), stream: row[1].(int64)}
	if key, there := row[2].(int64); there {
		r.last = int(key & maxNumber)
	}
	return r
}

// load reads a run from the table.
func (s *Store) load(ctx context.Context, db *connection, name string) (*run, error) {
	var r *run
	var found storedSummary
	err := db.rows(withPlace+summaryColumns+" FROM run WHERE run = ?", func(row []driver.Value) bool {
		r, found = newRun(name, row), summaryOf(row[3:])
		r.loaded, r.inbox = true, map[string]port.Item{}
		return false
	}, name)
	if err == nil && r == nil {
		err = noRun(name)
	}
	if err != nil {
		return nil, err
	}
	if r.summary, r.broken = s.decodeSummary(ctx, found); r.broken != nil && !errors.Is(r.broken, history.ErrUnreadable) {
		return nil, r.broken
	}
	r.bytes = r.summary.Bytes()
	var failed error // it was not found out whether it can be read
	decoder := &history.Decoder{}
	err = db.rows("SELECT key, stamp, event FROM inbox WHERE run = ?", func(row []driver.Value) bool {
		item := port.Item{Key: row[0].(string), Stamp: row[1].(int64), Durable: true}
		text := blob(row[2])
		event, unreadable := seal.Decode(ctx, s.options.Codec, name, decoder, func(d *history.Decoder) (history.Event, error) { return d.Event(text) })
		switch {
		case unreadable == nil:
			item.Event = event
		case errors.Is(unreadable, history.ErrUnreadable):
			if r.unreadable == nil {
				r.unreadable = map[string]error{}
			}
			r.unreadable[item.Key] = fmt.Errorf("item %q: %w", item.Key, unreadable)
		default:
			failed = unreadable
		}
		r.inbox[item.Key] = item
		r.bytes += history.EventBytes(item.Event)
		return failed == nil
	}, r.number)
	if err == nil {
		err = failed
	}
	return r, err
}

func noRun(name string) error { return fmt.Errorf("run %q: %w", name, port.ErrNoRun) }
