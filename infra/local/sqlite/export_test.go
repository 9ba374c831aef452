package sqlite

import "fmt"

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
