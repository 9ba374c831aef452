package sqlite_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// TestABackupOfAStoreInUse: it has all that was accepted before it began, and opens by itself.
func TestABackupOfAStoreInUse(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	const runs = 1500
	for i := range runs {
		summary, start := newRun(fmt.Sprint("r", i))
		require.NoError(t, s.Create(t.Context(), summary, start))
	}
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
				_ = s.Put(t.Context(), &port.Commit{Run: "r0", Generation: 1, Record: newRecord(n)})
			}
		}
	})
	copied, err := s.Backup(t.Context())
	close(stop)
	writing.Wait()
	require.NoError(t, err)
	defer copied.Close()
	left, err := os.ReadDir(filepath.Dir(s.Path()))
	require.NoError(t, err)
	require.Len(t, left, 2, "the database and its log")

	file := filepath.Join(t.TempDir(), "restored.db")
	text, err := io.ReadAll(copied)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	restored := open(t, file, sqlite.Options{})
	for i := range runs {
		_, err := restored.Summary(t.Context(), fmt.Sprint("r", i))
		require.NoError(t, err)
	}
	view, err := restored.Look(t.Context(), "r0", port.Position{})
	require.NoError(t, err)
	for i, rec := range view.Records {
		require.Equal(t, i+1, rec.Number)
	}
}

// TestABackupWhoseConnectionFails ends with an error, and the store continues.
func TestABackupWhoseConnectionFails(t *testing.T) {
	watchDisk(t)
	s := open(t, t.TempDir(), sqlite.Options{})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	fails := s.FailBackup(func() {
		failOnce("flush")
		require.Error(t, s.Put(t.Context(),
			&port.Commit{Run: "r", Generation: 1, Record: newRecord(1)}))
	})
	require.ErrorIs(t, fails, port.ErrUnavailable)
	require.ErrorContains(t, fails, "begin another one")
	require.NoError(t, s.Put(t.Context(),
		&port.Commit{Run: "r", Generation: 1, Record: newRecord(2)}))
	copied, err := s.Backup(t.Context())
	require.NoError(t, err)
	require.NoError(t, copied.Close())
}
