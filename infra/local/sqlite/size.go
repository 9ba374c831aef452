package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/reprise-run/reprise/core/engine"
)

var _ engine.Sizer = (*Store)(nil)

// Size adds lengths that SQLite knows without reading the values. What is hot, and without a log,
// costs no statement.
func (s *Store) Size(ctx context.Context, name string) (size int64, err error) {
	r, err := s.pin(ctx, name)
	if err != nil {
		return 0, err
	}
	defer s.hot.unpin(r)
	s.hot.mu.Lock()
	size, stream, last := int64(r.bytes), r.stream, r.last
	s.hot.mu.Unlock()
	if last == 0 {
		return size, nil
	}
	err = s.read(ctx, func(db *connection) error {
		n, err := db.number("SELECT sum(length(record)) FROM record WHERE key > ? AND key <= ?", place(stream, 0), place(stream, maxNumber))
		size += n
		return err
	})
	return size, err
}

// SizeOfRecords adds the lengths of the records of one page.
func (s *Store) SizeOfRecords(ctx context.Context, name string, generation, after int) (size int64, err error) {
	stream, err := s.streamOf(ctx, name, generation)
	if err != nil || stream == 0 {
		return 0, err
	}
	err = s.read(ctx, func(db *connection) error {
		return db.rows(lengths, func(row []driver.Value) bool {
			size += row[0].(int64)
			return size <= pageBytes
		}, place(stream, max(0, after)), place(stream, maxNumber))
	})
	return size, err
}

const lengths = "SELECT length(record) FROM record WHERE key > ? AND key <= ? ORDER BY key"
