package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	seeds = flag.Int("seeds", fewSeeds, "how many seeds TestSeeds runs")
	from  = flag.Uint64("from", 1, "the first seed that TestSeeds runs")
	quick = flag.Bool("quick", false, "a case that fails is not made smaller")
	one   = flag.String("case", "", "the only case that TestSeeds runs: as a failure prints it")
)

// enough seeds for every kind of fault to meet every kind of operation, many times.
const enough = 2000

// TestSeeds runs simulations, each drawn from a seed, on all processors. It stops at the first violation, makes its case
// smaller, and prints how to repeat it.
func TestSeeds(t *testing.T) {
	if *one != "" {
		c, err := ParseCase(*one)
		require.NoError(t, err)
		show(t, Run(t, c, true), c)
		return
	}
	var sum totals
	var next atomic.Uint64
	next.Store(*from)
	t.Run("all", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for seed := next.Add(1) - 1; seed < *from+uint64(*seeds) && !sum.failed.Load(); seed = next.Add(1) - 1 {
					c := Case{Seed: seed}
					r := Run(t, c, false)
					if r.Violation != "" && !sum.failed.Swap(true) {
						if !*quick {
							c, _ = Shrink(c, func(c Case) Result { return Run(t, c, false) })
						}
						show(t, Run(t, c, true), c)
					}
					sum.add(r)
				}
			})
		}
	})
	t.Log(sum.String())
	if *seeds >= 100 { // a few cases may have none
		require.Positive(t, sum.checkpoints)
	}
	if *seeds >= 2*enough && !t.Failed() { // fewer may miss what is rare
		require.Empty(t, sum.met.Missing(), "kinds of faults that never met an operation")
		require.Empty(t, sum.flows.missing(), "what never happened to nodes of flows")
	}
}

// totals are the figures of many simulations.
type totals struct {
	mu     sync.Mutex
	failed atomic.Bool
	met    Coverage
	flows  flowCoverage

	seeds, events, runs, records, checkpoints, faults, kills int
}

func (s *totals) add(r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.met == nil {
		s.met, s.flows = Coverage{}, flowCoverage{}
	}
	s.met.Add(r.Met)
	s.flows.add(r.Flows)
	s.seeds++
	s.events += r.Events
	s.runs += r.Runs
	s.records += r.Records
	s.checkpoints += r.Checkpoints
	s.faults += r.Faults
	s.kills += r.Kills
}

func (s *totals) String() string {
	return fmt.Sprintf("%d seeds: %d events, %d runs, %d records, %d checkpoints, %d faults, %d processes ended\nhow often which kind of fault met which operation:\n%sin how many what happened to which nodes of flows:\n%s",
		s.seeds, s.events, s.runs, s.records, s.checkpoints, s.faults, s.kills, s.met.Table(), s.flows.table())
}

// show prints a violation, and how to repeat it.
func show(t *testing.T, r Result, c Case) {
	t.Helper()
	journal, err := os.CreateTemp("", "simulation-*.txt")
	require.NoError(t, err)
	_, err = fmt.Fprintf(journal, "%s\n\n%s\n", strings.Join(r.Journal, "\n"), r.Programs)
	require.NoError(t, err)
	require.NoError(t, journal.Close())
	if r.Violation == "" {
		t.Logf("case %s: nothing is wrong; what happened is in %s", c, journal.Name())
		return
	}
	t.Errorf("%s\nrepeat it: make sim CASE=%s\nwhat happened is in %s", r.Violation, c, journal.Name())
}

// TestSameCaseSameWay: a case goes the same way each time, or a failed one could not be repeated.
func TestSameCaseSameWay(t *testing.T) {
	for seed := range uint64(20) {
		first, second := Run(t, Case{Seed: seed}, true), Run(t, Case{Seed: seed}, true)
		require.Equal(t, first.Journal, second.Journal, "seed %d", seed)
	}
}

func TestCasesAreReadAsTheyArePrinted(t *testing.T) {
	for _, c := range []Case{{Seed: 7}, {Seed: 1 << 63, Faults: []int{}}, {Seed: 3, Faults: []int{2, 17}, Without: []string{"p0.n3", "c1.2"}}} {
		again, err := ParseCase(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	}
	for _, wrong := range []string{"", "x", "1/faults=a", "1/other=2"} {
		_, err := ParseCase(wrong)
		require.ErrorContains(t, err, "is no case of a simulation")
	}
}
