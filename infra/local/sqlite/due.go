package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// duePage is how many timers one page holds.
const duePage = 1000

// dueKey is a timer as the table has it.
type dueKey struct {
	second, nanosecond int64
	run                string
	generation         int
	seq                int64
}

func keyOf(t port.DueTimer) dueKey {
	return dueKey{t.At.Unix(), int64(t.At.Nanosecond()), t.Run, t.Generation, t.Seq}
}

// PutDue puts all of them with one flush.
func (s *Store) PutDue(ctx context.Context, timers ...port.DueTimer) error {
	if err := ctx.Err(); err != nil || len(timers) == 0 {
		return err
	}
	return s.submit(appointing(timers))
}

type appointing []port.DueTimer

func (a appointing) apply(db *connection) error {
	for _, timer := range a {
		key := keyOf(timer)
		_, err := db.exec("INSERT OR IGNORE INTO due(second, nanosecond, run, generation, seq) VALUES(?, ?, ?, ?, ?)",
			key.second, key.nanosecond, key.run, int64(key.generation), key.seq)
		if err != nil {
			return err
		}
	}
	return nil
}

func (a appointing) publish() {}

func (s *Store) DueBefore(ctx context.Context, before time.Time) (due []port.DueTimer, err error) {
	// The bucket of a minute begins before this time, if the timer is due before the minute that this time ends in.
	bound := before.Unix()
	if bound%60 != 0 || before.Nanosecond() != 0 {
		bound += 60 - (bound%60+60)%60
	}
	err = s.read(ctx, func(db *connection) error {
		deleted := s.due.all()
		return db.rows(`SELECT second, nanosecond, run, generation, seq FROM due WHERE second < ?
			ORDER BY second, nanosecond, run, generation, seq LIMIT ?`, func(row []driver.Value) bool {
			key := dueKey{row[0].(int64), row[1].(int64), row[2].(string), int(row[3].(int64)), row[4].(int64)}
			if _, gone := deleted[key]; !gone {
				due = append(due, port.DueTimer{At: time.Unix(key.second, key.nanosecond).UTC(),
					Run: key.run, Generation: key.generation, Seq: key.seq})
			}
			return len(due) < duePage
		}, bound, int64(duePage+len(deleted)))
	})
	return due, err
}

func (s *Store) DeleteDue(ctx context.Context, timers []port.DueTimer) error {
	if err := ctx.Err(); err != nil || len(timers) == 0 {
		return err
	}
	d := &handing{s: s}
	for _, timer := range timers {
		key := keyOf(timer)
		d.keys = append(d.keys, key)
		d.versions = append(d.versions, s.due.set(key, struct{}{}))
	}
	s.along(d)
	return nil
}

// handing deletes timers that were handed on.
type handing struct {
	s        *Store
	keys     []dueKey
	versions []int
}

func (h *handing) apply(db *connection) error {
	for _, key := range h.keys {
		_, err := db.exec("DELETE FROM due WHERE second = ? AND nanosecond = ? AND run = ? AND generation = ? AND seq = ?",
			key.second, key.nanosecond, key.run, int64(key.generation), key.seq)
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *handing) publish() {
	for i, key := range h.keys {
		h.s.due.done(key, h.versions[i])
	}
}
