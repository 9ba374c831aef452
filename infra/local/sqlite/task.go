package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"maps"
	"slices"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/seal"
)

type taskKey = engine.TaskKey

// SaveTask flushes the state of an activity that waits to be completed from outside, or was asked to stop. Others
// only inform; they ride along.
func (s *Store) SaveTask(ctx context.Context, state *engine.TaskState) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	text, err := seal.Encode(ctx, s.options.Codec, state.Run, func(e history.Encoder) ([]byte, error) { return engine.EncodeTask(e, state) })
	if err != nil {
		return err
	}
	return s.writeTask(&tasking{s: s, key: state.TaskKey, state: text}, state.Pending || state.Cancelled)
}

func (s *Store) DeleteTask(ctx context.Context, key engine.TaskKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.writeTask(&tasking{s: s, key: key}, false)
}

func (s *Store) writeTask(t *tasking, wait bool) error {
	t.version = s.tasks.set(t.key, t.state)
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
	s       *Store
	key     taskKey
	state   []byte // nil: delete it
	version int
}

func (t *tasking) apply(db *connection) (err error) {
	if t.state == nil {
		_, err = db.exec("DELETE FROM task WHERE run = ? AND generation = ? AND seq = ?", t.key.Run, int64(t.key.Generation), t.key.Seq)
		return err
	}
	_, err = db.exec("INSERT OR REPLACE INTO task(run, generation, seq, state) VALUES(?, ?, ?, ?)",
		t.key.Run, int64(t.key.Generation), t.key.Seq, t.state)
	return err
}

func (t *tasking) publish() { t.s.tasks.done(t.key, t.version) }

func (s *Store) LoadTask(ctx context.Context, key engine.TaskKey) (*engine.TaskState, error) {
	var text []byte
	if p, there := s.tasks.get(key); there {
		text = p.value
	} else {
		err := s.read(ctx, func(db *connection) error {
			return db.rows("SELECT state FROM task WHERE run = ? AND generation = ? AND seq = ?", func(row []driver.Value) bool {
				text = blob(row[0])
				return false
			}, key.Run, int64(key.Generation), key.Seq)
		})
		if err != nil {
			return nil, err
		}
	}
	if text == nil {
		return nil, ctx.Err()
	}
	return s.decodeTask(ctx, key.Run, text)
}

func (s *Store) TasksOf(ctx context.Context, name string) ([]*engine.TaskState, error) {
	texts := map[taskKey][]byte{}
	err := s.read(ctx, func(db *connection) error {
		err := db.rows("SELECT generation, seq, state FROM task WHERE run = ?", func(row []driver.Value) bool {
			texts[taskKey{Run: name, Generation: int(row[0].(int64)), Seq: row[1].(int64)}] = blob(row[2])
			return true
		}, name)
		for key, p := range s.tasks.all() { // while nothing is committed, so that none is in neither
			if key.Run == name {
				texts[key] = p.value
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var states []*engine.TaskState
	for _, key := range slices.SortedFunc(maps.Keys(texts), func(a, b taskKey) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Seq, b.Seq))
	}) {
		if texts[key] == nil {
			continue
		}
		state, err := s.decodeTask(ctx, name, texts[key])
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	return states, nil
}

func (s *Store) decodeTask(ctx context.Context, run string, text []byte) (*engine.TaskState, error) {
	return seal.Decode(ctx, s.options.Codec, run, &history.Decoder{}, func(d *history.Decoder) (*engine.TaskState, error) {
		return engine.DecodeTask(d, text)
	})
}
