package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// TestTheFileShrinksAfterRetention: the room of deleted runs goes back to the disk.
func TestTheFileShrinksAfterRetention(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	value := history.Payload(`"` + string(bytes.Repeat([]byte("x"), 1<<20)) + `"`)
	const runs = 24
	for i := range runs {
		summary, start := newRun(fmt.Sprint("r", i))
		require.NoError(t, s.Create(t.Context(), summary, start))
		last := ended(summary)
		last.Result = value
		require.NoError(t, s.Put(t.Context(), &port.Commit{Run: summary.Run, Generation: 1,
			Record: newRecord(1), Summary: last}))
	}
	size := func() int64 {
		require.NoError(t, s.Script("PRAGMA wal_checkpoint(TRUNCATE)"))
		info, err := os.Stat(s.Path())
		require.NoError(t, err)
		return info.Size()
	}
	before := size()
	require.Greater(t, before, int64(runs<<20))
	_, err := s.DeleteClosed(t.Context(), began.AddDate(1, 0, 0), runs)
	require.NoError(t, err)
	require.Less(t, size(), before/2)
}
