package sqlite_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
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
		view, err := s.Look(t.Context(), fmt.Sprint("r", i), port.Position{})
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

// longRun has a run that is not in memory: its summary, and the start in its inbox, have 5 MB
// each.
func longRun(t *testing.T) *sqlite.Store {
	t.Helper()
	s := open(t, t.TempDir(), sqlite.Options{HotBytes: 1 << 20, RideDelay: time.Hour})
	summary, start := newRun("long")
	summary.Input = history.Payload(`"` + strings.Repeat("x", 5_000_000) + `"`)
	start.Event.(*history.Started).Input = summary.Input
	require.NoError(t, s.Create(t.Context(), summary, start))
	require.Zero(t, s.InMemory())
	return s
}

// allocates is how many bytes something allocates.
func allocates(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestSizeReadsNoValue: a caller asks for the size before it has claimed the memory for the run.
func TestSizeReadsNoValue(t *testing.T) {
	s := longRun(t)
	for name, size := range map[string]func(ctx context.Context, run string) (int64, error){
		"Size": s.Size, "SizeOfNewest": s.SizeOfNewest, "SizeOfSummary": s.SizeOfSummary,
	} {
		require.Less(t, allocates(func() {
			bytes, err := size(t.Context(), "long")
			require.NoError(t, err)
			require.InDelta(t, 10_000_000, bytes, 2000, name)
		}), 1_000_000, name)
		_, err := size(t.Context(), "none")
		require.ErrorIs(t, err, port.ErrNoRun, name)
	}
}

// TestWritesReadNoValue: a large run that is not in memory is not read for each of its writes.
func TestWritesReadNoValue(t *testing.T) {
	s := longRun(t)
	before, err := s.Look(t.Context(), "long", port.Position{})
	require.NoError(t, err)
	require.Len(t, before.Inbox, 1)
	require.Less(t, allocates(func() {
		require.NoError(t, s.Put(t.Context(), &port.Commit{Run: "long", Generation: 1,
			Record: &history.Record{Number: 1}}))
		require.NoError(t, s.Delete(t.Context(), "long", []string{before.Inbox[0].Key}))
		require.NoError(t, s.DeleteLog(t.Context(), "long", 7))
	}), 1_000_000)
	require.ErrorIs(t, s.Put(t.Context(), &port.Commit{Run: "long", Generation: 1,
		Record: &history.Record{Number: 1}}), port.ErrTaken)
	require.ErrorIs(t, s.Put(t.Context(), &port.Commit{Run: "none", Generation: 1,
		Record: &history.Record{Number: 1}}), port.ErrNoRun)
	require.ErrorIs(t, s.Discard(t.Context(), "long", 2, []string{"start#2"}), port.ErrTaken)
	after, err := s.Look(t.Context(), "long", port.Position{})
	require.NoError(t, err)
	require.Empty(t, after.Inbox, "a deleted item does not show again before it is flushed")
	require.Len(t, after.Records, 1)
	require.Equal(t, before.Summary.Input, after.Summary.Input)

	ended := *after.Summary
	ended.Status, ended.Closed = history.Completed, time.Now().Add(-time.Hour)
	require.NoError(t, s.Put(t.Context(), &port.Commit{Run: "long", Generation: 1,
		Record: &history.Record{Number: 2}, Summary: &ended}))
	require.Less(t, allocates(func() {
		deleted, err := s.DeleteClosed(t.Context(), time.Now(), 100)
		require.NoError(t, err)
		require.Equal(t, 1, deleted)
	}), 1_000_000)
}

func TestDeleteClosed(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	fill := func(prefix string) {
		for i := range 20 {
			summary, start := newRun(fmt.Sprint(prefix, i))
			summary.Started = began.Add(time.Duration(i) * time.Minute)
			require.NoError(t, s.Create(t.Context(), summary, start))
			for n := range 100 {
				require.NoError(t, s.Put(t.Context(), &port.Commit{Run: summary.Run, Generation: 1,
					Record: recordOf(n+1, 1000)}))
			}
			require.NoError(t, s.SaveTask(t.Context(),
				&port.TaskState{TaskKey: port.TaskKey{Run: summary.Run, Generation: 1, Seq: 1},
					Pending: true}))
			if i%4 != 0 {
				require.NoError(t, s.Put(t.Context(), &port.Commit{Run: summary.Run, Generation: 1,
					Record: newRecord(101), Summary: ended(summary)}))
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
		_, err := s.Look(t.Context(), run, port.Position{})
		records, reading := s.Records(t.Context(), run, 1, 0)
		require.NoError(t, reading)
		tasks, reading := s.TasksOf(t.Context(), run)
		require.NoError(t, reading)
		if gone {
			require.ErrorIs(t, err, port.ErrNoRun)
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
	require.NoError(t, s.Put(t.Context(),
		&port.Commit{Run: "a1", Generation: 1, Record: newRecord(1)}))

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
func volatile(seq int64) port.Item {
	event := &history.TimerFired{Seq: seq}
	history.File(event, "f")
	return port.Item{Key: event.Key(1), Event: event, Stamp: seq}
}
