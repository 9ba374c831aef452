package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
)

// pageBytes is how much of a log one page holds, in its stored form, and of values that were sealed; at least one record.
const pageBytes = 1 << 20

// Look costs no statement where the run was active lately and the caller knows its last record.
func (s *Store) Look(ctx context.Context, name string, known port.Position) (*port.View, error) {
	r, err := s.pin(ctx, name)
	if err != nil {
		return nil, err
	}
	defer s.hot.unpin(r)
	s.hot.mu.Lock()
	view := &port.View{Summary: clone(r.summary)}
	err = r.broken
	if len(r.inbox) > 0 {
		view.Inbox = make([]port.Item, 0, len(r.inbox))
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
	if known == port.Newest {
		if last > 0 {
			view.Records, view.More, err = s.pageBefore(ctx, name, stream, view.Summary.Generation,
				math.MaxInt)
		}
		return view, err
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

func (s *Store) Summary(ctx context.Context, name string) (*port.Summary, error) {
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

func (s *Store) RecordsBefore(
	ctx context.Context, name string, generation, before int,
) ([]*history.Record, error) {
	stream, err := s.streamOf(ctx, name, generation)
	if err != nil || stream == 0 {
		return nil, err
	}
	records, _, err := s.pageBefore(ctx, name, stream, generation, before)
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
	p := &page{store: s, run: name, generation: generation, decode: (*history.Decoder).Record}
	err = p.read(ctx, "SELECT record, key FROM record WHERE key > ? AND key <= ? ORDER BY key",
		math.MaxInt,
		place(stream, max(0, after)), place(stream, maxNumber))
	if err == nil {
		err = p.open(ctx)
	}
	return p.records, p.more, err
}

// pageBefore is page from the end of the log.
func (s *Store) pageBefore(
	ctx context.Context, name string, stream int64, generation, before int,
) (records []*history.Record, more bool, err error) {
	p := &page{store: s, run: name, generation: generation,
		decode: (*history.Decoder).RecordWithCheckpoint}
	err = p.read(ctx, "SELECT record, key FROM record WHERE key > ? AND key <= ? ORDER BY key DESC",
		port.NewestRecords,
		place(stream, 0), place(stream, min(max(0, before-1), maxNumber)))
	if err == nil {
		err = p.open(ctx)
	}
	if err != nil {
		return nil, false, err
	}
	slices.Reverse(p.records)
	return p.records, p.more, nil
}

// page is a part of a log that is being read.
type page struct {
	store      *Store
	run        string
	generation int
	decode     func(*history.Decoder, []byte) (*history.Record, error)
	texts      [][]byte
	numbers    []int64
	records    []*history.Record
	more       bool
}

// read reads as many records as fit.
func (p *page) read(ctx context.Context, query string, most int, args ...any) error {
	return p.store.read(ctx, func(db *connection) error {
		size := 0
		return db.rows(query, func(row []driver.Value) bool {
			text := blob(row[0])
			if size += len(text); len(p.texts) > 0 && size > pageBytes || len(p.texts) == most {
				p.more = true
				return false
			}
			p.texts, p.numbers = append(p.texts, text), append(p.numbers, row[1].(int64)&maxNumber)
			return true
		}, args...)
	})
}

// open decodes what was read.
func (p *page) open(ctx context.Context) error {
	var decoder history.Decoder
	codec, size := p.store.options.Codec, &seal.Weighing{Codec: p.store.options.Codec}
	if codec != nil {
		codec = size
	}
	for i, text := range p.texts {
		record, err := seal.Decode(ctx, codec, p.run, &decoder,
			func(d *history.Decoder) (*history.Record, error) {
				return p.decode(d, text)
			})
		if err != nil {
			p.more = false
			return fmt.Errorf("record %d of generation %d: %w", p.numbers[i], p.generation, err)
		}
		// what was sealed may have been compressed
		if len(p.records) > 0 && size.Opened() > pageBytes {
			p.more = true
			return nil
		}
		p.records = append(p.records, record)
	}
	return nil
}
