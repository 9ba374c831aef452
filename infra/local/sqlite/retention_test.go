package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// fill makes runs that have ended.
func fill(t *testing.T, s *sqlite.Store, runs int) {
	t.Helper()
	for i := range runs {
		summary, start := newRun(fmt.Sprint("r", i))
		require.NoError(t, s.Create(t.Context(), summary, start))
		require.NoError(t, s.Put(t.Context(), &port.Commit{Run: summary.Run, Generation: 1,
			Record: newRecord(1), Summary: ended(summary)}))
	}
}

// A server that ends hundreds of runs a second must delete as many: with a flush for each it could not.
func TestDeletedRunsShareFlushes(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{RideDelay: time.Hour})
	const runs = 320
	fill(t, s, runs)
	before := s.Flushes()
	deleted, err := s.DeleteClosed(t.Context(), began.AddDate(1, 0, 0), runs)
	require.NoError(t, err)
	require.Equal(t, runs, deleted)
	require.Less(t, s.Flushes()-before, int64(runs/10))
	page, _, err := s.List(t.Context(), port.ListQuery{})
	require.NoError(t, err)
	require.Empty(t, page)
}

func TestAFileOfTheFirstSchemaIsTakenOver(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	fill(t, s, 3)
	require.NoError(t, s.Script("DROP INDEX run_closed; DROP TABLE seal; DROP TABLE note; DROP "+
		"TABLE definition; DROP TABLE worker; ALTER TABLE task DROP COLUMN cancelled; PRAGMA "+
		"user_version=1"))
	require.NoError(t, s.Close())
	s = open(t, folder, sqlite.Options{})
	deleted, err := s.DeleteClosed(t.Context(), began.AddDate(1, 0, 0), 100)
	require.NoError(t, err)
	require.Equal(t, 3, deleted)
}
