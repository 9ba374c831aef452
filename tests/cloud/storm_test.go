//go:build dynamodb

package cloud

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/workflow"
)

// TestStartStorm: all queues are lost while 1,000 runs are under way, and functions that know none of them are given all at once
// by a rebuild. As many replays are under way at one time as functions may be, and all runs end.
//
// STORM_RUNS is how many runs there are (1,000).
func TestStartStorm(t *testing.T) {
	runs := int(number(t, "STORM_RUNS", 1000))
	table, err := database.Table(t.Context())
	require.NoError(t, err)
	var replays atomic.Int64
	// A run has a step behind it when the queues are lost. Of three, the first waits for an activity, the second for a timer,
	// the third for a signal that lies in its inbox.
	storm := workflow.New("storm", func(ctx workflow.Context, kind int) (int, error) {
		replays.Add(1)
		one, err := workflow.Step(ctx, "one", func(context.Context) (int, error) { return 1, nil })
		if err != nil {
			return 0, err
		}
		switch kind {
		case 0:
			return workflow.Execute(ctx, double, one)
		case 1:
			return 2, workflow.Sleep(ctx, 2*time.Second)
		default:
			return workflow.AwaitSignal(ctx, proceed)
		}
	})
	before, err := database.OpenTable(t.Context(), table, nil, storm, double)
	require.NoError(t, err)
	before.queues.hold(tasks)
	var callers errgroup.Group
	const atOnce = 32
	callers.SetLimit(atOnce)
	for i := range runs {
		callers.Go(func() error {
			_, _, err := before.Engine.Start(t.Context(), engine.StartRequest{Run: fmt.Sprint("storm-", i), Workflow: "storm", Input: fmt.Append(nil, i%3)})
			return err
		})
	}
	require.NoError(t, callers.Wait())
	require.Eventually(t, func() bool { return replays.Load() >= int64(runs) }, 2*time.Minute, 50*time.Millisecond)
	before.queues.hold(resumes) // what is sent from now on is lost with the queues
	for i := range runs {
		if i%3 == 2 {
			callers.Go(func() error {
				_, err := before.Engine.Signal(t.Context(), engine.MessageRequest{Run: fmt.Sprint("storm-", i)}, "proceed", []byte("2"))
				return err
			})
		}
	}
	require.NoError(t, callers.Wait())
	before.Close()

	replays.Store(0)
	c, err := database.OpenTable(t.Context(), table, nil, storm, double)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	c.queues.hold(resumes) // until all is there at once
	door := c.door(t, &answers{})
	sent, pages, begun := 0, 0, time.Now()
	for cursor, more := "", true; more; {
		page, err := door.Rebuild(t.Context(), cursor)
		require.NoError(t, err)
		sent, pages, cursor, more = sent+page.Sent, pages+1, page.Next, page.Next != ""
	}
	took := time.Since(begun)
	c.queues.release(resumes, concurrency)
	require.NoError(t, c.Quiet(t.Context()))
	for i := range runs {
		c.gives(t, fmt.Sprint("storm-", i), "2")
	}
	ofResumes, ofTasks := c.Usage()
	most := c.queues.queues[resumes].most
	require.LessOrEqual(t, most, concurrency)
	require.LessOrEqual(t, replays.Load(), int64(2*runs), "a run is replayed once, or where two of its messages came apart")
	t.Logf("%d runs; rebuilt in %s by %d pages, which said %d messages; %d resumes in %d invocations, %d at one time; %d tasks in %d invocations; %d replays",
		runs, took.Round(10*time.Millisecond), pages, sent, ofResumes.Messages, ofResumes.Receives, most, ofTasks.Messages, ofTasks.Receives, replays.Load())
}

// hold has no message of a queue received.
func (q *queues) hold(url string) { q.release(url, 0) }

// release has so many batches of a queue handled at one time.
func (q *queues) release(url string, atOnce int) {
	q.mu.Lock()
	of := q.queues[url]
	of.source.atOnce = atOnce
	q.mu.Unlock()
	q.poll(of)
}
