package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/reprise-run/reprise/core/engine"
)

func (s *Store) Block(ctx context.Context, name string, block *engine.Block) error {
	r, err := s.pin(ctx, name)
	if err != nil {
		return err
	}
	defer s.hot.unpin(r)
	return s.submit(&blocking{s: s, r: r, block: block})
}

type blocking struct {
	s       *Store
	r       *run
	block   *engine.Block
	summary *engine.Summary
}

// apply reads the summary from the table: a change before this one in the group may have replaced it.
func (b *blocking) apply(db *connection) error {
	var text []byte
	var stream int64
	err := db.rows("SELECT summary, stream FROM run WHERE number = ?", func(row []driver.Value) bool {
		text, stream = row[0].([]byte), row[1].(int64)
		return false
	}, b.r.number)
	if err != nil {
		return err
	}
	if text == nil || b.r.gone {
		return noRun(b.r.name)
	}
	if b.summary, err = decodeSummary(text); err != nil {
		return err
	}
	b.summary.Blocked = b.block
	b.summary = clone(b.summary)
	row, err := newRow(b.summary)
	if err != nil {
		return err
	}
	_, err = row.update(db, b.r.number, b.summary.Generation, stream, true)
	return err
}

func (b *blocking) publish() { b.s.hot.summarize(b.r, b.summary) }
