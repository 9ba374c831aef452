//go:build kill

package kill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/worker"
	"github.com/reprise-run/reprise/tests/process"
)

// served is a call that the test's own worker got.
type served struct {
	key          string // the idempotency key
	run, service string
	begun        time.Time
}

// gate stops a run at its n-th call of a service: the call is held until the gate opens, or it is
// answered at once.
type gate struct {
	run, service string
	nth          int
	holds        bool
	reached      chan struct{}
	opened       chan struct{}
}

// crew is the test's own worker. It outlives the servers, and remembers its calls.
type crew struct {
	mu     sync.Mutex
	calls  []served
	first  map[string]string // the key of each run's first call of charge
	gate   *gate             // if any
	random *rand.Rand        // how long calls take, if set
	kills  []time.Time       // of the server
}

// task is what a run of the flow has its services know.
type task struct {
	Run string `json:"run"`
}

var errTill = errors.New("the till is closed")

// serveCrew serves until the test ends.
func serveCrew(t *testing.T, server *process.Server) *crew {
	t.Helper()
	c := &crew{first: map[string]string{}}
	w := worker.New(worker.Config{Registry: "http://" + server.Address, Heartbeat: 500 * time.Millisecond})
	handle(c, w, "charge", c.charge)
	handle(c, w, "double", func(_ context.Context, n int, _ task) (int, error) { return 2 * n, nil })
	handle(c, w, "negate", func(_ context.Context, n int, _ task) (int, error) { return -n, nil })
	handle(c, w, "total", func(_ context.Context, list []int, _ task) (total int, err error) {
		for _, n := range list {
			total += n
		}
		return total, nil
	})
	handle(c, w, "hand", func(_ context.Context, n int, _ task) (string, error) { return fmt.Sprint(n, " cents"), nil })
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return c
}

// handle adds a service that notes its calls.
func handle[I, O any](c *crew, w *worker.Worker, name string, perform func(context.Context, I, task) (O, error)) {
	worker.Handle(w, name, func(ctx context.Context, input I, of task) (O, error) {
		stopped, takes := c.note(served{worker.IdempotencyKey(ctx), of.Run, name, time.Now()})
		pause(ctx, takes)
		result, err := perform(ctx, input, of)
		if stopped != nil {
			close(stopped.reached)
			if stopped.holds {
				<-stopped.opened
			}
		}
		return result, err
	})
}

// note remembers a call. It gives the gate that the call has reached, if any, and how long the call
// takes.
func (c *crew) note(call served) (reached *gate, takes time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	if c.random != nil {
		takes = time.Duration(c.random.Int64N(int64(60 * time.Millisecond)))
	}
	if c.gate == nil || c.gate.run != call.run || c.gate.service != call.service {
		return nil, takes
	}
	if c.gate.nth--; c.gate.nth != 0 {
		return nil, takes
	}
	return c.gate, takes
}

// charge fails for the first of a run's calls, also if that one comes again.
func (c *crew) charge(ctx context.Context, cents int, of task) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := worker.IdempotencyKey(ctx)
	if c.first[of.Run] == "" {
		c.first[of.Run] = key
	}
	if c.first[of.Run] == key {
		return 0, errTill
	}
	return cents, nil
}

// killed notes that the server was killed.
func (c *crew) killed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills = append(c.kills, time.Now())
}

// of lists a run's calls by their keys, in the order in which they came.
func (c *crew) of(run string) map[string][]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := map[string][]time.Time{}
	for _, call := range c.calls {
		if call.run == run {
			calls[call.key] = append(calls[call.key], call.begun)
		}
	}
	return calls
}

// killedBetween says whether the server was killed between two moments.
func (c *crew) killedBetween(from, to time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.kills, func(at time.Time) bool { return at.After(from) && at.Before(to) })
}

// stall is the program of a worker that never answers: it says that it is called, and hangs.
func stall(server string) {
	w := worker.New(worker.Config{Registry: server})
	worker.Handle(w, "hand", func(context.Context, int, task) (string, error) {
		_, _ = os.Stdout.WriteString("called\n")
		select {}
	})
	if err := w.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// doomed is the process of a worker that never answers.
type doomed struct {
	*exec.Cmd
	says *bufio.Scanner
	url  string
}

// serveDoomed starts the process, and waits until it is registered.
func serveDoomed(t *testing.T, server *process.Server, c *client.Client) *doomed {
	t.Helper()
	command := exec.Command(os.Args[0]) //nolint:noctx // it is ended by its id
	command.Env = append(os.Environ(), stalls+"=http://"+server.Address)
	command.Stderr = server.Last
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	d := &doomed{Cmd: command, says: bufio.NewScanner(io.Reader(out))}
	t.Cleanup(d.dies)
	require.Eventually(t, func() bool {
		found, err := c.Workers(t.Context(), "hand", true)
		if err == nil && len(found) == 1 {
			d.url = found[0].URL
		}
		return d.url != ""
	}, longestStep, poll)
	return d
}

// diesWhenCalled kills the process in the middle of the next call that it gets.
func (d *doomed) diesWhenCalled() {
	d.says.Scan()
	d.dies()
}

func (d *doomed) dies() {
	_ = d.Process.Kill()
	_ = d.Wait()
}
