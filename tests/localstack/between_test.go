//go:build localstack

package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/tests/ledger"
)

// death is one process killed at one place of a scenario.
type death struct {
	scenario *scenario
	place    place
	after    bool
	met      bool  // it has happened
	err      error // what was wrong afterwards
}

func (d *death) String() string {
	return fmt.Sprintf("%s: killed %s %s", d.scenario.name, map[bool]string{false: "before", true: "after"}[d.after], d.place)
}

// TestKilledBetweenCalls kills functions between each pair of their external calls, one process of one run at a time. Which calls
// there are is taken from runs without a kill. All runs end as those did, and leave nothing behind.
//
// It kills at some of these places, drawn with BETWEEN_SEED, and at each node of the flow; with
// BETWEEN_KILLS=all, at each place.
func TestKilledBetweenCalls(t *testing.T) {
	t.Parallel() // it waits for visibility timeouts
	if trial.proxy == nil {
		t.Skip("functions run in containers here")
	}
	publish(t, "all-kinds", allKinds)
	deaths := possibleDeaths(t)
	chosen := choose(t, deaths)
	// A call may be missing where messages came together that had come apart; then its place is tried again.
	const rounds = 2
	for range rounds {
		dieAll(t, chosen)
	}
	survived := report(t, deaths, chosen)
	for _, d := range chosen {
		assert.NoError(t, d.err, "%s", d)
	}
	require.Greater(t, survived, len(chosen)*3/4, "most calls come in every run")
}

// possibleDeaths runs all scenarios without a kill.
func possibleDeaths(t *testing.T) (all []*death) {
	t.Helper()
	calls := make([][]place, len(scenarios))
	var running errgroup.Group
	for i := range scenarios {
		running.Go(func() (err error) {
			calls[i], _, err = play(within(t, 3*patience), &scenarios[i], place{}, false)
			return err
		})
	}
	require.NoError(t, running.Wait())
	for i, seen := range calls {
		for k, at := range seen {
			if slices.Contains(scenarios[i].functions, at.function) && !amongAlike(seen, k) {
				all = append(all, &death{scenario: &scenarios[i], place: at}, &death{scenario: &scenarios[i], place: at, after: true})
			}
		}
	}
	return all
}

// amongAlike says whether a call is one of many reads that follow on each other, and neither the first nor the last of them.
func amongAlike(calls []place, k int) bool {
	like := func(other place) bool {
		return other.function == calls[k].function && other.operation == calls[k].operation
	}
	return strings.HasPrefix(calls[k].operation, "Query") && k > 0 && k < len(calls)-1 && like(calls[k-1]) && like(calls[k+1])
}

