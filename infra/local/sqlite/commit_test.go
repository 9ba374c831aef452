package sqlite_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

func TestConcurrentWritersShareFlushes(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	flushes, commits := s.Flushes(), s.Commits()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			summary, start := newRun(fmt.Sprint("r", i))
			if !assert.NoError(t, s.Create(t.Context(), summary, start)) {
				return
			}
			for n := range 20 {
				assert.NoError(t, s.Put(t.Context(), &port.Commit{Run: summary.Run, Generation: 1,
					Record: newRecord(n + 1)}))
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(50*21), s.Commits()-commits)
	require.Less(t, s.Flushes()-flushes, int64(50*21/4))
}

func TestDeletionsRideAlong(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{RideDelay: time.Hour})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	flushes := s.Flushes()
	require.NoError(t, s.Delete(t.Context(), "r", []string{start.Key}))
	require.NoError(t, s.SaveTask(t.Context(),
		&port.TaskState{TaskKey: port.TaskKey{Run: "r", Generation: 1, Seq: 1}}))
	require.Equal(t, flushes, s.Flushes())
	require.NoError(t, s.Put(t.Context(),
		&port.Commit{Run: "r", Generation: 1, Record: newRecord(1)}))
	require.Equal(t, flushes+1, s.Flushes(), "all three in one")
}

func TestAloneTheyAreFlushedSoon(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{RideDelay: time.Millisecond})
	summary, start := newRun("r")
	require.NoError(t, s.Create(t.Context(), summary, start))
	flushes := s.Flushes()
	require.NoError(t, s.Delete(t.Context(), "r", []string{start.Key}))
	require.Eventually(t, func() bool { return s.Flushes() == flushes+1 }, 10*time.Second, time.Millisecond)
}
