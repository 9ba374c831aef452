package memory

import (
	"context"
	"time"
)

// DeleteClosed deletes runs that ended before a time, with all that is kept of them but their long timers: no more than
// limit, and says how many.
func (s *Store) DeleteClosed(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, r := range s.runs {
		summary, err := decode(r.summary)
		if err != nil {
			return deleted, err
		}
		if deleted == limit || !summary.Status.Closed() || !summary.Closed.Before(before) {
			continue
		}
		delete(s.runs, name)
		for key := range s.tasks {
			if key.Run == name {
				delete(s.tasks, key)
			}
		}
		deleted++
	}
	return deleted, ctx.Err()
}

// Close does nothing: the store is gone when nobody holds it.
func (s *Store) Close() error { return nil }
