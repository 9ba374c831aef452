package porttest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// epoch is when everything here begins. It has nanoseconds, so that a store that drops them is found out.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func newSummary(run string) *port.Summary {
	return &port.Summary{Run: run, Workflow: "order", Generation: 1, Status: history.Running,
		Started: epoch, Input: history.Payload(`{"id":7}`)}
}

func startItem(generation int) port.Item {
	event := &history.Started{Generation: generation, Workflow: "order", Input: history.Payload(`{"id":7}`), Seed: 1<<63 + 7}
	history.File(event, "f-start")
	return port.Item{Key: event.Key(generation), Event: event, Stamp: 1, Durable: true}
}

func mail(id string) port.Item {
	event := history.NewSignal(id, "approve", history.Payload(`"yes"`))
	history.File(event, "f-"+id)
	return port.Item{Key: event.Key(1), Event: event, Stamp: epoch.UnixNano(), Durable: true}
}

func fired(seq int64) port.Item {
	event := &history.TimerFired{Seq: seq}
	history.File(event, "f-fired")
	return port.Item{Key: event.Key(1), Event: event, Stamp: 3}
}

func record(number int) *history.Record { return recordOf(number, history.Payload(`{"step":true}`)) }

func recordOf(number int, input history.Payload) *history.Record {
	schedule := &history.ScheduleActivity{Activity: "charge", Input: input, Inline: true}
	schedule.Number(int64(number))
	schedule.Emitter("p0.p1")
	rec := &history.Record{Number: number, Time: epoch.Add(time.Duration(number)), Author: "author-1", Until: epoch.Add(time.Minute),
		Again: []history.Item{{Key: "mail#a#signal#approve", Filing: "f-a"}}, Resumes: []int64{4}, Commands: []history.Command{schedule}}
	if number > 1 {
		rec.Events = []history.Event{&history.ActivityResolved{Seq: int64(number - 1), Result: history.Payload(`[1]`), Number: 1}}
	}
	return rec
}

func (s *subject) create(run string) *port.Summary {
	s.t.Helper()
	summary := newSummary(run)
	require.NoError(s.t, s.Runs.Create(s.t.Context(), summary, startItem(1)))
	return summary
}

func (s *subject) put(run string, generation int, numbers ...int) {
	s.t.Helper()
	for _, n := range numbers {
		require.NoError(s.t,
			s.Runs.Put(s.t.Context(), &port.Commit{Run: run, Generation: generation,
				Record: record(n)}))
	}
}

func (s *subject) file(run string, item port.Item) {
	s.t.Helper()
	_, there, err := s.Runs.File(s.t.Context(), run, item)
	require.NoError(s.t, err)
	require.False(s.t, there, "an item of key %s was there", item.Key)
}

func (s *subject) look(run string, known port.Position) *port.View {
	s.t.Helper()
	view, err := s.Runs.Look(s.t.Context(), run, known)
	require.NoError(s.t, err)
	return view
}

// log reads all records of a generation after a number, page by page.
func (s *subject) log(run string, generation, after int) (records []*history.Record) {
	s.t.Helper()
	for {
		page, err := s.Runs.Records(s.t.Context(), run, generation, after)
		require.NoError(s.t, err)
		if len(page) == 0 {
			return records
		}
		records = append(records, page...)
		after = page[len(page)-1].Number
	}
}

func (s *subject) reopen() {
	s.t.Helper()
	if s.Reopen == nil {
		s.t.Skip("the store is volatile: Stores.Reopen is nil")
	}
	s.Stores = s.Reopen(s.t)
}

// end closes a run by its first record.
func (s *subject) end(summary *port.Summary) *port.Summary {
	s.t.Helper()
	ended := *summary
	ended.Status, ended.Closed, ended.Result = history.Completed, summary.Started.Add(time.Hour),
		history.Payload(`"done"`)
	require.NoError(s.t,
		s.Runs.Put(s.t.Context(), &port.Commit{Run: summary.Run, Generation: summary.Generation,
			Record: record(1), Summary: &ended}))
	return &ended
}

// next has a run go on in the next generation, after a record if number is not 0.
func next(summary *port.Summary, number int) *port.Commit {
	after := *summary
	after.Generation, after.Status, after.Closed = summary.Generation+1, history.Running, time.Time{}
	start := startItem(after.Generation)
	commit := &port.Commit{Run: summary.Run, Generation: summary.Generation, Summary: &after,
		Next: &start}
	if number > 0 {
		commit.Record = record(number)
	}
	return commit
}

func keys(items []port.Item) []string {
	all := []string{}
	for _, item := range items {
		all = append(all, item.Key)
	}
	slices.Sort(all)
	return all
}

func numbers(records []*history.Record) []int {
	all := []int{}
	for _, rec := range records {
		all = append(all, rec.Number)
	}
	return all
}

// upTo lists 1 to n.
func upTo(n int) []int {
	all := []int{}
	for i := range n {
		all = append(all, i+1)
	}
	return all
}

func sameRecord(t *testing.T, want, got *history.Record) {
	t.Helper()
	require.Equal(t, string(history.AppendRecord(nil, want)), string(history.AppendRecord(nil, got)))
}

func sameItem(t *testing.T, want, got port.Item) {
	t.Helper()
	require.Equal(t, string(history.EncodeEvent(want.Event)), string(history.EncodeEvent(got.Event)))
	want.Event, got.Event = nil, nil
	require.Equal(t, want, got)
}

// sameSummary compares what a summary says: its stored form.
func sameSummary(t *testing.T, want, got *port.Summary) {
	t.Helper()
	require.JSONEq(t, jsonOf(t, want), jsonOf(t, got))
	require.Equal(t, want.Start, got.Start)
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// big is a payload of so many bytes.
func big(size int) history.Payload {
	return history.Payload(`"` + strings.Repeat("x", size-2) + `"`)
}
