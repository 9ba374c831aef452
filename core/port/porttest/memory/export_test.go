package memory

import (
	"slices"
	"testing"
)

// TamperRecord changes what is stored of a record.
func (s *Store) TamperRecord(_ *testing.T, name string, generation, number int, change func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.runs[name].logs[generation]
	at, _ := slices.BinarySearchFunc(log, number, byNumber)
	log[at].record = change(log[at].record)
}

// TamperItem changes what is stored of an item.
func (s *Store) TamperItem(_ *testing.T, name, key string, change func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.runs[name].inbox[key]
	kept.event = change(kept.event)
	s.runs[name].inbox[key] = kept
}
