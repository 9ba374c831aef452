package sqlite

import (
	"context"
	"fmt"
	"sync"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
)

// Put stores records of numbers up to 16,777,215.
func (s *Store) Put(ctx context.Context, commit *port.Commit) error {
	if rec := commit.Record; rec != nil && (rec.Number < 1 || rec.Number > maxNumber) {
		return &port.Error{Code: port.TooLarge, Message: fmt.Sprintf(
			"record %d of run %q: numbers go from 1 to %d; continue as new before that", rec.Number, commit.Run, maxNumber)}
	}
	r, err := s.pinToWrite(ctx, commit.Run)
	if err != nil {
		return err
	}
	defer s.hot.unpin(r)
	p := &putting{s: s, r: r, commit: commit}
	if commit.Record != nil {
		space := spaces.Get().(*[]byte)
		defer spaces.Put(space)
		p.record, err = seal.Encode(ctx, s.options.Codec, commit.Run, func(e history.Encoder) ([]byte, error) {
			return e.AppendRecord((*space)[:0], commit.Record), nil
		})
		if err != nil {
			return err
		}
		if cap(p.record) < 1<<16 {
			*space = p.record
		}
	}
	if commit.Summary != nil {
		if p.row, err = s.newRow(ctx, commit.Summary); err != nil {
			return err
		}
	}
	if commit.Next != nil && commit.Next.Durable {
		if p.next, err = s.encodeEvent(ctx, commit.Run, commit.Next.Event); err != nil {
			return err
		}
	}
	return s.submit(p)
}

// spaces are where records are encoded.
var spaces = sync.Pool{New: func() any { return new([]byte) }}

type putting struct {
	s      *Store
	r      *run
	commit *port.Commit
	record []byte // nil: none
	row    row    // without a summary: none
	next   []byte // nil: none, or not durable
	stream int64  // of the generation that the summary is of
}

func (p *putting) apply(db *connection) error {
	if p.r.gone {
		return noRun(p.r.name)
	}
	stream, err := p.r.streamOf(db, p.commit.Generation)
	if err != nil {
		return err
	}
	if stream == 0 {
		return fmt.Errorf("generation %d of %w", p.commit.Generation, noRun(p.r.name))
	}
	if p.record != nil {
		_, err := db.exec("INSERT INTO record(key, record) VALUES(?, ?)", place(stream, p.commit.Record.Number), p.record)
		if conflicts(err) {
			return fmt.Errorf("record %d of generation %d of run %q: %w", p.commit.Record.Number,
				p.commit.Generation, p.r.name, port.ErrTaken)
		} else if err != nil {
			return err
		}
	}
	if p.commit.Summary != nil {
		if err := p.replace(db, stream); err != nil {
			return err
		}
	}
	if p.next != nil {
		_, err = db.exec("INSERT OR REPLACE INTO inbox(run, key, stamp, event) VALUES(?, ?, ?, ?)", p.r.number, p.commit.Next.Key, p.commit.Next.Stamp, p.next)
	}
	return err
}

// replace replaces the summary. Where that is refused, it takes the record back: a savepoint for each would cost more.
func (p *putting) replace(db *connection, stream int64) error {
	p.stream = stream
	next := p.commit.Summary.Generation != p.commit.Generation
	if next {
		p.s.number++
		p.stream = p.s.number
	}
	done, err := p.row.update(db, p.r.number, p.commit.Generation, p.stream, p.commit.Summary.Status == p.r.summary.Status)
	if err != nil {
		return err
	}
	if !done {
		if p.record != nil {
			if _, err := db.exec("DELETE FROM record WHERE key = ?", place(stream, p.commit.Record.Number)); err != nil {
				return err
			}
		}
		return fmt.Errorf("run %q is no longer in generation %d: %w", p.r.name, p.commit.Generation,
			port.ErrTaken)
	}
	if next {
		_, err = db.exec("INSERT OR REPLACE INTO generation(run, generation, stream) VALUES(?, ?, ?)",
			p.r.number, int64(p.commit.Summary.Generation), p.stream)
	}
	return err
}

func (p *putting) publish() {
	if p.record != nil && p.commit.Generation == p.r.summary.Generation {
		p.r.last = max(p.r.last, p.commit.Record.Number)
	}
	if p.commit.Summary != nil {
		if p.stream != p.r.stream {
			p.r.stream, p.r.last = p.stream, 0
		}
		summary := clone(p.commit.Summary)
		summary.Blocked = p.r.summary.Blocked
		p.s.hot.summarize(p.r, summary)
		p.r.broken = nil
	}
	if p.commit.Next != nil {
		p.s.hot.keep(p.r, *p.commit.Next)
	}
}

// streamOf gives the stream of one generation; 0 if there is none.
func (r *run) streamOf(db *connection, generation int) (int64, error) {
	switch generation {
	case r.summary.Generation:
		return r.stream, nil
	case 1:
		return r.number, nil
	}
	return db.number("SELECT stream FROM generation WHERE run = ? AND generation = ?", r.number, int64(generation))
}

func (s *Store) Create(ctx context.Context, summary *port.Summary, start port.Item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r := s.hot.find(summary.Run); r != nil {
		s.hot.unpin(r)
		return taken(summary.Run)
	}
	row, err := s.newRow(ctx, summary)
	if err != nil {
		return err
	}
	c := &creating{s: s, row: row, start: start, r: &run{name: summary.Run}}
	if start.Durable {
		if c.event, err = s.encodeEvent(ctx, summary.Run, start.Event); err != nil {
			return err
		}
	}
	if err := s.submit(c); err != nil {
		return err
	}
	s.hot.unpin(c.r)
	return nil
}

type creating struct {
	s     *Store
	row   row
	start port.Item
	event []byte // nil: not durable
	r     *run
}

func (c *creating) apply(db *connection) error {
	c.s.number++
	c.r.number = c.s.number
	err := c.row.insert(db, c.r.number)
	if conflicts(err) {
		return taken(c.r.name)
	}
	if err == nil && c.event != nil {
		_, err = db.exec(insertItem, c.r.number, c.start.Key, c.start.Stamp, c.event)
	}
	return err
}

func (c *creating) publish() {
	c.r.stream = c.r.number
	c.r.summary = clone(c.row.Summary)
	c.r.bytes = c.r.summary.Bytes()
	c.s.hot.add(c.r)
	c.s.hot.keep(c.r, c.start)
}

func taken(name string) error { return fmt.Errorf("run %q: %w", name, port.ErrTaken) }
