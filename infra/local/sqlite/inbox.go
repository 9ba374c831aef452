package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/port"
)

const insertItem = "INSERT INTO inbox(run, key, stamp, event) VALUES(?, ?, ?, ?)"

// errThere says that an item of this key is there.
var errThere = errors.New("there already")

// File flushes durable items, and keeps others in memory. The event must not be changed afterwards: readers share it.
func (s *Store) File(
	ctx context.Context, name string, item port.Item,
) (stamp int64, there bool, err error) {
	r, err := s.pin(ctx, name)
	if err != nil {
		return 0, false, err
	}
	defer s.hot.unpin(r)
	s.hot.mu.Lock()
	if earlier, there := r.inbox[item.Key]; there {
		s.hot.mu.Unlock()
		return earlier.Stamp, true, nil
	}
	if !item.Durable && r.filing[item.Key] == 0 {
		s.hot.keep(r, item)
		s.hot.mu.Unlock()
		return item.Stamp, false, nil
	}
	item.Durable = true // one of its key is under way to the disk: only there it is decided which one came first
	count(&r.filing, item.Key, 1)
	s.hot.mu.Unlock()
	event, err := s.encodeEvent(ctx, name, item.Event)
	if err == nil {
		err = s.submit(&filing{s: s, r: r, item: item, event: event})
	}
	s.hot.mu.Lock()
	count(&r.filing, item.Key, -1)
	earlier, still := r.inbox[item.Key]
	s.hot.mu.Unlock()
	switch {
	case errors.Is(err, errThere) && still:
		return earlier.Stamp, true, nil
	case errors.Is(err, errThere): // and deleted since: its place among others is settled
		return item.Stamp, true, nil
	}
	return item.Stamp, false, err
}

type filing struct {
	s     *Store
	r     *run
	item  port.Item
	event []byte
}

func (f *filing) apply(db *connection) error {
	if f.r.gone {
		return noRun(f.r.name)
	}
	f.s.hot.mu.Lock()
	there, found := f.r.inbox[f.item.Key]
	f.s.hot.mu.Unlock()
	if found && !there.Durable {
		return errThere
	}
	_, err := db.exec(insertItem, f.r.number, f.item.Key, f.item.Stamp, f.event)
	if conflicts(err) {
		return errThere
	}
	return err
}

func (f *filing) publish() { f.s.hot.keep(f.r, f.item) }

func (s *Store) Delete(ctx context.Context, name string, keys []string) error {
	return s.deleteIf(ctx, name, keys, func(*run) error { return nil })
}

func (s *Store) Discard(ctx context.Context, name string, generation int, keys []string) error {
	return s.deleteIf(ctx, name, keys, func(r *run) error {
		if present := r.summary.Generation; present != generation {
			return fmt.Errorf("run %q is in generation %d: %w", name, present, port.ErrTaken)
		}
		return nil
	})
}

// deleteIf takes items out of the inbox if nothing is to be said against it, which is asked while nobody else changes the run.
func (s *Store) deleteIf(ctx context.Context, name string, keys []string, against func(*run) error) error {
	r, err := s.pinToWrite(ctx, name)
	if errors.Is(err, port.ErrNoRun) {
		return nil
	} else if err != nil {
		return err
	}
	t := &tidying{s: s, r: r}
	s.hot.mu.Lock()
	if err := against(r); err != nil {
		s.hot.release(r)
		s.hot.mu.Unlock()
		return err
	}
	for _, key := range keys {
		item, there := s.hot.remove(r, key)
		if there && item.Durable || r.filing[key] > 0 || !r.loaded {
			t.keys = append(t.keys, key)
			count(&r.deleting, key, 1)
		}
	}
	if len(t.keys) == 0 {
		s.hot.release(r)
	}
	s.hot.mu.Unlock()
	if len(t.keys) > 0 {
		s.along(t)
	}
	return nil
}

// tidying deletes durable items. It pins its run until it is done, so that they do not show again.
type tidying struct {
	s    *Store
	r    *run
	keys []string
}

func (t *tidying) apply(db *connection) error {
	for _, key := range t.keys {
		if _, err := db.exec("DELETE FROM inbox WHERE run = ? AND key = ?", t.r.number, key); err != nil {
			return err
		}
	}
	return nil
}

func (t *tidying) publish() {
	for _, key := range t.keys {
		count(&t.r.deleting, key, -1)
		if item, there := t.r.inbox[key]; there && item.Durable { // it was being filed when it was deleted
			t.s.hot.remove(t.r, key)
		}
	}
	t.s.hot.release(t.r)
}
