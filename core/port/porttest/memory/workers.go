package memory

import (
	"context"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

func (s *Store) PutWorker(ctx context.Context, worker *port.Worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := copied(*worker)
	if there, ok := s.workers[worker.URL]; ok {
		kept.Registered = there.Registered
	}
	s.workers[worker.URL] = kept
	return ctx.Err()
}

func (s *Store) BeatWorker(
	ctx context.Context, url string, load int64, at time.Time,
) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, known := s.workers[url]
	if known {
		kept.Load, kept.Heartbeat = load, at
		s.workers[url] = kept
	}
	return known, ctx.Err()
}

func (s *Store) ListWorkers(
	ctx context.Context, query port.WorkerQuery,
) (all []*port.Worker, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range s.workers { // order-insensitive: it is sorted
		if query.Fits(&kept) {
			found := copied(kept)
			all = append(all, &found)
		}
	}
	port.SortWorkers(all)
	return all, ctx.Err()
}

func (s *Store) DeleteWorker(ctx context.Context, url string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.workers, url)
	return ctx.Err()
}

func copied(worker port.Worker) port.Worker {
	worker.Services = slices.Clone(worker.Services)
	return worker
}
