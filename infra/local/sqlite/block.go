package sqlite

import (
	"context"

	"github.com/reprise-run/reprise/core/port"
)

// Block writes the mark beside the summary, so that neither ever overwrites the other. It reads nothing of the run: what
// blocks it may be that it cannot be read.
func (s *Store) Block(ctx context.Context, name string, block *port.Block) error {
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
	block *port.Block
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
	summary := clone(r.summary)
	summary.Blocked = b.block
	b.s.hot.summarize(r, summary)
}

// Unblock leaves the mark that has another id.
func (s *Store) Unblock(ctx context.Context, name, mark string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.submit(&unblocking{s: s, name: name, mark: mark})
}

type unblocking struct {
	s          *Store
	name, mark string
}

func (u *unblocking) apply(db *connection) error {
	_, err := db.exec("UPDATE run SET block = NULL WHERE run = ? AND json_extract(CAST(block AS TEXT), '$.id') = ?", u.name, u.mark)
	return err
}

// publish has the run loaded anew: it is tried again, and what could not be read may be readable by now.
func (u *unblocking) publish() {
	if r := u.s.hot.byName[u.name]; r != nil {
		r.loaded = false
	}
}
