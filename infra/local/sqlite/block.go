package sqlite

import (
	"context"

	"github.com/reprise-run/reprise/core/engine"
)

// Block writes the mark beside the summary, so that neither ever overwrites the other.
func (s *Store) Block(ctx context.Context, name string, block *engine.Block) error {
	r, err := s.pin(ctx, name)
	if err != nil {
		return err
	}
	defer s.hot.unpin(r)
	text, err := s.encodeBlock(ctx, name, block)
	if err != nil {
		return err
	}
	return s.submit(&blocking{s: s, r: r, block: block, text: text})
}

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
