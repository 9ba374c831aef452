package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/seal"
)

// pageBytes is how much of a log one page holds, in its stored form, and of values that were sealed; at least one record.
const pageBytes = 1 << 20

// Look costs no statement where the run was active lately and the caller knows its last record.
func (s *Store) Look(ctx context.Context, name string, known engine.Position) (*engine.View, error) {
	r, err := s.pin(ctx, name)
	if err != nil {
		return nil, err
	}
	defer s.hot.unpin(r)
	s.hot.mu.Lock()
	view := &engine.View{Summary: clone(r.summary)}
	err = r.broken
	if len(r.inbox) > 0 {
		view.Inbox = make([]engine.Item, 0, len(r.inbox))
		for key, item := range r.inbox {
			if item.Event == nil && err == nil {
				err = r.unreadable[key]
			}
			view.Inbox = append(view.Inbox, item)
		}
	}
	stream, last := r.stream, r.last
	s.hot.mu.Unlock()
	if err != nil {
		return nil, err
	}
	after := 0
	if known.Generation == view.Summary.Generation {
		after = known.Record
	}
	if after < last {
		view.Records, view.More, err = s.page(ctx, name, stream, view.Summary.Generation, after)
	}
	return view, err
}

func (s *Store) Summary(ctx context.Context, name string) (*engine.Summary, error) {
	r, err := s.pin(ctx, name)
	if err != nil {
		return nil, err
	}
	defer s.hot.unpin(r)
	s.hot.mu.Lock()
	defer s.hot.mu.Unlock()
	return clone(r.summary), r.broken
}

func (s *Store) Records(ctx context.Context, name string, generation, after int) ([]*history.Record, error) {
	stream, err := s.streamOf(ctx, name, generation)
	if err != nil || stream == 0 {
		return nil, err
	}
	records, _, err := s.page(ctx, name, stream, generation, after)
	return records, err
}

// streamOf gives the stream of one generation; 0 if there is none.
func (s *Store) streamOf(ctx context.Context, name string, generation int) (stream int64, err error) {
	err = s.read(ctx, func(db *connection) (err error) {
		stream, err = db.number(`SELECT CASE WHEN generation = ?1 THEN stream WHEN ?1 = 1 THEN number
			ELSE (SELECT g.stream FROM generation g WHERE g.run = number AND g.generation = ?1) END FROM run WHERE run = ?2`,
			int64(generation), name)
		return err
	})
	return stream, err
}

// page reads records, and decodes them once others may use the connection.
func (s *Store) page(ctx context.Context, name string, stream int64, generation, after int) (records []*history.Record, more bool, err error) {
	var texts [][]byte
	var numbers []int64
	err = s.read(ctx, func(db *connection) error {
		size := 0
		return db.rows("SELECT record, key FROM record WHERE key > ? AND key <= ? ORDER BY key", func(row []driver.Value) bool {
			text := blob(row[0])
			if size += len(text); len(texts) > 0 && size > pageBytes {
				more = true
				return false
			}
			texts, numbers = append(texts, text), append(numbers, row[1].(int64)&maxNumber)
			return true
		}, place(stream, max(0, after)), place(stream, maxNumber))
	})
	if err != nil {
		return nil, false, err
	}
	var decoder history.Decoder
	codec, size := s.options.Codec, &seal.Weighing{Codec: s.options.Codec}
	if codec != nil {
		codec = size
	}
	for i, text := range texts {
		record, err := seal.Decode(ctx, codec, name, &decoder, func(d *history.Decoder) (*history.Record, error) { return d.Record(text) })
		if err != nil {
			return records, false, fmt.Errorf("record %d of generation %d: %w", numbers[i], generation, err)
		}
		if len(records) > 0 && size.Opened() > pageBytes { // what was sealed may have been compressed
			return records, true, nil
		}
		records = append(records, record)
	}
	return records, more, nil
}
