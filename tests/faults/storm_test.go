//go:build faults

package faults

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/client"
)

// Thousands of runs wait, the server is killed while it starts, again and again, and then all of them are due at once. How many
// are replayed at one time, core/engine's own tests say; here it is shown what that comes to.
func TestThousandsAreDueAtOnceAfterARestart(t *testing.T) {
	random, ctx := seeded(t), t.Context()
	runs, kills := number(t, "FAULTS_RUNS", 1000), number(t, "FAULTS_KILLS", 10)
	long := number(t, "FAULTS_RECORDS", 200)
	each := func(i int) int { // every tenth log is long
		if i%10 == 0 {
			return long
		}
		return long / 20
	}
	s := newServer(t)
	c := s.Client()
	s.Start()
	s.Await(ctx, c)
	names := make([]string, runs)
	for i := range names {
		names[i] = fmt.Sprint("gated-", i)
		require.NoError(t, begin(ctx, c, gated.Name(), names[i], each(i)))
	}
	for i, name := range names {
		behind(ctx, t, c, name, each(i))
	}

	began := time.Now()
	s.Kill()
	s.Start()
	s.Await(ctx, c)
	rebuild := time.Since(began)
	for range kills {
		s.Kill()
		s.Start()
		s.Live(upTo(random, rebuild))
	}
	s.Kill()

	s.Env = append(s.Env, open+"=1")
	began = time.Now()
	s.Start()
	s.Await(ctx, c)
	up := time.Since(began)
	asked := probe(ctx, c, names)
	ended(ctx, t, c, names...)
	all := time.Since(began)
	questions, starts := asked()
	peak := memory(t, s.PID())
	for i := 0; i < runs; i += max(1, runs/100) {
		done := 0
		for _, rec := range records(ctx, t, c, names[i]) {
			for _, event := range rec.Events {
				if _, ok := event.(*history.ActivityResolved); ok {
					done++
				}
			}
		}
		require.Equal(t, each(i)+1, done, "each is taken once")
	}
	s.Stop()
	t.Logf("%d runs, a tenth of %d records, the others of %d; killed %d times while starting, which takes %s", runs, long, each(1), kills, rebuild.Round(time.Millisecond))
	t.Logf("then all at once: up after %s, all ended after %s, at most %s of memory", up.Round(time.Millisecond), all.Round(time.Millisecond), peak)
	t.Logf("meanwhile, questions to runs that are not live: %s", spread(questions))
	t.Logf("meanwhile, new runs, from start to end: %s", spread(starts))
}

// behind waits until a run has come to its gate.
func behind(ctx context.Context, t *testing.T, c *client.Client, run string, each int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for {
		summary, err := c.Get(ctx, run)
		require.NoError(t, err)
		if string(summary.State) == fmt.Sprint(each) {
			return
		}
		require.NoError(t, wait(ctx, 20*time.Millisecond))
	}
}

// probe asks runs, and starts others, until it is told to end; then it says how long each call took.
func probe(ctx context.Context, c *client.Client, names []string) (end func() (questions, starts []time.Duration)) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	var questions, starts []time.Duration
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			began := time.Now()
			if _, err := c.Query(ctx, names[(i*7919)%len(names)], written.Name(), nil); err == nil {
				questions = append(questions, time.Since(began))
			}
			began = time.Now()
			start := engine.StartRequest{Run: fmt.Sprint("new-", i), Workflow: napping.Name(), Input: history.Payload("[]")}
			if _, err := c.StartAndWait(ctx, start); err == nil {
				starts = append(starts, time.Since(began))
			}
			_ = wait(ctx, 10*time.Millisecond)
		}
	}()
	return func() ([]time.Duration, []time.Duration) {
		stop()
		<-done
		return questions, starts
	}
}

func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return fmt.Sprintf("%d, half within %s, the slowest %s", len(all), all[len(all)/2].Round(time.Millisecond/10), all[len(all)-1].Round(time.Millisecond/10))
}

// memory is the most that a process has used.
func memory(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "an unknown amount"
	}
	found := regexp.MustCompile(`VmHWM:\s*(.*)`).FindStringSubmatch(string(text))
	require.Len(t, found, 2)
	return strings.TrimSpace(found[1])
}
