//go:build dynamodb

package dynamo_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/system"
)

// sent is a queue that keeps what was sent last.
type sent struct{ resumes []port.Resume }

func (q *sent) SendResumes(_ context.Context, messages ...port.Resume) error {
	q.resumes = append(q.resumes, messages...)
	return nil
}

func (*sent) SendTasks(context.Context, ...port.Task) error { return nil }

// TestAMessageReadsNothingOfALongLog: what a message with a chosen id costs does not depend on the log.
func TestAMessageReadsNothingOfALongLog(t *testing.T) {
	s, w, b := metered(t)
	queue := &sent{}
	e, err := engine.New(port.Ports{Runs: s.Store, Directory: s.Store, Due: s.Store, Tasks: s.Store,
		Queue: queue,
		Clock: system.Clock{},
		NewID: rand.Text}, engine.Config{TokenKey: make([]byte, 32),
		Version: "1",
		Definitions: []workflow.Definition{workflow.New("w",
			func(ctx workflow.Context, _ int) (int, error) {
				_, err := workflow.AwaitSignal(ctx, workflow.NewSignal[string]("go"))
				return 0, err
			})}})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	s.create("long")
	for n := 1; n <= 300; n++ {
		s.put(&port.Commit{Run: "long", Generation: 1, Record: newRecord(n, random(3000))})
	}
	signal := func(id, input string, unique bool) (requests []string, reads, writes float64, err error) {
		w.requests()
		b.since()
		_, err = e.Signal(t.Context(), engine.MessageRequest{Run: "long", ID: id, Unique: unique}, "go", history.Payload(input))
		reads, writes = b.since()
		return w.requests(), reads, writes, err
	}
	requests, reads, writes, err := signal("unique", `"x"`, true)
	require.NoError(t, err)
	require.Equal(t, []string{"GetItem", "PutItem"}, requests)
	require.InDelta(t, 1, reads, 0)
	require.InDelta(t, 1, writes, 0)

	requests, reads, writes, err = signal("m", `"x"`, false)
	require.NoError(t, err)
	require.Equal(t, []string{"GetItem", "GetItem", "GetItem", "PutItem", "GetItem", "GetItem"}, requests)
	require.InDelta(t, 5, reads, 0)
	require.InDelta(t, 1, writes, 0)

	// A record takes it, in the middle of a long log.
	item := queue.resumes[len(queue.resumes)-1].Carries
	s.put(&port.Commit{Run: "long", Generation: 1, Record: &history.Record{Number: 301, Time: began,
		Author: "a", Events: []history.Event{item.Event}}})
	b.since()
	require.NoError(t, s.Note(t.Context(), "long",
		[]port.Note{{Key: item.Key, Taken: port.Position{Generation: 1, Record: 301}}}))
	_, writes = b.since()
	require.InDelta(t, 1, writes, 0, "a note is one write unit")
	require.NoError(t, s.Delete(t.Context(), "long", []string{item.Key}))
	for n := 302; n <= 400; n++ {
		s.put(&port.Commit{Run: "long", Generation: 1, Record: newRecord(n, random(3000))})
	}
	requests, reads, writes, err = signal("m", `"x"`, false)
	require.NoError(t, err, "it is a repetition")
	require.Equal(t, []string{"GetItem", "GetItem", "GetItem", "GetItem"}, requests)
	require.LessOrEqual(t, reads, 4.0)
	require.Zero(t, writes)
	_, reads, writes, err = signal("m", `"y"`, false)
	require.Equal(t, port.Conflict, port.CodeOf(err))
	require.LessOrEqual(t, reads, 4.0)
	require.Zero(t, writes)
}
