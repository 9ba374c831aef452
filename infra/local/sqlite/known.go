package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
)

type position = port.Position

// noteKey is a note's place: a run's number is never used again.
type noteKey struct {
	run int64
	key string
}

// Note rides along with the next write, before deletions that are asked for later.
func (s *Store) Note(ctx context.Context, name string, notes []port.Note) error {
	r, err := s.pin(ctx, name)
	if errors.Is(err, port.ErrNoRun) {
		return nil
	} else if err != nil {
		return err
	}
	n := &noting{s: s, r: r, notes: notes, versions: make([]int, len(notes))}
	for i, note := range notes {
		n.versions[i] = s.notes.set(noteKey{r.number, note.Key}, note.Taken)
	}
	s.along(n)
	return nil
}

// noting writes notes. It pins its run until it is done.
type noting struct {
	s        *Store
	r        *run
	notes    []port.Note
	versions []int // in the overlay
}

func (n *noting) apply(db *connection) error {
	if n.r.gone {
		return nil
	}
	for _, note := range n.notes {
		_, err := db.exec("INSERT OR REPLACE INTO note(run, key, generation, record) VALUES(?, ?, ?, ?)",
			n.r.number, note.Key, int64(note.Taken.Generation), int64(note.Taken.Record))
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *noting) publish() {
	for i, note := range n.notes {
		n.s.notes.done(noteKey{n.r.number, note.Key}, n.versions[i])
	}
	n.s.hot.release(n.r)
}

func (s *Store) Noted(ctx context.Context, name, key string) (at port.Position, err error) {
	r, err := s.pin(ctx, name)
	if errors.Is(err, port.ErrNoRun) {
		return at, nil
	} else if err != nil {
		return at, err
	}
	defer s.hot.unpin(r)
	if p, there := s.notes.get(noteKey{r.number, key}); there {
		return p.value, nil
	}
	err = s.read(ctx, func(db *connection) error {
		return db.rows("SELECT generation, record FROM note WHERE run = ? AND key = ?", func(row []driver.Value) bool {
			at = port.Position{Generation: int(row[0].(int64)), Record: int(row[1].(int64))}
			return false
		}, r.number, key)
	})
	return at, err
}

func (s *Store) Item(ctx context.Context, name, key string) (*port.Item, error) {
	r, err := s.pin(ctx, name)
	if errors.Is(err, port.ErrNoRun) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer s.hot.unpin(r)
	s.hot.mu.Lock()
	defer s.hot.mu.Unlock()
	item, there := r.inbox[key]
	if !there {
		return nil, nil
	}
	if item.Event == nil {
		return nil, r.unreadable[key]
	}
	return &item, nil
}

func (s *Store) Record(
	ctx context.Context, name string, at port.Position,
) (*history.Record, error) {
	stream, err := s.streamOf(ctx, name, at.Generation)
	if err != nil || stream == 0 || at.Record > maxNumber {
		return nil, err
	}
	var text []byte
	err = s.read(ctx, func(db *connection) error {
		return db.rows("SELECT record FROM record WHERE key = ?", func(row []driver.Value) bool {
			text = blob(row[0])
			return false
		}, place(stream, at.Record))
	})
	if err != nil || text == nil {
		return nil, err
	}
	record, err := seal.Decode(ctx, s.options.Codec, name, &history.Decoder{}, func(d *history.Decoder) (*history.Record, error) { return d.Record(text) })
	if err != nil {
		return nil, fmt.Errorf("record %d of generation %d: %w", at.Record, at.Generation, err)
	}
	return record, nil
}
