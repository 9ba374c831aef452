package sqlite

import "context"

// A file keeps some free pages, to use them again; what is beyond is given back to the disk, so
// much at a time: 512 pages.
const (
	keptPages = 1024 // at least; and a quarter of the file
)

// shrink gives free pages back to the disk. It moves pages, a few at a time, while others write.
func (s *Store) shrink(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &shrinking{}
		if err := s.submit(c); err != nil || c.done {
			return err
		}
	}
}

type shrinking struct{ done bool }

func (c *shrinking) apply(db *connection) error {
	free, err := db.number("PRAGMA freelist_count")
	if err != nil {
		return err
	}
	pages, err := db.number("PRAGMA page_count")
	if err != nil {
		return err
	}
	mode, err := db.number("PRAGMA auto_vacuum")
	if err != nil {
		return err
	}
	const incremental = 2 // a file of an earlier version has another mode: see Open
	if c.done = free <= max(keptPages, pages/4) || mode != incremental; c.done {
		return nil
	}
	_, err = db.exec("PRAGMA incremental_vacuum(512)")
	return err
}

func (c *shrinking) publish() {}
