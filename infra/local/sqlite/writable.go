package sqlite

import (
	"github.com/reprise-run/reprise/core/port"
)

// Writable says why the last write failed: because the disk is full, for example. It tries another
// write then, and blocks for as long as that takes; nil means that the store can be written to. After
// a write that succeeded, it writes nothing.
func (s *Store) Writable() error {
	if s.failing.Load() == nil {
		return nil
	}
	return s.submit(probe{})
}

// probe needs as much room as a record does, and leaves nothing behind.
type probe struct{}

func (probe) apply(db *connection) error {
	const room = 32 << 10
	key := port.TaskKey{Seq: -1} // of no run
	if _, err := db.exec(saveTask, key.Run, int64(key.Generation), key.Seq, make([]byte, room), int64(0)); err != nil {
		return err
	}
	_, err := db.exec(deleteTask, key.Run, int64(key.Generation), key.Seq)
	return err
}

func (probe) publish() {}
