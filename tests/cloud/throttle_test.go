//go:build dynamodb

package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/tests/ledger"
)

var (
	proceed = workflow.NewSignal[int]("proceed")
	// various waits for several activities, a timer, a signal and a child, and goes on as new so many times.
	various = workflow.New("various", varied)
)

func varied(ctx workflow.Context, left int) (total int, err error) {
	doubled, err := workflow.Map(ctx, []int{1, 2, 3}, func(ctx workflow.Context, n int) (int, error) { return workflow.Execute(ctx, double, n) })
	if err != nil {
		return 0, err
	}
	for _, n := range doubled {
		total += n
	}
	if err := workflow.Sleep(ctx, time.Second); err != nil {
		return 0, err
	}
	n, err := workflow.AwaitSignal(ctx, proceed)
	if err != nil {
		return 0, err
	}
	of, err := workflow.ExecuteChild(ctx, mixed, 2)
	if err != nil {
		return 0, err
	}
	if left > 0 {
		return workflow.ContinueAsNew(ctx, varied, left-1)
	}
	return total + n + of, nil
}

// waits waits for a signal, and gives what it says.
var waits = workflow.New("waits", func(ctx workflow.Context, _ int) (int, error) { return workflow.AwaitSignal(ctx, proceed) })

// door is the API before a system, with a client that repeats nothing by itself.
func (c *Cloud) door(t *testing.T, transport http.RoundTripper) *client.Client {
	t.Helper()
	handler, err := api.New(api.Config{Engine: c.Engine, LongestWait: 20 * time.Second, LongestAnswer: 1 << 20, Rebuild: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	door, err := client.New(client.Config{Address: server.URL, Retries: -1, HTTP: &http.Client{Transport: transport}})
	require.NoError(t, err)
	return door
}

// answers counts those that ask the caller to try again, and those that ought not to be.
type answers struct{ again, wrong atomic.Int64 }

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	switch {
	case err != nil:
		a.wrong.Add(1)
	case response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
		a.again.Add(1)
	case response.StatusCode >= http.StatusBadRequest:
		a.wrong.Add(1)
	}
	return response, err
}

// TestThrottled has the table and the queues throttle, fail and lose answers while runs of all sorts are under way. All end as
// they do without, and nothing in their logs is double.
//
// THROTTLED_SEED draws the same faults for the same requests, THROTTLED_RUNS is how many runs there are (200), THROTTLED_ROUNDS
// how often it is done, each time with another seed (1), and THROTTLED_PERCENT how many of 100 requests meet a fault at most (50).
func TestThrottled(t *testing.T) {
	t.Parallel() // it waits for requests to be repeated
	seed := number(t, "THROTTLED_SEED", rand.Uint64())
	runs := int(number(t, "THROTTLED_RUNS", 200))
	most := float64(number(t, "THROTTLED_PERCENT", 50)) / 100
	const few, least = 40, 0.1
	calm := newFaults(0, 0, 0)
	throttled(t, calm, few)
	for round := range number(t, "THROTTLED_ROUNDS", 1) {
		f := newFaults(seed+round, least, most)
		t.Logf("THROTTLED_SEED=%d", seed+round)
		throttled(t, f, runs)
		f.report(t)
		each, without := float64(f.requests)/float64(runs), float64(calm.requests)/few
		t.Logf("requests of one run: %.1f, without faults %.1f: %.2f times as many", each, without, each/without)
		// If so many fail throughout, so many more are needed; what is received again adds to it.
		require.Less(t, each/without, 1/(1-most)+1, "THROTTLED_SEED=%d: retries are a storm", seed+round)
	}
}

// throttled does everything once.
func throttled(t *testing.T, f *faults, runs int) {
	t.Helper()
	c := open(t, f, mixed, various, double)
	c.queues.mu.Lock()
	for _, queue := range c.queues.queues {
		queue.source.visibility = 20 * time.Second // what even its function could not put off comes again so much later
	}
	c.queues.mu.Unlock()
	told := &answers{}
	door := c.door(t, told)
	var callers errgroup.Group
	const atOnce = 32
	callers.SetLimit(atOnce)
	for i := range runs {
		callers.Go(func() error { return drive(t.Context(), door, i) })
	}
	require.NoError(t, callers.Wait())
	const patience = 5 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	blocked := 0
	for i := range runs {
		if i == runs*3/4 { // the others end once all is well
			f.end()
		}
		id, result := fmt.Sprint("run-", i), []string{"4", "19"}[i%2]
		summary, err := c.stopped(ctx, id)
		require.NoError(t, err, "%s does not end", id)
		if summary.Blocked != nil {
			blocked++
			require.NoError(t, c.Engine.Unblock(t.Context(), id))
			require.Eventually(t, func() bool {
				summary, err := c.unmetered.Summary(t.Context(), id)
				return err == nil && summary.Blocked == nil
			}, time.Minute, 20*time.Millisecond)
		}
		c.gives(t, id, result)
		c.leavesNothing(t, id)
	}
	require.Zero(t, told.wrong.Load(), "answers other than success and: try again later")
	ofResumes, ofTasks := c.Usage()
	t.Logf("%d runs; callers were asked to try again %d times; %d runs were blocked, and unblocked; %d invocations for resumes, %d for tasks",
		runs, told.again.Load(), blocked, ofResumes.Receives, ofTasks.Receives)
}

// drive starts a run and signals it, lists runs now and then, and calls again with the same id as long as it is told to.
func drive(ctx context.Context, door *client.Client, i int) error {
	id := fmt.Sprint("run-", i)
	request := engine.StartRequest{Run: id, Workflow: "mixed", Input: []byte("2")}
	if i%2 == 1 {
		request.Workflow, request.Input = "various", []byte("1")
	}
	if err := untilTaken(ctx, func() error { _, err := door.Start(ctx, request); return err }); err != nil {
		return err
	}
	for generation := range 2 * (i % 2) { // the one that is not taken in the first generation is there in the second
		mail := engine.MessageRequest{Run: id, ID: fmt.Sprint("mail-", generation)}
		if err := untilTaken(ctx, func() error { _, err := door.Signal(ctx, mail, "proceed", []byte("3")); return err }); err != nil {
			return err
		}
	}
	const seldom = 20
	if i%seldom > 0 {
		return nil
	}
	if err := untilTaken(ctx, func() error { _, err := door.List(ctx, port.ListQuery{Workflow: "various"}); return err }); err != nil {
		return err
	}
	return untilTaken(ctx, func() error { _, err := door.Rebuild(ctx, ""); return err }) // nothing was lost, and it does no harm
}

func untilTaken(ctx context.Context, call func() error) error {
	for {
		err := call()
		if client.CodeOf(err) != port.Unavailable {
			return err
		}
		if err := sleep(ctx, time.Second); err != nil { // as Retry-After has it
			return err
		}
	}
}

// leavesNothing checks the logs of a run and its children, and waits until their inboxes are empty.
func (c *Cloud) leavesNothing(t *testing.T, run string) {
	t.Helper()
	family, err := ledger.Check(t.Context(), c.unmetered, run)
	require.NoError(t, err)
	for _, run := range family {
		var view *port.View
		require.Eventually(t, func() bool {
			view, err = c.unmetered.Look(t.Context(), run, port.Position{})
			return err == nil && len(view.Inbox) == 0
		}, 2*time.Minute, 50*time.Millisecond, "the inbox of %s does not get empty", run)
		require.Nil(t, view.Summary.Blocked, run)
	}
}

// number reads a variable of the environment.
func number(t *testing.T, name string, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// TestCallersAreAskedToTryAgain: as long as nothing is let through, each call ends, and says that it may be repeated; repeated
// with the same id once all is well, it is as if it had been made once.
func TestCallersAreAskedToTryAgain(t *testing.T) {
	t.Parallel() // it waits for attempts to be given up
	f := newFaults(1, 0, 0)
	c := open(t, f, mixed, waits, double)
	told := &answers{}
	door := c.door(t, told)
	ctx := t.Context()
	for id := range 2 {
		_, err := door.Start(ctx, engine.StartRequest{Run: fmt.Sprint("open-", id), Workflow: "waits", Input: []byte("0")})
		require.NoError(t, err)
	}
	require.NoError(t, drive(ctx, door, 0))
	c.gives(t, "run-0", "4")
	require.NoError(t, c.Quiet(ctx))
	calls := map[string]func() error{
		"start": func() error {
			_, err := door.Start(ctx, engine.StartRequest{Run: "new", Workflow: "mixed", Input: []byte("1")})
			return err
		},
		"get":  func() error { _, err := door.Get(ctx, "run-0"); return err },
		"list": func() error { _, err := door.List(ctx, port.ListQuery{}); return err },
		"history": func() error {
			_, err := door.History(ctx, "run-0", 1, 0)
			return err
		},
		"signal": func() error {
			_, err := door.Signal(ctx, engine.MessageRequest{Run: "open-0", ID: "s"}, "proceed", []byte("1"))
			return err
		},
		"cancel": func() error {
			_, err := door.Cancel(ctx, engine.MessageRequest{Run: "open-1", ID: "c"}, "enough")
			return err
		},
		"activities": func() error { _, err := door.Activities(ctx, "open-0"); return err },
		"unblock":    func() error { return door.Unblock(ctx, "open-0") },
		"doctor":     func() error { _, err := door.Diagnose(ctx); return err },
		"rebuild":    func() error { _, err := door.Rebuild(ctx, ""); return err },
	}
	all := func() map[string]error {
		var mu sync.Mutex
		var callers sync.WaitGroup
		answered := map[string]error{}
		for name, call := range calls {
			callers.Go(func() {
				err := call()
				mu.Lock()
				defer mu.Unlock()
				answered[name] = err
			})
		}
		callers.Wait()
		return answered
	}
	before := f.requests
	f.throttleAll()
	for name, err := range all() {
		require.Equal(t, port.Unavailable, client.CodeOf(err), "%s: %v", name, err)
	}
	require.EqualValues(t, len(calls), told.again.Load())
	t.Logf("%d calls, none of which was let through, were %d requests", len(calls), f.requests-before)
	require.Contains(t, f.attempts, "attempt=10; max=10", "as often as that a request is tried")
	f.end()
	for name, err := range all() {
		require.NoError(t, err, name)
	}
	require.Zero(t, told.wrong.Load())
	c.gives(t, "new", "2")
	c.gives(t, "open-0", "1")
	c.leavesNothing(t, "open-0")
}
