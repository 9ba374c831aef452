package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/reprise-run/reprise/tests/gauge"
)

// replay calls the Go benchmarks of the scheduler: they see what is internal to core.
func (b *bench) replay() error {
	command := exec.CommandContext(b, "go", "test", "-run", "^$", "-bench", "^Benchmark(Replay|Switch|Yield|Unit)$", "-benchmem",
		"github.com/reprise-run/reprise/core/internal/scheduler")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("go test -bench: %w\n%s", err, output)
	}
	shown := []struct{ benchmark, metric, workload, figure string }{
		{"Replay/decoded/1000", "ns/activity", "replay of 1,000 activities, decoded", "ns per activity"},
		{"Replay/decoded/1000", "allocs/activity", "replay of 1,000 activities, decoded", "allocations per activity"},
		{"Replay/decoded/10000", "ns/activity", "replay of 10,000 activities, decoded", "ns per activity"},
		{"Replay/decoding/1000", "ns/activity", "replay of 1,000 activities, with decoding", "ns per activity"},
		{"Replay/decoding/1000", "allocs/activity", "replay of 1,000 activities, with decoding", "allocations per activity"},
		{"Replay/decoding/10000", "ns/activity", "replay of 10,000 activities, with decoding", "ns per activity"},
		{"Switch", "ns/op", "coroutines", "ns per switch, there and back"},
		{"Yield", "ns/op", "coroutines", "ns per step of a unit"},
		{"Unit", "ns/op", "coroutines", "ns per unit made, run and ended"},
	}
	metrics := parseBenchmarks(output)
	for _, s := range shown {
		value, there := metrics[s.benchmark][s.metric]
		if !there {
			return fmt.Errorf("the benchmark %s has no %s any more", s.benchmark, s.metric)
		}
		b.adder(s.workload)(s.figure, value)
	}
	b.adder("replay of 1,000 activities, decoded")("activities/s", 1e9/metrics["Replay/decoded/1000"]["ns/activity"])
	return nil
}

// parseBenchmarks reads what go test -bench prints: by benchmark and unit.
func parseBenchmarks(output []byte) map[string]map[string]float64 {
	parsed := map[string]map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(output))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if dash := strings.LastIndexByte(name, '-'); dash > 0 { // the number of processors
			name = name[:dash]
		}
		metrics := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			metrics[fields[i+1]] = gauge.Number(fields[i])
		}
		parsed[name] = metrics
	}
	return parsed
}
