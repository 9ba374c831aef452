package sqlite

import (
	"context"

	"github.com/reprise-run/reprise/core/engine"
)

// Block writes the mark beside the summary, so that neither ever overwrites the other. It reads nothing of the run: what
// blocks it may be that it cannot be read.
func (s *Store) Block(ctx context.Context, name string, block *engine.Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := s.encodeBlock(ctx, name, block)
	if err != nil {
		return err
	}
	return s.submit(&blocking{s: s, name: name, block: block, text: text})
}

type blocking struct {
	s     *Store
	name  string
	block *engine.Block
	text  any
}

func (b *blocking) apply(db *connection) error {
	n, err := db.exec("UPDATE run SET block = ? WHERE run = ?", b.text, b.name)
	if err == nil && n == 0 {
		return noRun(b.name)
	}
	return err
}

func (b *blocking) publish() {
	r := b.s.hot.byName[b.name]
	if r == nil || !r.loaded {
		return
	}
	if b.block == nil { // it is tried again: what could not be read may be readable by now
		r.loaded = false
		return
	}
	summary := clone(r.summary)
	summary.Blocked = b.block
	b.s.hot.summarize(r, summary)
}
