package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// afterAKill gives how many records of run r a store finds that opens the files as they are now.
func afterAKill(t *testing.T, s *sqlite.Store) int {
	t.Helper()
	database, err := os.ReadFile(s.Path())
	require.NoError(t, err)
	log, err := os.ReadFile(s.Path() + "-wal")
	require.NoError(t, err)
	records, err := found(t, database, log)
	require.NoError(t, err)
	return records
}

// TestALogThatIsDeletedWhileTheStoreIsOpenLosesNothing: what was accepted before, and what is
// accepted after, is there when the process is killed.
func TestALogThatIsDeletedWhileTheStoreIsOpenLosesNothing(t *testing.T) {
	for name, spoil := range map[string]func(log string) error{
		"deleted":  os.Remove,
		"moved":    func(log string) error { return os.Rename(log, log+".old") },
		"replaced": func(log string) error { return os.Rename(other(t, log), log) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), sqlite.Options{CheckFiles: -1})
			summary, start := newRun("r")
			require.NoError(t, s.Create(t.Context(), summary, start))
			for n := 1; n <= 6; n++ {
				if n%2 == 0 {
					require.NoError(t, spoil(s.Path()+"-wal"))
				}
				require.NoError(t, s.Put(t.Context(),
					&port.Commit{Run: "r", Generation: 1, Record: newRecord(n)}))
				require.Equal(t, n, afterAKill(t, s))
			}
			require.NoError(t, spoil(s.Path()+"-wal"))
			require.NoError(t, s.CheckFiles(), "as it does while it is idle")
			require.Equal(t, 6, afterAKill(t, s))
		})
	}
}

// other makes an empty file beside one.
func other(t *testing.T, file string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(file+".other", nil, 0o600))
	return file + ".other"
}

// TestADatabaseThatIsDeletedWhileTheStoreIsOpen: nothing is accepted any more, and no new file is
// begun.
func TestADatabaseThatIsDeletedWhileTheStoreIsOpen(t *testing.T) {
	s, err := sqlite.Open(t.TempDir(), sqlite.Options{CheckFiles: -1})
	require.NoError(t, err)
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	require.NoError(t, os.Remove(s.Path()))
	for n := range 3 {
		err := s.Put(t.Context(), &port.Commit{Run: "r", Generation: 1, Record: newRecord(n + 1)})
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.ErrorContains(t, err, "was deleted or replaced while this server has it open")
	}
	require.NoFileExists(t, s.Path())
	require.Error(t, s.Close())
}

// TestALogThatIsLostBetweenTwoProcesses: the second one refuses to start without what was accepted,
// as often as it is tried, until an operator says that it may.
func TestALogThatIsLostBetweenTwoProcesses(t *testing.T) {
	database, _ := leave(t, logged)
	file := filepath.Join(t.TempDir(), "some.db")
	require.NoError(t, os.WriteFile(file, database, 0o600))
	for range 2 {
		_, err := sqlite.Open(file, sqlite.Options{})
		require.ErrorContains(t, err, "some.db-wal is gone, and the last process did not close")
	}
	require.NoError(t, os.WriteFile(file+"-wal", nil, 0o600))
	s := open(t, file, sqlite.Options{})
	_, err := s.Look(t.Context(), "r", port.Position{})
	require.ErrorIs(t, err, port.ErrNoRun, "it was in the log")
}
