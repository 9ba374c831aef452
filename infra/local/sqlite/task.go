package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"maps"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/seal"
)

type taskKey = port.TaskKey

// task is what is kept of one, or on its way to the table.
type task struct {
	state     []byte // nil: none, or that of the table
	cancelled bool
	// stored: the row in the table counts as well, for what is not here.
	stored bool
}

// SaveTask flushes the state of an activity that waits, for its next attempt or to be completed
// from outside, or was asked to stop. Others only inform; they ride along.
func (s *Store) SaveTask(ctx context.Context, state *port.TaskState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := s.encodeTask(ctx, state)
	if err != nil {
		return err
	}
	return s.writeTask(&tasking{s: s, key: state.TaskKey, state: text, cancelled: state.Cancelled}, state.Pending || state.Cancelled || !state.Next.IsZero(), func(before task) task {
		return task{state: text, cancelled: state.Cancelled || before.cancelled, stored: before.stored}
	})
}

// CancelTask flushes.
func (s *Store) CancelTask(ctx context.Context, key port.TaskKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := s.encodeTask(ctx, &port.TaskState{TaskKey: key})
	if err != nil {
		return err
	}
	return s.writeTask(&tasking{s: s, key: key, state: text, cancelled: true, keeps: true}, true, func(before task) task {
		if before.cancelled = true; before.state == nil && !before.stored {
			before.state = text
		}
		return before
	})
}

func (s *Store) DeleteTask(ctx context.Context, key port.TaskKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.writeTask(&tasking{s: s, key: key}, false, func(task) task { return task{} })
}

func (s *Store) writeTask(t *tasking, wait bool, change func(before task) task) error {
	t.version = s.tasks.change(t.key, func(before task, there bool) task {
		if !there {
			before.stored = true
		}
		return change(before)
	})
	if !wait {
		s.along(t)
		return nil
	}
	err := s.submit(t)
	if err != nil {
		t.publish() // which is nothing but: it is no longer under way
	}
	return err
}

type tasking struct {
	s         *Store
	key       taskKey
	state     []byte // nil: delete it
	cancelled bool
	keeps     bool // a state that is there
	version   int
}

// A mark stays where it is.
const (
	saveTask   = "INSERT INTO task(run, generation, seq, state, cancelled) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET cancelled = max(cancelled, excluded.cancelled)"
	deleteTask = "DELETE FROM task WHERE run = ? AND generation = ? AND seq = ?"
)

func (t *tasking) apply(db *connection) (err error) {
	if t.state == nil {
		_, err = db.exec(deleteTask, t.key.Run, int64(t.key.Generation), t.key.Seq)
		return err
	}
	statement, cancelled := saveTask, int64(0)
	if !t.keeps {
		statement += ", state = excluded.state"
	}
	if t.cancelled {
		cancelled = 1
	}
	_, err = db.exec(statement, t.key.Run, int64(t.key.Generation), t.key.Seq, t.state, cancelled)
	return err
}

func (t *tasking) publish() { t.s.tasks.done(t.key, t.version) }

func (s *Store) LoadTask(ctx context.Context, key port.TaskKey) (*port.TaskState, error) {
	p, there := s.tasks.get(key)
	found := p.value
	if !there || found.stored {
		err := s.read(ctx, func(db *connection) error {
			return db.rows("SELECT state, cancelled FROM task WHERE run = ? AND generation = ? AND seq = ?", func(row []driver.Value) bool {
				found = found.over(row)
				return false
			}, key.Run, int64(key.Generation), key.Seq)
		})
		if err != nil {
			return nil, err
		}
	}
	if found.state == nil {
		return nil, ctx.Err()
	}
	return s.decodeTask(ctx, key.Run, found)
}

// over is what is on its way, and what the row has that it lacks.
func (t task) over(row []driver.Value) task {
	if t.state == nil {
		t.state = blob(row[0])
	}
	t.cancelled = t.cancelled || row[1].(int64) != 0
	return t
}

func (s *Store) TasksOf(ctx context.Context, name string) ([]*port.TaskState, error) {
	found := map[taskKey]task{}
	err := s.read(ctx, func(db *connection) error {
		for key, p := range s.tasks.all() { // while nothing is committed, so that none is in neither
			if key.Run == name {
				found[key] = p.value
			}
		}
		return db.rows("SELECT state, cancelled, generation, seq FROM task WHERE run = ?", func(row []driver.Value) bool {
			key := taskKey{Run: name, Generation: int(row[2].(int64)), Seq: row[3].(int64)}
			if p, there := found[key]; !there || p.stored {
				found[key] = p.over(row)
			}
			return true
		}, name)
	})
	if err != nil {
		return nil, err
	}
	var states []*port.TaskState
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b taskKey) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Seq, b.Seq))
	}) {
		if found[key].state == nil {
			continue
		}
		state, err := s.decodeTask(ctx, name, found[key])
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	return states, nil
}

func (s *Store) encodeTask(ctx context.Context, state *port.TaskState) ([]byte, error) {
	return seal.Encode(ctx, s.options.Codec, state.Run, func(e history.Encoder) ([]byte, error) {
		return port.EncodeTask(e, state)
	})
}

func (s *Store) decodeTask(ctx context.Context, run string, found task) (*port.TaskState, error) {
	state, err := seal.Decode(ctx, s.options.Codec, run, &history.Decoder{},
		func(d *history.Decoder) (*port.TaskState, error) {
			return port.DecodeTask(d, found.state)
		})
	if err == nil && found.cancelled {
		state.Cancelled = true
	}
	return state, err
}
