package sqlite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// accepted are writes that callers rely on once they have returned, one for each kind.
var accepted = []struct {
	name  string
	write func(ctx context.Context, s *sqlite.Store) error
}{
	{"create", func(ctx context.Context, s *sqlite.Store) error {
		summary, start := newRun("other")
		return s.Create(ctx, summary, start)
	}},
	{"put", func(ctx context.Context, s *sqlite.Store) error {
		return s.Put(ctx, &port.Commit{Run: "r", Generation: 1, Record: newRecord(1)})
	}},
	{"file", func(ctx context.Context, s *sqlite.Store) error {
		event := history.NewSignal("m", "go", nil)
		_, _, err := s.File(ctx, "r", port.Item{Key: event.Key(1), Event: event, Durable: true})
		return err
	}},
	{"block", func(ctx context.Context, s *sqlite.Store) error {
		return s.Block(ctx, "r", &port.Block{ID: "b", Reason: port.ReasonStuck})
	}},
	{"unblock", func(ctx context.Context, s *sqlite.Store) error { return s.Unblock(ctx, "r", "b") }},
	{"put due", func(ctx context.Context, s *sqlite.Store) error {
		return s.PutDue(ctx, port.DueTimer{Run: "r", Generation: 1, Seq: 1})
	}},
	{"save a task that waits", func(ctx context.Context, s *sqlite.Store) error {
		return s.SaveTask(ctx,
			&port.TaskState{TaskKey: port.TaskKey{Run: "r", Generation: 1, Seq: 1}, Pending: true})
	}},
	{"cancel a task", func(ctx context.Context, s *sqlite.Store) error {
		return s.CancelTask(ctx, port.TaskKey{Run: "r", Generation: 1, Seq: 1})
	}},
}

func begun(t *testing.T) *sqlite.Store {
	t.Helper()
	watchDisk(t)
	s := open(t, t.TempDir(), sqlite.Options{})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	return s
}

// TestWhatIsAcceptedIsFlushed counts flushes of the write-ahead log: what is accepted outlives a
// power cut, and not only the process.
func TestWhatIsAcceptedIsFlushed(t *testing.T) {
	s := begun(t)
	for _, w := range accepted {
		before := disk.flushes.Load()
		require.NoError(t, w.write(t.Context(), s), w.name)
		require.Greater(t, disk.flushes.Load(), before, "%s returned, and the disk was not asked to keep it", w.name)
	}
}

// TestAWriteThatDoesNotReachTheDiskIsNotAccepted has the disk refuse the commit of each kind of
// write. The write is refused, and is accepted when it is repeated.
func TestAWriteThatDoesNotReachTheDiskIsNotAccepted(t *testing.T) {
	for _, what := range []string{"write", "flush"} {
		t.Run(what, func(t *testing.T) {
			s := begun(t)
			for _, w := range accepted {
				failOnce(what)
				require.ErrorIs(t, w.write(t.Context(), s), port.ErrUnavailable,
					"%s was accepted", w.name)
				require.Nil(t, disk.fails.Load(), "the disk did fail")
				err := w.write(t.Context(), s)
				if what == "flush" && (w.name == "create" || w.name == "put") && err != nil {
					require.ErrorIs(t, err, port.ErrTaken, "a commit whose flush failed may be "+
						"there all the same")
					continue
				}
				require.NoError(t, err, w.name)
			}
		})
	}
}
