package sqlite

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

// Block writes the mark beside the summary, so that neither ever overwrites the other: a run whose summary or inbox cannot be read
// is marked all the same.
func (s *Store) Block(ctx context.Context, name string, block *engine.Block) error {
	text, err := s.encodeBlock(ctx, name, block)
	if err != nil {
		return err
	}
	r, err := s.pin(ctx, name)
	if errors.Is(err, history.ErrUnreadable) {
		return s.submit(&marking{name: name, text: text})
	} else if err != nil {
		return err
	}
	defer s.hot.unpin(r)
	return s.submit(&blocking{s: s, r: r, block: block, text: text})
}

// marking marks a run that is not in memory.
type marking struct {
	name string
	text any
}

func (m *marking) apply(db *connection) error {
	n, err := db.exec("UPDATE run SET block = ? WHERE run = ?", m.text, m.name)
	if err == nil && n == 0 {
		return noRun(m.name)
	}
	return err
}

func (m *marking) publish() {}

type blocking struct {
	s     *Store
	r     *run
	block *engine.Block
	text  any
}

func (b *blocking) apply(db *connection) error {
	n, err := db.exec("UPDATE run SET block = ? WHERE number = ?", b.text, b.r.number)
	if err == nil && (n == 0 || b.r.gone) {
		return noRun(b.r.name)
	}
	return err
}

func (b *blocking) publish() {
	summary := clone(b.r.summary)
	summary.Blocked = b.block
	b.s.hot.summarize(b.r, summary)
}
