//go:build faults

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/tests/process"
)

// serves names the environment variable that makes this test's binary the server.
const serves = "FAULTS_SERVE"

// settling is how long runs may take to end once nobody disturbs them.
const settling = 2 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(serves) != "" {
		program.Main(definitions...)
		return
	}
	os.Exit(m.Run())
}

// newServer makes a server of this package's workflows; what wraps it, if anything, comes first.
func newServer(t *testing.T, wrapped ...string) *process.Server {
	t.Helper()
	s := process.New(t, append(wrapped, os.Args[0])...)
	s.Env = []string{serves + "=1"}
	return s
}

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := number(t, "FAULTS_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("FAULTS_SEED=%d", seed)
	return rand.New(rand.NewPCG(uint64(seed), 0))
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// upTo is some time below a limit.
func upTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(most)))
}

// begin starts a run.
func begin[I any](ctx context.Context, c *client.Client, workflow, run string, input I) error {
	text, err := history.Encode(input)
	if err != nil {
		return err
	}
	_, err = c.Start(ctx, engine.StartRequest{Run: run, Workflow: workflow, Input: text})
	return err
}

// ended waits for runs, and requires that they complete.
func ended(ctx context.Context, t *testing.T, c *client.Client, runs ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for _, run := range runs {
		summary, err := c.Wait(ctx, run)
		require.NoError(t, err, run)
		require.Nil(t, summary.Blocked, run)
		require.Equal(t, history.Completed, summary.Status, "%s: %+v", run, summary)
	}
}

// records reads a run's log.
func records(ctx context.Context, t *testing.T, c *client.Client, run string) (all []*history.Record) {
	t.Helper()
	for text, err := range c.Records(ctx, run, 1) {
		require.NoError(t, err, run)
		rec, err := history.DecodeRecord(text)
		require.NoError(t, err, run)
		require.Equal(t, len(all)+1, rec.Number, run)
		all = append(all, rec)
	}
	return all
}

// senders are clients that send signals to runs of their own, each as soon as the one before was accepted.
type senders struct {
	client *client.Client
	stop   context.CancelFunc
	all    sync.WaitGroup
	mu     sync.Mutex
	// accepted is how many signals of each run were.
	accepted map[string]int
	refused  map[string]int // calls by what they were told
}

// signals is how many a run takes before it ends.
const signals = 5

// send begins to send: to runs of this name, from so many senders at a time.
func send(ctx context.Context, c *client.Client, name string, from int) *senders {
	ctx, stop := context.WithCancel(ctx)
	s := &senders{client: c, stop: stop, accepted: map[string]int{}, refused: map[string]int{}}
	for sender := range from {
		s.all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s.run(ctx, fmt.Sprintf("%s-%d-%d", name, sender, i))
			}
		})
	}
	return s
}

// run starts one, and sends what it waits for. A call without a good answer is made again, with the same id, until the end.
func (s *senders) run(ctx context.Context, run string) {
	again := func(call func(context.Context) error) bool {
		for ctx.Err() == nil {
			limited, cancel := context.WithTimeout(ctx, 5*time.Second)
			err := call(limited)
			cancel()
			if err == nil {
				return true
			}
			s.note(func() { s.refused[err.Error()]++ })
			_ = wait(ctx, 20*time.Millisecond)
		}
		return false
	}
	if !again(func(ctx context.Context) error { return begin(ctx, s.client, collected.Name(), run, signals) }) {
		return
	}
	s.note(func() { s.accepted[run] = 0 })
	after := int64(0)
	for i := range signals {
		sent := again(func(ctx context.Context) error {
			accepted, err := s.client.Signal(ctx, engine.MessageRequest{Run: run, ID: fmt.Sprint(i), After: after}, goOn.Name(), history.Payload(strconv.Itoa(i)))
			after = accepted.Stamp
			return unlessEnded(err)
		})
		if !sent {
			return
		}
		s.note(func() { s.accepted[run] = i + 1 })
	}
}

// unlessEnded takes for a good answer that a run has ended: it has what it waited for, and its sender was not told.
func unlessEnded(err error) error {
	if client.CodeOf(err) == port.Closed {
		return nil
	}
	return err
}

func (s *senders) note(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
}

// end stops sending, and waits for those who send.
func (s *senders) end() {
	s.stop()
	s.all.Wait()
}

// kept requires that all is there that was accepted, in its order; then it sends what is missing, and requires that the runs
// end. It says how many signals there were.
func (s *senders) kept(ctx context.Context, t *testing.T) (promises int) {
	t.Helper()
	for run, sent := range s.accepted {
		for i := sent; i < signals; i++ {
			_, err := s.client.Signal(ctx, engine.MessageRequest{Run: run, ID: fmt.Sprint(i)}, goOn.Name(), history.Payload(strconv.Itoa(i)))
			require.NoError(t, unlessEnded(err), run)
		}
		promises += 1 + sent
	}
	for run := range s.accepted {
		ended(ctx, t, s.client, run)
		summary, err := s.client.Get(ctx, run)
		require.NoError(t, err)
		require.JSONEq(t, "[0,1,2,3,4]", string(summary.Result), run)
	}
	return promises
}
