package simulation

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeeds(t *testing.T) {
	from, count := uint64(1), 300
	if text := os.Getenv("FROM"); text != "" {
		n, _ := strconv.Atoi(text)
		from = uint64(n)
	}
	if text := os.Getenv("SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		count = n
	}
	met := Coverage{}
	events, records, runs, faults, kills := 0, 0, 0, 0, 0
	for seed := from; seed < from+uint64(count); seed++ {
		r := Run(t, Case{Seed: seed}, false)
		if r.Violation != "" {
			again := Run(t, Case{Seed: seed}, true)
			os.WriteFile("/tmp/journal.txt", []byte(strings.Join(again.Journal, "\n")), 0o600)
			t.Fatalf("seed %d: %s\nagain: %s", seed, r.Violation, again.Violation)
		}
		met.Add(r.Met)
		events += r.Events
		records += r.Records
		runs += r.Runs
		faults += r.Faults
		kills += r.Kills
	}
	t.Logf("%d seeds: %d events, %d runs, %d records, %d faults, %d kills\n%s", count, events, runs, records, faults, kills, met.Table())
}

// TestSameCaseSameWay: a case goes the same way each time, or a failed one could not be repeated.
func TestSameCaseSameWay(t *testing.T) {
	for seed := range uint64(300) {
		first, second := Run(t, Case{Seed: seed}, true), Run(t, Case{Seed: seed}, true)
		for i := range first.Journal {
			if i >= len(second.Journal) || first.Journal[i] != second.Journal[i] {
				t.Fatalf("seed %d, line %d:\n%s\n---\n%s", seed, i, strings.Join(first.Journal[max(0, i-12):i+1], "\n"), strings.Join(second.Journal[max(0, i-12):i+5], "\n"))
			}
		}
	}
}
