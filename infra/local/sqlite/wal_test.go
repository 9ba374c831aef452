package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

const (
	logged = 20 // commits in the write-ahead log
	frame  = 24 + 4096
)

// leave writes a run's records, and gives the files as a process leaves them that is killed: the database, and its log.
func leave(t *testing.T, commits int) (database, log []byte) {
	t.Helper()
	s := open(t, t.TempDir(), sqlite.Options{})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	for n := 1; n <= commits; n++ {
		require.NoError(t, s.Put(t.Context(),
			&port.Commit{Run: "r", Generation: 1, Record: newRecord(n)}))
	}
	database, err := os.ReadFile(s.Path())
	require.NoError(t, err)
	log, err = os.ReadFile(s.Path() + "-wal")
	require.NoError(t, err)
	return database, log
}

// found writes files, opens them, and says how many records are there.
func found(t *testing.T, database, log []byte) (records int, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "some.db")
	require.NoError(t, os.WriteFile(file, database, 0o600))
	require.NoError(t, os.WriteFile(file+"-wal", log, 0o600))
	s, err := sqlite.Open(file, sqlite.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { require.NoError(t, s.Close()) }()
	view, err := s.Look(t.Context(), "r", port.Position{})
	require.NoError(t, err)
	for i, rec := range view.Records {
		require.Equal(t, i+1, rec.Number)
	}
	return len(view.Records), nil
}

func TestWhatAWriteLeftUnfinishedIsNoDamage(t *testing.T) {
	database, log := leave(t, logged)
	last := log[len(log)-frame:]
	for name, tail := range map[string][]byte{
		"nothing": nil, "one byte": {1}, "zeros": make([]byte, 3*frame), "noise": bytes.Repeat([]byte{0xa5}, 2*frame+100),
		"half a header": last[:12], "half a page": last[:24+2048], "a page that is not the header's": append(bytes.Clone(last[:24]), make([]byte, 4096)...),
	} {
		records, err := found(t, database, append(bytes.Clone(log), tail...))
		require.NoError(t, err, name)
		require.Equal(t, logged, records, name)
	}
}

// Where the disk did not keep what it had said was flushed, what is left is all up to some moment.
func TestALogCutShortIsAllUpToAMoment(t *testing.T) {
	database, log := leave(t, logged)
	before := logged
	for cut := len(log) - 1; cut > len(log)-frame*logged; cut -= 3777 {
		records, err := found(t, database, log[:cut])
		require.NoError(t, err)
		require.LessOrEqual(t, records, before)
		before = records
	}
	require.Less(t, before, logged)
}

func TestADamagedLogIsRefused(t *testing.T) {
	database, log := leave(t, logged)
	frames := (len(log) - 32) / frame
	for _, at := range []int{5, 20, 32 + 4, 32 + 10, 32 + 100, 32 + frame*(frames/2), 32 + frame*(frames/2) + 4000, 32 + frame*(frames-8) + 17} {
		damaged := bytes.Clone(log)
		damaged[at] ^= 0x10
		_, err := found(t, database, damaged)
		require.ErrorContains(t, err, "some.db-wal is damaged at byte", "byte %d of %d", at, len(log))
	}
	for _, length := range []int{10, frame, 4 * frame} {
		damaged := bytes.Clone(log)
		copy(damaged[32+3*frame+50:], bytes.Repeat([]byte{0xa5}, length))
		_, err := found(t, database, damaged)
		require.ErrorContains(t, err, fmt.Sprint("some.db-wal is damaged at byte ", 32+3*frame), "%d bytes", length)
	}
}

func TestADamagedLogIsThereStillForTheNextWhoOpensIt(t *testing.T) {
	database, log := leave(t, logged)
	file := filepath.Join(t.TempDir(), "some.db")
	log[len(log)/2] ^= 1
	require.NoError(t, os.WriteFile(file, database, 0o600))
	require.NoError(t, os.WriteFile(file+"-wal", log, 0o600))
	for range 2 {
		_, err := sqlite.Open(file, sqlite.Options{})
		require.ErrorContains(t, err, "-wal is damaged")
	}
	left, err := os.ReadFile(file + "-wal")
	require.NoError(t, err)
	require.Equal(t, log, left)
}

// Each round of the log is written over the one before, which is longer or shorter.
func TestEarlierRoundsOfALogAreNoDamage(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	for n := 1; n <= 200; n++ {
		require.NoError(t, s.Put(t.Context(),
			&port.Commit{Run: "r", Generation: 1, Record: newRecord(n)}))
		if n%37 == 0 {
			require.NoError(t, s.Script("PRAGMA wal_checkpoint"))
		}
		if n%10 != 0 {
			continue
		}
		database, err := os.ReadFile(s.Path())
		require.NoError(t, err)
		log, err := os.ReadFile(s.Path() + "-wal")
		require.NoError(t, err)
		records, err := found(t, database, log)
		require.NoError(t, err)
		require.Equal(t, n, records)
	}
}

func TestALogWithoutItsFileIsNotDeleted(t *testing.T) {
	_, log := leave(t, logged)
	_, err := found(t, nil, log)
	require.ErrorContains(t, err, "some.db is empty or gone, and ")
}
