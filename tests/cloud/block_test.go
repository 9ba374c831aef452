//go:build dynamodb

package cloud

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
)

// TestFalseBlock: nothing is let through for so long that resumes are received too often, though nothing is wrong with their
// runs. These are blocked, lose nothing, and end once they are unblocked.
func TestFalseBlock(t *testing.T) {
	t.Parallel() // it waits for attempts to be given up
	f := newFaults(1, 0, 0)
	c := open(t, f, waits)
	ctx := t.Context()
	door := c.door(t, &answers{})
	const runs = 20
	id := func(i int) string { return fmt.Sprint("false-", i) }
	for i := range runs {
		c.start(t, id(i), "waits", 0)
	}
	require.NoError(t, c.Quiet(ctx))
	c.queues.hold(resumes)
	for i := range runs {
		_, err := door.Signal(ctx, engine.MessageRequest{Run: id(i)}, "proceed", []byte("1"))
		require.NoError(t, err)
	}
	c.queues.mu.Lock()
	of := c.queues.queues
	of[resumes].source.receives, of[resumes].source.visibility = 2, time.Second // else the outage would have to be long
	of[dead].source.visibility = 10 * time.Second
	c.queues.mu.Unlock()
	f.throttleAll()
	c.queues.release(resumes, concurrency)
	require.Eventually(t, func() bool { return c.queues.waiting(resumes) == 0 }, 2*time.Minute, 50*time.Millisecond, "all are among the dead")
	f.end()
	require.Eventually(t, func() bool { return c.queues.waiting(dead) == 0 }, 2*time.Minute, 50*time.Millisecond)
	blocked := 0
	for i := range runs {
		summary, err := c.stopped(ctx, id(i))
		require.NoError(t, err)
		if summary.Blocked != nil {
			require.Equal(t, port.ReasonUndeliverable, summary.Blocked.Reason)
			blocked++
		}
	}
	require.Positive(t, blocked, "an outage that outlasts all receives blocks whoever has mail") // the outage may end for one in time
	diagnosis, err := door.Diagnose(ctx)
	require.NoError(t, err)
	require.False(t, diagnosis.Healthy)
	unblocked := 0
	for i := range runs {
		require.Eventually(t, func() bool { // a dead letter may come twice, and block once more
			summary, err := c.unmetered.Summary(ctx, id(i))
			if err == nil && summary.Blocked != nil && door.Unblock(ctx, id(i)) == nil {
				unblocked++
			}
			return err == nil && summary.Blocked == nil && summary.Status.Closed()
		}, 2*time.Minute, 500*time.Millisecond)
	}
	t.Logf("%d of %d runs were blocked, and unblocked %d times", blocked, runs, unblocked)
	for i := range runs {
		c.gives(t, id(i), "1")
		c.leavesNothing(t, id(i))
	}
}

// waiting is how many messages a queue has, whether they can be received or not.
func (q *queues) waiting(url string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queues[url].messages)
}
