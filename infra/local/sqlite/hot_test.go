package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

func TestColdRunsHoldNoMemory(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{HotRuns: 5, RideDelay: time.Hour})
	for i := range 40 {
		summary, start := newRun(fmt.Sprint("r", i))
		require.NoError(t, s.Create(t.Context(), summary, start))
		if i%10 == 0 {
			_, _, err := s.File(t.Context(), summary.Run, volatile(1))
			require.NoError(t, err)
		}
	}
	require.Equal(t, 5+4, s.InMemory(), "hot runs, and those with items that are only in memory")
	for i := range 40 {
		view, err := s.Look(t.Context(), fmt.Sprint("r", i), engine.Position{})
		require.NoError(t, err)
		want := 1
		if i%10 == 0 {
			want = 2
		}
		require.Len(t, view.Inbox, want)
		require.NoError(t, s.Delete(t.Context(), fmt.Sprint("r", i), []string{volatile(1).Key}))
	}
	require.Equal(t, 5, s.InMemory())
}

func TestDeleteClosed(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	fill := func(prefix string) {
		for i := range 20 {
			summary, start := newRun(fmt.Sprint(prefix, i))
			summary.Started = began.Add(time.Duration(i) * time.Minute)
			require.NoError(t, s.Create(t.Context(), summary, start))
			for n := range 100 {
				require.NoError(t, s.Put(t.Context(), &engine.Commit{Run: summary.Run, Generation: 1, Record: recordOf(n+1, 1000)}))
			}
			require.NoError(t, s.SaveTask(t.Context(), &engine.TaskState{TaskKey: engine.TaskKey{Run: summary.Run, Generation: 1, Seq: 1}, Pending: true}))
			if i%4 != 0 {
				require.NoError(t, s.Put(t.Context(), &engine.Commit{Run: summary.Run, Generation: 1, Record: newRecord(101), Summary: ended(summary)}))
			}
		}
	}
	fill("a")
	deleted, err := s.DeleteClosed(t.Context(), began.Add(time.Hour+10*time.Minute), 3)
	require.NoError(t, err)
	require.Equal(t, 3, deleted)
	deleted, err = s.DeleteClosed(t.Context(), began.Add(time.Hour+10*time.Minute), 100)
	require.NoError(t, err)
	require.Equal(t, 4, deleted, "those that ended at minutes 61, 62, 63, 65, 66, 67, 69, without the three")
	for i, gone := range map[int]bool{0: false, 1: true, 4: false, 9: true, 10: false, 19: false} {
		run := fmt.Sprint("a", i)
		_, err := s.Look(t.Context(), run, engine.Position{})
		records, reading := s.Records(t.Context(), run, 1, 0)
		require.NoError(t, reading)
		tasks, reading := s.TasksOf(t.Context(), run)
		require.NoError(t, reading)
		if gone {
			require.ErrorIs(t, err, engine.ErrNoRun)
			require.Empty(t, records)
			require.Empty(t, tasks)
			continue
		}
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(records), 100)
		require.Len(t, tasks, 1)
	}
	summary, start := newRun("a1")
	require.NoError(t, s.Create(t.Context(), summary, start), "its id is free again")
	require.NoError(t, s.Put(t.Context(), &engine.Commit{Run: "a1", Generation: 1, Record: newRecord(1)}))

	before, err := s.Pages()
	require.NoError(t, err)
	_, err = s.DeleteClosed(t.Context(), began.AddDate(1, 0, 0), 100)
	require.NoError(t, err)
	fill("b")
	after, err := s.Pages()
	require.NoError(t, err)
	require.Less(t, after, before*2, "pages are used again")
}

// volatile is an item that is not durable.
func volatile(seq int64) engine.Item {
	event := &history.TimerFired{Seq: seq}
	history.File(event, "f")
	return engine.Item{Key: event.Key(1), Event: event, Stamp: seq}
}
