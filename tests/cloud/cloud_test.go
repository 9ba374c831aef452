//go:build dynamodb

package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

var database *Database

func TestMain(m *testing.M) {
	var err error
	if database, err = StartDatabase(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	database.Stop()
	os.Exit(code)
}

var (
	double = activity.New("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	// mixed does a step and an activity so many times.
	mixed = workflow.New("mixed", func(ctx workflow.Context, times int) (total int, err error) {
		for range times {
			one, err := workflow.Step(ctx, "one", func(context.Context) (int, error) { return 1, nil })
			if err != nil {
				return 0, err
			}
			two, err := workflow.Execute(ctx, double, one)
			if err != nil {
				return 0, err
			}
			total += two
		}
		return total, nil
	})
)

func open(t *testing.T, transport http.RoundTripper, definitions ...workflow.Definition) *Cloud {
	t.Helper()
	c, err := database.Open(t.Context(), transport, definitions...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func (c *Cloud) start(t *testing.T, run, workflow string, input int) {
	t.Helper()
	payload, err := history.Encode(input)
	require.NoError(t, err)
	_, _, err = c.Engine.Start(t.Context(), engine.StartRequest{Run: run, Workflow: workflow, Input: payload})
	require.NoError(t, err)
}

// flaky is a way to AWS on which requests get lost, and answers: each some of the time, or all of the table's while that is down.
type flaky struct {
	down  atomic.Bool
	calls atomic.Int64
}

var errDown = errors.New("connection reset by peer")

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	n := f.calls.Add(1)
	if f.down.Load() && strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB") || n%7 == 0 {
		return nil, errDown
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && n%5 == 0 {
		return nil, errors.Join(errDown, response.Body.Close())
	}
	return response, err
}

// TestLostAnswers: requests are lost, or their answers are, and every run ends with what it ought to.
func TestLostAnswers(t *testing.T) {
	c := open(t, &flaky{}, mixed, double)
	const runs = 20
	for i := range runs {
		c.start(t, fmt.Sprint("r", i), "mixed", 5)
	}
	for i := range runs {
		c.gives(t, fmt.Sprint("r", i), "10")
	}
}

// gives waits for a run's result.
func (c *Cloud) gives(t *testing.T, run, want string) {
	t.Helper()
	require.NoError(t, c.Ended(t.Context(), run))
	summary, err := c.unmetered.Summary(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, want, string(summary.Result), "%+v", summary.Failure)
}

// TestOutage: as long as the table does not answer, messages wait; nothing is given up for it.
func TestOutage(t *testing.T) {
	t.Parallel() // it waits for attempts to be given up
	way := &flaky{}
	c := open(t, way, mixed, double)
	c.start(t, "r", "mixed", 50)
	way.down.Store(true)
	_, _, before := c.received()
	require.Eventually(t, func() bool {
		_, _, now := c.received()
		return now >= before+4 // by then it would be on its way to the dead, but for being sent anew
	}, 2*time.Minute, 100*time.Millisecond)
	way.down.Store(false)
	c.gives(t, "r", "100")
	require.Zero(t, c.queues.queues[dead].usage.Receives)
}

// received is how often the functions were called.
func (c *Cloud) received() (ofResumes, ofTasks, all int) {
	r, k := c.Usage()
	return r.Receives, k.Receives, r.Receives + k.Receives
}

// TestCosts: what an activity must not cost more than (DESIGN.md).
func TestCosts(t *testing.T) {
	inline := workflow.New("inline", func(ctx workflow.Context, times int) (n int, err error) {
		for range times {
			if n, err = workflow.Execute(ctx, double.Inline(), n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	queued := workflow.New("queued", func(ctx workflow.Context, times int) (n int, err error) {
		for range times {
			if n, err = workflow.Execute(ctx, double, n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	type spent struct{ writes, queries, messages float64 }
	spend := func(name string, times int) spent {
		c := open(t, nil, inline, queued, double)
		c.start(t, "r", name, times)
		require.NoError(t, c.Ended(t.Context(), "r"))
		require.NoError(t, c.Quiet(t.Context()))
		ofResumes, ofTasks := c.Usage()
		return spent{c.Meter.Total("", "").Writes, float64(c.Meter.Total("", "Query").Requests), float64(ofResumes.Messages + ofTasks.Messages)}
	}
	const few, many = 5, 25
	for name, most := range map[string]spent{"inline": {1, 0, 0}, "queued": {3, 1, 2}} {
		short, long := spend(name, few), spend(name, many)
		each := spent{(long.writes - short.writes) / (many - few), (long.queries - short.queries) / (many - few), (long.messages - short.messages) / (many - few)}
		// A visit that meets the one before it, still tidying up, comes again later: rare, and not the activity's.
		const slack = 0.25
		require.LessOrEqual(t, each.writes, most.writes+slack, "write units, %s", name)
		require.LessOrEqual(t, each.queries, most.queries+slack, "queries, %s", name)
		require.LessOrEqual(t, each.messages, most.messages+slack, "messages, %s", name)
	}
}
