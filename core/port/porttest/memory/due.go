package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// duePage is how many timers one page holds.
const duePage = 1000

func (s *Store) PutDue(ctx context.Context, timers ...port.DueTimer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, timer := range timers {
		s.due[normal(timer)] = true
	}
	return ctx.Err()
}

func (s *Store) DueBefore(ctx context.Context, before time.Time) (due []port.DueTimer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for timer := range s.due {
		if timer.At.Truncate(time.Minute).Before(before) {
			due = append(due, timer)
		}
	}
	slices.SortFunc(due, func(a, b port.DueTimer) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Seq, b.Seq))
	})
	return due[:min(len(due), duePage)], ctx.Err()
}

func (s *Store) DeleteDue(ctx context.Context, timers []port.DueTimer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, timer := range timers {
		delete(s.due, normal(timer))
	}
	return ctx.Err()
}

// normal makes timers that mean the same compare as equal.
func normal(timer port.DueTimer) port.DueTimer {
	timer.At = time.Unix(timer.At.Unix(), int64(timer.At.Nanosecond())).UTC()
	return timer
}