// choose draws some of each scenario's deaths, or takes all.
func choose(t *testing.T, all []*death) (chosen []*death) {
	t.Helper()
	if os.Getenv("BETWEEN_KILLS") == "all" {
		return all
	}
	seed := rand.Uint64()
	if text := os.Getenv("BETWEEN_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("BETWEEN_SEED=%d draws the same places again", seed)
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	some := map[string]int{"life": 12, "long payload": 4, "long timer": 2, "dead task": 2, "dead resume": 2}
	for _, i := range order {
		if name := all[i].scenario.name; some[name] > 0 {
			some[name]--
			chosen = append(chosen, all[i])
		} else if atNode(all[i]) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen
}

// atNode says whether a death is one of those that meet each node of the flow: as soon as a record has
// its decision, and when its service has answered.
func atNode(d *death) bool {
	decided := d.place.function == "activate" && strings.HasSuffix(d.place.operation, " log") && d.after
	answered := d.place.function == "task" && d.place.operation == "PutItem new" && !d.after
	return d.scenario.name == "flow" && (decided || answered)
}

// dieAll plays a scenario for each death that has not come yet, several at a time.
func dieAll(t *testing.T, deaths []*death) {
	t.Helper()
	const atOnce = 16
	var running errgroup.Group
	running.SetLimit(atOnce)
	for _, d := range deaths {
		if d.met || d.err != nil {
			continue
		}
		running.Go(func() error {
			_, d.met, d.err = play(within(t, 3*patience), d.scenario, d.place, d.after)
			return nil
		})
	}
	_ = running.Wait() // errors are each death's own
}

// plays numbers families of runs, from anywhere: a LocalStack that goes on has those of earlier tests.
var plays = func() *atomic.Int64 {
	first := &atomic.Int64{}
	first.Store(rand.Int64N(900_000))
	return first
}()

// play plays a scenario to its end, and sees that all is as it ought to be.
func play(ctx context.Context, s *scenario, kill place, after bool) (calls []place, killed bool, err error) {
	run := fmt.Sprintf("between-%06d", plays.Add(1))
	w := trial.proxy.watch(run, kill, after)
	if err := s.drive(ctx, run, w); err != nil {
		return nil, false, fmt.Errorf("run %s: %w", run, err)
	}
	if err := s.check(ctx, run); err != nil {
		return nil, false, fmt.Errorf("run %s: %w", run, err)
	}
	calls, killed = trial.proxy.seen(w)
	return calls, killed, nil
}

// check waits until nothing is left to be done for a run, and checks what there is of it then.
func (s *scenario) check(ctx context.Context, run string) error {
	var summary *port.Summary
	err := comesTrue(ctx, func() (_ bool, err error) {
		if summary, err = trial.store.Summary(ctx, run); err != nil {
			return false, err
		}
		return summary.Status.Closed(), unblock(ctx, run, summary.Workflow, (*wire.Block)(summary.Blocked))
	})
	if err != nil {
		return err
	}
	if summary.Status != s.ends || s.gives != "" && s.gives != string(summary.Result) {
		text, err := json.Marshal(summary)
		return errors.Join(err, fmt.Errorf("it ought to be %s with %s, and is %s", s.ends, s.gives, text))
	}
	return s.tidy(ctx, run)
}

// falseBlocks are runs that were blocked though nothing was wrong with them, and their workflows.
var falseBlocks sync.Map

// unblock has a run tried again whose message was received too often: that may be so by chance, and loses nothing.
func unblock(ctx context.Context, run, workflow string, block *wire.Block) error {
	switch {
	case block == nil:
		return nil
	case block.Reason != port.ReasonUndeliverable:
		return fmt.Errorf("it is blocked: %s", block.Message)
	}
	falseBlocks.Store(run, workflow)
	return trial.client.Unblock(ctx, run)
}

// tidy checks the logs of a run and its children, and waits until their inboxes are empty.
func (s *scenario) tidy(ctx context.Context, run string) error {
	family, err := ledger.Check(ctx, trial.store, run)
	if err != nil {
		return err
	}
	for _, run := range family {
		var left []port.Item
		err := comesTrue(ctx, func() (bool, error) {
			view, err := trial.store.Look(ctx, run, port.Position{})
			if err != nil {
				return false, err
			}
			left = view.Inbox
			return len(left) == 0 && view.Summary.Blocked == nil, unblock(ctx, view.Summary.Run, view.Summary.Workflow, (*wire.Block)(view.Summary.Blocked))
		})
		if err != nil {
			return errors.Join(err, fmt.Errorf("in the inbox of run %s was left %+v", run, left))
		}
	}
	return nil
}

// report prints where functions make calls and how often they were killed there, and gives how many kills were survived.
func report(t *testing.T, all, chosen []*death) (survived int) {
	t.Helper()
	type spot struct {
		scenario *scenario
		place    place
	}
	killed := map[spot]*[2]int{}
	for _, d := range chosen {
		at := spot{d.scenario, d.place}
		if killed[at] == nil {
			killed[at] = &[2]int{}
		}
		switch {
		case d.err != nil: // which the test says
		case !d.met:
			t.Logf("%s: no run came to this call", d)
		default:
			survived++
			killed[at][map[bool]int{false: 0, true: 1}[d.after]]++
		}
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "scenario\tfunction\tcall\tkilled before\tafter")
	for _, d := range all {
		if times := killed[spot{d.scenario, d.place}]; times != nil && !d.after {
			fmt.Fprintf(table, "%s\t%s\t%s %d\t%d\t%d\n", d.scenario.name, d.place.function, d.place.operation, d.place.n, times[0], times[1])
		}
	}
	require.NoError(t, table.Flush())
	t.Logf("\n%s%d calls in all; of %d kills, %d were survived", out.String(), len(all)/2, len(chosen), survived)
	falseBlocks.Range(func(run, workflow any) bool {
		t.Logf("%s (%s) was blocked, and unblocked", run, workflow)
		return true
	})
	return survived
}
