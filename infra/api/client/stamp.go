package client

import (
	"sync"
	"time"
)

// stamps remembers with what stamp the last mail to each run was accepted: the next one is put after it, whichever server
// takes it and whatever its clock says.
type stamps struct {
	mu   sync.Mutex
	last map[string]int64
	many int // with so many, those that have nothing to say are dropped
}

// Beyond staleAfter no two servers' clocks differ, so an older stamp has nothing to say; they are dropped when there are many, and
// again when there are twice as many as were left: so the work for each mail stays the same, however many there are.
const (
	staleAfter = 10 * time.Minute
	manyStamps = 4096
)

func (s *stamps) after(run string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[run]
}

func (s *stamps) accepted(run string, stamp int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last, s.many = map[string]int64{}, manyStamps
	}
	if len(s.last) >= s.many {
		for other, old := range s.last {
			if time.Duration(stamp-old) > staleAfter {
				delete(s.last, other)
			}
		}
		s.many = max(manyStamps, 2*len(s.last))
	}
	s.last[run] = max(s.last[run], stamp)
}
