package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// So much is deleted while other writers wait: records, and runs without their records. Either takes about 3 ms.
const (
	swept   = 500
	removed = 100
)

// DeleteClosed deletes runs that ended before a time: summary, logs of all generations, inbox, tasks. Those that ended first
// go first. It deletes no more than limit runs, and says how many; fewer than limit means that none is left. Their long
// timers stay, fire, and find no run.
//
// Runs disappear a few at a time, each at once and for good; then their records are deleted, some at a time. In between, other
// writers get their turn. What an earlier call did not finish is finished by the next one.
func (s *Store) DeleteClosed(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	for deleted < limit {
		most := min(limit-deleted, removed)
		names, err := s.expired(ctx, before, most)
		if err == nil {
			err = s.deleteRuns(ctx, names, before)
		}
		if err != nil {
			return deleted, err
		}
		if deleted += len(names); len(names) < most {
			break
		}
	}
	if err = s.sweep(ctx); err == nil {
		err = s.shrink(ctx)
	}
	return deleted, err
}

// expired lists runs that ended before a time.
func (s *Store) expired(ctx context.Context, before time.Time, limit int) (names []string, err error) {
	err = s.read(ctx, func(db *connection) error {
		return db.rows("SELECT run FROM run INDEXED BY run_closed WHERE closed > 0 AND closed < ? ORDER BY closed LIMIT ?",
			func(row []driver.Value) bool {
				names = append(names, row[0].(string))
				return true
			}, nanoseconds(before), int64(limit))
	})
	return names, err
}

func (s *Store) deleteRuns(ctx context.Context, names []string, before time.Time) error {
	e := &expiring{s: s, before: nanoseconds(before)}
	defer func() {
		for _, r := range e.runs {
			s.hot.unpin(r)
		}
	}()
	for _, name := range names {
		r, err := s.pinToWrite(ctx, name) // many at a time: their values would fill the memory
		if errors.Is(err, port.ErrNoRun) {
			continue
		} else if err != nil {
			return err
		}
		e.runs = append(e.runs, r)
	}
	err := s.submit(e)
	if err != nil {
		s.table.Lock()
		for _, r := range e.runs {
			r.gone = false
		}
		s.table.Unlock()
	}
	return err
}

type expiring struct {
	s      *Store
	runs   []*run
	before int64
}

func (e *expiring) apply(db *connection) error {
	for _, r := range e.runs {
		if err := e.remove(db, r); err != nil {
			return err
		}
	}
	return nil
}

// remove does nothing if the run goes on meanwhile.
func (e *expiring) remove(db *connection, r *run) error {
	n, err := db.exec("DELETE FROM run WHERE number = ? AND closed > 0 AND closed < ?", r.number, e.before)
	if err != nil || n == 0 {
		return err
	}
	r.gone = true // so that no later change of this group writes to it; publish is for readers
	for _, text := range []string{
		"INSERT INTO garbage(stream) VALUES(?1)",
		"INSERT INTO garbage(stream) SELECT stream FROM generation WHERE run = ?1",
		"DELETE FROM generation WHERE run = ?1",
		"DELETE FROM inbox WHERE run = ?1",
		"DELETE FROM note WHERE run = ?1",
	} {
		if _, err := db.exec(text, r.number); err != nil {
			return err
		}
	}
	_, err = db.exec("DELETE FROM task WHERE run = ?", r.name)
	return err
}

func (e *expiring) publish() {
	for _, r := range e.runs {
		if r.gone {
			e.s.hot.forget(r.name)
		}
	}
}

// DeleteLog has the records deleted by the next DeleteClosed.
func (s *Store) DeleteLog(ctx context.Context, name string, generation int) error {
	r, err := s.pinToWrite(ctx, name)
	if errors.Is(err, port.ErrNoRun) {
		return nil
	} else if err != nil {
		return err
	}
	defer s.hot.unpin(r)
	return s.submit(&forgetting{r, generation})
}

type forgetting struct {
	r          *run
	generation int
}

func (f *forgetting) apply(db *connection) error {
	if f.r.gone || f.generation == f.r.summary.Generation {
		return nil
	}
	for _, text := range []string{
		"INSERT INTO garbage(stream) SELECT stream FROM generation WHERE run = ?1 AND generation = ?2",
		"DELETE FROM generation WHERE run = ?1 AND generation = ?2",
		"DELETE FROM note WHERE run = ?1 AND generation = ?2",
	} {
		if _, err := db.exec(text, f.r.number, int64(f.generation)); err != nil {
			return err
		}
	}
	return nil
}

func (f *forgetting) publish() {}

// sweep deletes the records of runs, and of logs, that were deleted.
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
