//go:build dynamodb

package dynamo_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// bill is a meter.
type bill struct {
	mu            sync.Mutex
	reads, writes float64
	runs          map[string]float64
}

func (b *bill) Count(run, _ string, reads, writes float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads, b.writes = b.reads+reads, b.writes+writes
	if b.runs == nil {
		b.runs = map[string]float64{}
	}
	b.runs[run] += reads + writes
}

// since gives what was consumed since it was asked last.
func (b *bill) since() (reads, writes float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	reads, writes = b.reads, b.writes
	b.reads, b.writes = 0, 0
	return reads, writes
}

// metered is a store whose requests and units are counted.
func metered(t *testing.T) (*subject, *wire, *bill) {
	t.Helper()
	w, b := &wire{Client: client}, &bill{}
	s, _ := open(t, dynamo.Config{Client: w, Meter: b})
	return &subject{t, s}, w, b
}

func TestInlineStepIsOneWriteUnit(t *testing.T) {
	s, w, b := metered(t)
	s.create("r")
	w.requests()
	b.since()
	for n := 1; n <= 3; n++ {
		s.put(&port.Commit{Run: "r", Generation: 1,
			Record: newRecord(n, history.Payload(`{"order":"4711","amount":12.5}`))})
		reads, writes := b.since()
		require.Equal(t, []string{"PutItem"}, w.requests())
		require.Zero(t, reads)
		require.InDelta(t, 1, writes, 0)
	}
	require.Contains(t, b.runs, "r")
}

// TestAStartReadsOneUnitOfTheCatalog: however many versions the definition has.
func TestAStartReadsOneUnitOfTheCatalog(t *testing.T) {
	s, w, b := metered(t)
	for version := 1; version <= 30; version++ {
		require.NoError(t, s.PutDefinition(t.Context(),
			&port.Definition{Name: "order", Version: version, Kind: "flow", Source: "{}",
				Status:    port.DefinitionPublished,
				Hash:      port.HashDefinition("flow", "{}"),
				Publisher: "arn:aws:sts::123456789012:assumed-role/release/pipeline"}))
	}
	find := func(version, requests int, units float64) {
		t.Helper()
		w.requests()
		b.since()
		found, err := s.FindDefinition(t.Context(), "order", 0)
		require.NoError(t, err)
		require.Equal(t, version, found.Version)
		reads, _ := b.since()
		require.InDelta(t, units, reads, 0)
		require.Len(t, w.requests(), requests)
	}
	find(30, 1, 1)
	for version := 10; version <= 30; version++ {
		require.NoError(t, s.SetDefinitionStatus(t.Context(), "order", version,
			port.DefinitionRetired))
	}
	find(9, 2, 3)
}

func TestQueuedActivityIsThreeWriteUnitsAndOneQuery(t *testing.T) {
	s, w, b := metered(t)
	s.create("r")
	s.records("r", 1, 1, nil)
	require.NoError(t, s.Delete(t.Context(), "r", []string{"start#1"}))
	w.requests()
	b.since()
	result := newResult(1, history.Payload(`{"receipt":"A-17"}`))
	s.file("r", result)
	view := s.look("r", port.Position{Generation: 1, Record: 1})
	require.Len(t, view.Inbox, 1)
	s.put(&port.Commit{Run: "r", Generation: 1, Record: &history.Record{Number: 2, Time: began,
		Author: "author-1", Events: []history.Event{result.Event}}})
	require.NoError(t, s.Delete(t.Context(), "r", []string{result.Key}))
	require.Equal(t, []string{"PutItem", "Query", "PutItem", "DeleteItem"}, w.requests())
	reads, writes := b.since()
	require.InDelta(t, 1, reads, 0)
	require.InDelta(t, 3, writes, 0)
}

func TestSummaryIsOneTransaction(t *testing.T) {
	s, w, b := metered(t)
	summary := s.create("r")
	require.Equal(t, []string{"TransactWriteItems"}, w.requests())
	b.since()
	s.end(summary, 1, began.Add(time.Hour))
	require.Equal(t, []string{"TransactWriteItems"}, w.requests())
	_, writes := b.since()
	require.LessOrEqual(t, writes, 8.0, "twice for the record, the summary, and its entry in the index: the old one and the new one")
}

func TestLookIsOneQuery(t *testing.T) {
	s, w, b := metered(t)
	summary := s.create("r")
	s.records("r", 1, 60, nil)
	s.file("r", newResult(1, nil))
	w.requests()
	require.Len(t, s.look("r", port.Position{}).Records, 60)
	require.Equal(t, []string{"Query"}, w.requests())
	b.since()
	require.Len(t, s.look("r", port.Position{Generation: 1, Record: 59}).Records, 1)
	require.Empty(t, s.look("r", port.Position{Generation: 1, Record: 60}).Records)
	require.Equal(t, []string{"Query", "Query"}, w.requests())
	reads, _ := b.since()
	require.InDelta(t, 2, reads, 0, "the log is not read again")

	for n := 61; n <= 200; n++ {
		s.put(&port.Commit{Run: "r", Generation: 1, Record: newRecord(n, random(900))})
	}
	s.put(goOn(summary))
	s.records("r", 2, 3, nil)
	w.requests()
	b.since()
	view := s.look("r", port.Position{})
	require.Equal(t, upTo(3), numbers(view.Records))
	require.Equal(t, []string{"Query"}, w.requests())
	reads, _ = b.since()
	require.Less(t, reads, 30.0, "earlier generations are read in part at most")
}

func TestTimersOfOneMinuteShareTheirPlaceOnTheList(t *testing.T) {
	s, w, b := metered(t)
	at := time.Now().Add(time.Hour)
	for seq := range int64(3) {
		require.NoError(t, s.PutDue(t.Context(), port.DueTimer{At: at, Run: "r", Generation: 1,
			Seq: seq}))
	}
	require.Len(t, w.requests(), 4)
	_, writes := b.since()
	require.InDelta(t, 4, writes, 0)
}

func TestListReadsNoMoreThanItNeeds(t *testing.T) {
	s, w, b := metered(t)
	for _, id := range []string{"a", "b", "c"} {
		s.create(id)
	}
	w.requests()
	b.since()
	page, next, err := s.List(t.Context(), port.ListQuery{Status: history.Running, Limit: 100})
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, page, 3)
	require.Len(t, w.requests(), 9, "eight shards, and the summaries")
	reads, _ := b.since()
	require.LessOrEqual(t, reads, 8*0.5+3)
}
