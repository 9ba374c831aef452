package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

// swept is how many records are deleted while other writers wait.
const swept = 1000

// DeleteClosed deletes runs that ended before a time: summary, logs of all generations, inbox, tasks. It deletes no more
// than limit runs, and says how many; fewer than limit means that none is left. Their long timers stay, fire, and find
// no run.
//
// Runs disappear one by one, each at once and for good; then their records are deleted, a few at a time, between which
// other writers get their turn. What an earlier call did not finish is finished by the next one.
func (s *Store) DeleteClosed(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	for _, status := range []history.Status{history.Completed, history.Failed, history.Cancelled, history.Terminated} {
		for deleted < limit {
			names, err := s.expired(ctx, status, before, min(limit-deleted, defaultPage))
			if err != nil {
				return deleted, err
			}
			for _, name := range names {
				if err := s.deleteRun(ctx, name, before); err != nil {
					return deleted, err
				}
				deleted++
			}
			if len(names) == 0 {
				break
			}
		}
	}
	return deleted, s.sweep(ctx)
}

// expired lists runs that ended before a time. They also started before it, and of that there is an index; the few that it
// gives in vain are those that were open at that time.
func (s *Store) expired(ctx context.Context, status history.Status, before time.Time, limit int) (names []string, err error) {
	at := nanoseconds(before)
	err = s.read(ctx, func(db *connection) error {
		return db.rows(`SELECT run FROM run INDEXED BY run_status WHERE status = ? AND started < ? AND closed < ? ORDER BY started LIMIT ?`,
			func(row []driver.Value) bool {
				names = append(names, row[0].(string))
				return true
			}, string(status), at, at, int64(limit))
	})
	return names, err
}

func (s *Store) deleteRun(ctx context.Context, name string, before time.Time) error {
	r, err := s.pin(ctx, name)
	if errors.Is(err, engine.ErrNoRun) {
		return nil
	} else if err != nil {
		return err
	}
	defer s.hot.unpin(r)
	err = s.submit(&expiring{s: s, r: r, before: nanoseconds(before)})
	if err != nil {
		s.table.Lock()
		r.gone = false
		s.table.Unlock()
	}
	return err
}

type expiring struct {
	s      *Store
	r      *run
	before int64
}

// apply does nothing if the run goes on meanwhile.
func (e *expiring) apply(db *connection) error {
	n, err := db.exec("DELETE FROM run WHERE number = ? AND closed > 0 AND closed < ?", e.r.number, e.before)
	if err != nil || n == 0 {
		return err
	}
	e.r.gone = true // so that no later change of this group writes to it; publish is for readers
	for _, text := range []string{
		"INSERT INTO garbage(stream) VALUES(?1)",
		"INSERT INTO garbage(stream) SELECT stream FROM generation WHERE run = ?1",
		"DELETE FROM generation WHERE run = ?1",
		"DELETE FROM inbox WHERE run = ?1",
	} {
		if _, err := db.exec(text, e.r.number); err != nil {
			return err
		}
	}
	_, err = db.exec("DELETE FROM task WHERE run = ?", e.r.name)
	return err
}

func (e *expiring) publish() {
	if e.r.gone {
		e.s.hot.forget(e.r.name)
	}
}

// sweep deletes the records of runs that were deleted.
func (s *Store) sweep(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &sweeping{}
		if err := s.submit(c); err != nil || c.clean {
			return err
		}
	}
}

type sweeping struct{ clean bool }

func (c *sweeping) apply(db *connection) error {
	for left := int64(swept); left > 0; {
		stream, err := db.number("SELECT stream FROM garbage LIMIT 1")
		if err != nil {
			return err
		}
		if c.clean = stream == 0; c.clean {
			return nil
		}
		n, err := db.exec("DELETE FROM record WHERE position IN (SELECT position FROM record WHERE key BETWEEN ? AND ? LIMIT ?)",
			place(stream, 0), place(stream, maxNumber), left)
		if err != nil {
			return err
		}
		if left -= n + 1; left >= 0 {
			if _, err := db.exec("DELETE FROM garbage WHERE stream = ?", stream); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *sweeping) publish() {}
