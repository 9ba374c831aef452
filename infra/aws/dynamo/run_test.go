//go:build dynamodb

package dynamo_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// began is when everything here begins.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newRun(run string) (*port.Summary, port.Item) {
	summary := &port.Summary{Run: run, Workflow: "order", Generation: 1, Status: history.Running,
		Started: began, Input: history.Payload(`{"id":7}`)}
	return summary, newStart(summary)
}

// newStart is the start of a summary's generation.
func newStart(summary *port.Summary) port.Item {
	event := &history.Started{Generation: summary.Generation, Workflow: summary.Workflow, Seed: 7}
	history.File(event, "f-start")
	return port.Item{Key: event.Key(summary.Generation), Event: event, Stamp: 1, Durable: true}
}

func newRecord(number int, input history.Payload) *history.Record {
	schedule := &history.ScheduleActivity{Activity: "charge", Input: input, Inline: true}
	schedule.Number(int64(number))
	return &history.Record{Number: number, Time: began, Author: "author-1", Until: began.Add(time.Minute), Commands: []history.Command{schedule}}
}

func newResult(seq int64, result history.Payload) port.Item {
	event := &history.ActivityResolved{Seq: seq, Result: result, Number: 1}
	history.File(event, fmt.Sprint("f-", seq))
	return port.Item{Key: event.Key(1), Event: event, Stamp: 1}
}

// random is a payload of so many bytes that does not deflate.
func random(size int) history.Payload {
	source := rand.New(rand.NewPCG(uint64(size), 1))
	data := make([]byte, size*3/4)
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return history.Payload(`"` + base64.StdEncoding.EncodeToString(data)[:max(0, size-2)/4*4] + `"`)
}

// subject is a store with verbs that fail the test.
type subject struct {
	t *testing.T
	*dynamo.Store
}

func (s *subject) create(run string) *port.Summary {
	s.t.Helper()
	summary, start := newRun(run)
	require.NoError(s.t, s.Create(s.t.Context(), summary, start))
	return summary
}

func (s *subject) put(commit *port.Commit) {
	s.t.Helper()
	require.NoError(s.t, s.Put(s.t.Context(), commit))
}

// records puts records 1 to n of a generation.
func (s *subject) records(run string, generation, n int, input history.Payload) {
	s.t.Helper()
	for i := range n {
		s.put(&port.Commit{Run: run, Generation: generation, Record: newRecord(i+1, input)})
	}
}

func (s *subject) file(run string, item port.Item) {
	s.t.Helper()
	_, _, err := s.File(s.t.Context(), run, item)
	require.NoError(s.t, err)
}

func (s *subject) look(run string, known port.Position) *port.View {
	s.t.Helper()
	view, err := s.Look(s.t.Context(), run, known)
	require.NoError(s.t, err)
	return view
}

// end closes a run with a record.
func (s *subject) end(summary *port.Summary, number int, closed time.Time) *port.Summary {
	s.t.Helper()
	ended := *summary
	ended.Status, ended.Closed = history.Completed, closed
	s.put(&port.Commit{Run: summary.Run, Generation: summary.Generation,
		Record: newRecord(number, nil), Summary: &ended})
	return &ended
}

// goOn begins the next generation.
func goOn(summary *port.Summary) *port.Commit {
	next := *summary
	next.Generation, next.Status, next.Closed = summary.Generation+1, history.Running, time.Time{}
	start := newStart(&next)
	return &port.Commit{Run: summary.Run, Generation: summary.Generation, Summary: &next,
		Next: &start}
}

func numbers(records []*history.Record) (all []int) {
	for _, rec := range records {
		all = append(all, rec.Number)
	}
	return all
}

// upTo lists 1 to n.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}
