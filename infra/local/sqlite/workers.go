package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// PutWorker flushes.
func (s *Store) PutWorker(ctx context.Context, worker *port.Worker) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	services, err := json.Marshal(worker.Services)
	if err != nil {
		return err
	}
	return s.submit(directChange(func(db *connection) error {
		_, err := db.exec(`INSERT INTO worker(url, id, services, load, heartbeat, registered) VALUES(?, ?, ?, ?, ?, ?)
			ON CONFLICT(url) DO UPDATE SET id = excluded.id, services = excluded.services, load = excluded.load, heartbeat = excluded.heartbeat`,
			worker.URL, worker.ID, services, worker.Load, worker.Heartbeat.UnixNano(), worker.Registered.UnixNano())
		return err
	}))
}

// BeatWorker flushes.
func (s *Store) BeatWorker(
	ctx context.Context, url string, load int64, at time.Time,
) (known bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err = s.submit(directChange(func(db *connection) error {
		n, err := db.exec("UPDATE worker SET load = ?, heartbeat = ? WHERE url = ?", load,
			at.UnixNano(), url)
		known = n > 0
		return err
	}))
	return known && err == nil, err
}

// ListWorkers reads all workers, of which there are few: [port.MostWorkers] at most.
func (s *Store) ListWorkers(
	ctx context.Context, query port.WorkerQuery,
) (all []*port.Worker, err error) {
	var unreadable error
	err = s.read(ctx, func(db *connection) error {
		return db.rows("SELECT url, id, services, load, heartbeat, registered FROM worker ORDER "+
			"BY registered, url", func(row []driver.Value) bool {
			found := &port.Worker{URL: row[0].(string), ID: row[1].(string), Load: row[3].(int64),
				Heartbeat:  time.Unix(0, row[4].(int64)).UTC(),
				Registered: time.Unix(0, row[5].(int64)).UTC()}
			if err := json.Unmarshal(blob(row[2]), &found.Services); err != nil {
				unreadable = fmt.Errorf("%w: the services of worker %s: %w", history.ErrUnreadable,
					found.URL, err)
				return false
			}
			if query.Fits(found) {
				all = append(all, found)
			}
			return true
		})
	})
	return all, errors.Join(err, unreadable)
}

// DeleteWorker flushes.
func (s *Store) DeleteWorker(ctx context.Context, url string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.submit(directChange(func(db *connection) error {
		_, err := db.exec("DELETE FROM worker WHERE url = ?", url)
		return err
	}))
}
