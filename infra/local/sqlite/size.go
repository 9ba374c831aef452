package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/reprise-run/reprise/core/port"
)

var _ port.Sizer = (*Store)(nil)

// Size adds lengths that SQLite knows without reading the values. What is hot, and without a log,
// costs no statement.
func (s *Store) Size(ctx context.Context, name string) (size int64, err error) {
	return s.sizeWith(ctx, name, func(db *connection, stream int64) (int64, error) {
		return db.number("SELECT sum(length(record)) FROM record WHERE key > ? AND key <= ?",
			place(stream, 0), place(stream, maxNumber))
	})
}

// SizeOfNewest adds the lengths of the newest records alone.
func (s *Store) SizeOfNewest(ctx context.Context, name string) (size int64, err error) {
	return s.sizeWith(ctx, name, func(db *connection, stream int64) (size int64, err error) {
		count := 0
		err = db.rows(lengths+" DESC", func(row []driver.Value) bool {
			size += row[0].(int64)
			count++
			return size <= pageBytes && count < port.NewestRecords
		}, place(stream, 0), place(stream, maxNumber))
		return size, err
	})
}

// sizeWith adds the size of a part of the log to the size of the rest of a run.
func (s *Store) sizeWith(
	ctx context.Context, name string, ofLog func(db *connection, stream int64) (int64, error),
) (size int64, err error) {
	size, stream, last, err := s.sizeOf(ctx, name)
	if err != nil || last == 0 {
		return size, err
	}
	err = s.read(ctx, func(db *connection) error {
		n, err := ofLog(db, stream)
		size += n
		return err
	})
	return size, err
}

// SizeOfSummary is Size without the log.
func (s *Store) SizeOfSummary(ctx context.Context, name string) (size int64, err error) {
	size, _, _, err = s.sizeOf(ctx, name)
	return size, err
}

// sizeOf is how long the summary and the inbox of a run are, and where its log is: the caller that
// asks has claimed no memory for the run so far, so it is not read. A last of more than zero: the log
// may have records.
func (s *Store) sizeOf(ctx context.Context, name string) (size, stream int64, last int, err error) {
	if r := s.hot.find(name); r != nil {
		defer s.hot.unpin(r)
		s.hot.mu.Lock()
		defer s.hot.mu.Unlock()
		return int64(r.bytes), r.stream, r.last, nil
	}
	found := false
	err = s.read(ctx, func(db *connection) error {
		return db.rows(sizes, func(row []driver.Value) bool {
			found, size, stream = true, row[0].(int64), row[1].(int64)
			return false
		}, name)
	})
	if err == nil && !found {
		err = noRun(name)
	}
	return size, stream, maxNumber, err
}

const sizes = `SELECT length(summary) + ifnull((SELECT sum(length(event)) FROM inbox WHERE inbox.run = number), 0), stream
	FROM run WHERE run = ?`

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
