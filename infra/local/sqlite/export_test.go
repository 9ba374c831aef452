package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Limit lets the file grow to so many pages, as a full disk would; 0: without limit.
func (s *Store) Limit(pages int64) error {
	s.table.Lock()
	defer s.table.Unlock()
	if pages == 0 {
		pages = 1 << 30
	}
	return s.db.script(fmt.Sprintf("PRAGMA max_page_count=%d", pages))
}

// Pages is how many pages the file has.
func (s *Store) Pages() (int64, error) {
	s.table.Lock()
	defer s.table.Unlock()
	return s.db.number("PRAGMA page_count")
}

// Break fails the connection, as a failing disk would.
func (s *Store) Break() error {
	s.table.Lock()
	defer s.table.Unlock()
	err := s.db.close()
	s.db = nil
	return err
}

// Script runs statements on the file.
func (s *Store) Script(text string) error {
	s.table.Lock()
	defer s.table.Unlock()
	return s.db.script(text)
}

// InMemory is how many runs are in memory.
func (s *Store) InMemory() int {
	s.hot.mu.Lock()
	defer s.hot.mu.Unlock()
	return len(s.hot.byName)
}

// TamperRecord changes what is stored of a record of a run's current generation.
func (s *Store) TamperRecord(t *testing.T, run string, _, number int, change func([]byte) []byte) {
	t.Helper()
	s.tamper(t, change, "record", "record WHERE key = (SELECT stream << 24 | ? FROM run WHERE run = ?)", int64(number), run)
}

// TamperItem changes what is stored of an item.
func (s *Store) TamperItem(t *testing.T, run, key string, change func([]byte) []byte) {
	t.Helper()
	s.tamper(t, change, "event", "inbox WHERE key = ? AND run = (SELECT number FROM run WHERE run = ?)", key, run)
}

// TamperSummary changes what is stored of a run's summary.
func (s *Store) TamperSummary(t *testing.T, run string, change func([]byte) []byte) {
	t.Helper()
	s.tamper(t, change, "summary", "run WHERE run = ?", run)
}

func (s *Store) tamper(t *testing.T, change func([]byte) []byte, column, where string, args ...any) {
	t.Helper()
	s.table.Lock()
	defer s.table.Unlock()
	var stored []byte
	require.NoError(t, s.db.rows("SELECT "+column+" FROM "+where, func(row []driver.Value) bool {
		stored = row[0].([]byte)
		return false
	}, args...))
	table, where, _ := strings.Cut(where, " ")
	n, err := s.db.exec("UPDATE "+table+" SET "+column+" = ? "+where, append([]any{change(stored)}, args...)...)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	s.hot.distrust()
}

// CheckFiles does what the store does every few seconds.
func (s *Store) CheckFiles() error { return s.submit(nil) }

// FailBackup makes a backup with something happening in its midst, and gives its error.
func (s *Store) FailBackup(midst func()) error {
	b, err := s.beginBackup(filepath.Join(filepath.Dir(s.file), "midst.db"))
	if err != nil {
		return err
	}
	midst()
	_, err = s.step(b)
	return errors.Join(err, s.endBackup(b))
}
