//go:build dynamodb

package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// crowded is a run whose inbox and whose log fill more than a page of a query each.
func crowded(t *testing.T) (*subject, *wire) {
	t.Helper()
	w := &wire{Client: client}
	store, _ := open(t, dynamo.Config{Client: w})
	s := &subject{t, store}
	s.create("r")
	s.records("r", 1, 60, random(30_000))
	for seq := range int64(40) {
		s.file("r", newResult(seq, random(30_000)))
	}
	w.requests()
	return s, w
}

func TestLongLogBeginsAtItsOlderEnd(t *testing.T) {
	s, _ := crowded(t)
	for _, known := range []port.Position{{}, {Generation: 2, Record: 5},
		{Generation: 1, Record: 3}} {
		view := s.look("r", known)
		require.Len(t, view.Inbox, 41)
		require.True(t, view.More)
		want := 0
		if known.Generation == 1 {
			want = known.Record
		}
		for _, rec := range view.Records {
			want++
			require.Equal(t, want, rec.Number)
		}
		for more := true; more; {
			page, err := s.Records(t.Context(), "r", 1, want)
			require.NoError(t, err)
			for _, rec := range page {
				want++
				require.Equal(t, want, rec.Number)
			}
			more = len(page) > 0
		}
		require.Equal(t, 60, want)
	}
	for _, last := range []int{58, 60} {
		view := s.look("r", port.Position{Generation: 1, Record: last})
		require.Len(t, view.Inbox, 41)
		require.Len(t, view.Records, 60-last)
		require.False(t, view.More)
	}
}

// TestLookWhileTheRunGoesOn has the run go on between two pages of one look: the view stays that of its beginning, whole.
func TestLookWhileTheRunGoesOn(t *testing.T) {
	for _, known := range []port.Position{{Generation: 1, Record: 20}, {}} {
		pages := 0
		for lookWhileItGoesOn(t, known, pages+1) {
			pages++
		}
		require.Positive(t, pages, "it was one query")
	}
}

// lookWhileItGoesOn has the run go on after a number of queries; it says whether there were as many.
func lookWhileItGoesOn(t *testing.T, known port.Position, after int) (went bool) {
	t.Helper()
	s, w := crowded(t)
	summary, err := s.Summary(t.Context(), "r")
	require.NoError(t, err)
	queries := 0
	w.around = func(operation string, do func() error) error {
		if operation == "Query" && queries == after {
			went = true
			commit := goOn(summary)
			commit.Record = newRecord(61, nil)
			s.put(commit)
			s.records("r", 2, 2, nil)
		}
		if operation == "Query" {
			queries++
		}
		return do()
	}
	view := s.look("r", known)
	w.around = nil
	require.Equal(t, 1, view.Summary.Generation)
	require.GreaterOrEqual(t, len(view.Inbox), 41)
	require.NotEmpty(t, view.Records)
	for i, rec := range view.Records {
		require.Equal(t, known.Record+1+i, rec.Number)
	}
	if went {
		require.Equal(t, []int{1, 2},
			numbers(s.look("r", port.Position{Generation: 1, Record: 60}).Records))
	}
	return went
}

func TestManyGenerations(t *testing.T) {
	store, _ := open(t, dynamo.Config{})
	s := &subject{t, store}
	summary := s.create("r")
	for generation := 1; generation < 30; generation++ {
		s.records("r", generation, 4, nil)
		commit := goOn(summary)
		commit.Record = newRecord(5, nil)
		s.put(commit)
		summary = commit.Summary
	}
	require.Empty(t, s.look("r", port.Position{}).Records)
	require.Empty(t, s.look("r", port.Position{Generation: 29, Record: 5}).Records)
	s.records("r", 30, 150, nil)
	for _, known := range []port.Position{{}, {Generation: 3, Record: 2},
		{Generation: 31, Record: 1}, {Generation: 30}} {
		require.Equal(t, upTo(150), numbers(s.look("r", known).Records), fmt.Sprint(known))
	}
}

func TestItemsWithoutARun(t *testing.T) {
	store, _ := open(t, dynamo.Config{})
	s := &subject{t, store}
	s.file("r", newResult(1, nil))
	s.records("r", 1, 2, nil)
	_, err := s.Look(t.Context(), "r", port.Position{})
	require.ErrorIs(t, err, port.ErrNoRun)
	_, err = s.Look(t.Context(), "r", port.Position{Generation: 1, Record: 2})
	require.ErrorIs(t, err, port.ErrNoRun)
	summary, start := newRun("r")
	require.ErrorIs(t, s.Put(t.Context(),
		&port.Commit{Run: "r", Generation: 1, Record: newRecord(3, nil), Summary: summary,
			Next: &start}), port.ErrNoRun)
}

func TestPlacesOutOfReach(t *testing.T) {
	store, config := open(t, dynamo.Config{})
	s := &subject{t, store}
	s.create("r")
	s.records("r", 1, 1, random(40_000))
	places := config.Codec.Places.(interface{ Len() int })
	require.Equal(t, 1, places.Len())
	require.NoError(t, config.Codec.Places.Forget(t.Context(), "r"))
	_, err := s.Look(t.Context(), "r", port.Position{})
	require.ErrorIs(t, err, history.ErrUnreadable)
	require.ErrorContains(t, err, `record 1 of generation 1 of run "r"`)
}

func TestNumbersBeyondTheKeys(t *testing.T) {
	store, _ := open(t, dynamo.Config{})
	s := &subject{t, store}
	s.create("r")
	err := s.Put(t.Context(),
		&port.Commit{Run: "r", Generation: 1, Record: newRecord(1_000_000_000, nil)})
	require.Equal(t, port.TooLarge, port.CodeOf(err))
	s.put(&port.Commit{Run: "r", Generation: 1, Record: newRecord(999_999_999, nil)})
	for _, after := range []int{999_999_999, 1 << 40} {
		records, err := s.Records(t.Context(), "r", 1, after)
		require.NoError(t, err)
		require.Empty(t, records)
	}
}
