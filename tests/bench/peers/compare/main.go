// Command compare reads what the programs measured, in files of the form of bench -json and in the output of go test -bench,
// and prints medians and ratios beside the aims.
//
//	compare [-readme FILE] FOLDER
//
// The folder holds ours-N.json, restate-N.json and temporal-N.txt for each repetition N.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-run/reprise/tests/bench/peers/measure"
)

// comparison of one of our figures with one of a peer's.
type comparison struct {
	what         string
	ours, theirs quantity
	atMost       bool    // less is better: the ratio is theirs to ours
	aim          float64 // of the ratio; zero: none
}

type quantity struct{ workload, figure string }

var comparisons = []comparison{
	{"inline steps, over HTTP : Restate ctx.Run, activities/s", quantity{"inline, HTTP", "activities/s"}, quantity{"inline", "activities/s"}, false, 5},
	{"inline steps, in process : Restate ctx.Run, activities/s", quantity{"inline, in process", "activities/s"}, quantity{"inline", "activities/s"}, false, 5},
	{"inline steps : Restate ctx.Run, ms per workflow, p99", quantity{"inline, HTTP", "ms per workflow, p99"}, quantity{"inline", "ms per workflow, p99"}, true, 0},
	{"inline steps : Restate ctx.Run, CPU ms per activity, server alone", quantity{"inline, HTTP", "CPU ms per activity"}, quantity{"inline", "CPU ms per activity"}, true, 0},
	{"queued activities, over HTTP : Restate calls, activities/s", quantity{"queued, HTTP", "activities/s"}, quantity{"queued", "activities/s"}, false, 10},
	{"queued activities, in process : Restate calls, activities/s", quantity{"queued, in process", "activities/s"}, quantity{"queued", "activities/s"}, false, 10},
	{"queued activities : Restate calls, ms per workflow, p99", quantity{"queued, HTTP", "ms per workflow, p99"}, quantity{"queued", "ms per workflow, p99"}, true, 0},
	{"queued activities : Restate calls, CPU ms per activity, server alone", quantity{"queued, HTTP", "CPU ms per activity"}, quantity{"queued", "CPU ms per activity"}, true, 0},
	{"memory of the server, MB, in queued", quantity{"queued, HTTP", "RSS MB"}, quantity{"queued", "RSS MB"}, true, 0},
	{"fan-out of 100, inline, activities/s", quantity{"fan-out of 100, inline", "activities/s"}, quantity{"fan-out of 100, inline", "activities/s"}, false, 10},
	{"fan-out of 100, queued : calls, activities/s", quantity{"fan-out of 100, queued", "activities/s"}, quantity{"fan-out of 100, queued", "activities/s"}, false, 10},
	{"one run of 1,000, inline, ms per activity", quantity{"one run of 1000, inline", "ms per activity"}, quantity{"one run of 1000, inline", "ms per activity"}, true, 0},
	{"one run of 1,000, queued : calls, ms per activity", quantity{"one run of 1000, queued", "ms per activity"}, quantity{"one run of 1000, queued", "ms per activity"}, true, 0},
	{"timer of 1 s, ms late, p50", quantity{"timer of 1 s", "ms late, p50"}, quantity{"timer of 1 s", "ms late, p50"}, true, 0},
	{"timer of 1 s, ms late, p99", quantity{"timer of 1 s", "ms late, p99"}, quantity{"timer of 1 s", "ms late, p99"}, true, 0},
	{"signal over HTTP, ms until seen by code, p50", quantity{"mail, HTTP", "signal ms until seen by code, p50"}, quantity{"mail", "signal ms until seen by code, p50"}, true, 0},
	{"replay of 1,000 activities, decoded : Temporal's replayer, ns per activity", quantity{"replay of 1,000 activities, decoded", "ns per activity"}, quantity{"Decoded", "ns/activity"}, true, 15},
	{"replay of 1,000 activities, with decoding : Temporal's replayer, ns per activity", quantity{"replay of 1,000 activities, with decoding", "ns per activity"}, quantity{"Decoding", "ns/activity"}, true, 22},
}

func main() {
	readme := flag.String("readme", "", "file whose section of peers is replaced")
	flag.Parse()
	if err := run(flag.Arg(0), *readme); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(folder, readme string) error {
	ours, theirs := measured{}, measured{}
	if err := ours.readAll(folder, "ours-*.json", ours.readFigures); err != nil {
		return err
	}
	if err := theirs.readAll(folder, "restate-*.json", theirs.readFigures); err != nil {
		return err
	}
	if err := theirs.readAll(folder, "temporal-*.txt", theirs.readBenchmarks); err != nil {
		return err
	}
	var table strings.Builder
	table.WriteString("| ours : theirs | ours | theirs | ratio | aim | |\n|---|---:|---:|---:|---:|---|\n")
	for _, c := range comparisons {
		our, their := median(ours[c.ours]), median(theirs[c.theirs])
		if our == 0 || their == 0 { // it was not measured
			continue
		}
		ratio := our / their
		if c.atMost {
			ratio = their / our
		}
		aim, verdict := "", ""
		if c.aim > 0 {
			aim, verdict = fmt.Sprintf("%.0f ×", c.aim), "ok"
			if ratio < c.aim {
				verdict = "**missed**"
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %.1f × | %s | %s |\n", c.what, show(our), show(their), ratio, aim, verdict)
	}
	fmt.Print(table.String())
	if readme == "" {
		return nil
	}
	return replaceSection(readme, table.String())
}

// measured values, one for each repetition.
type measured map[quantity][]float64

func (m measured) readAll(folder, pattern string, read func([]byte) error) error {
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = read(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (m measured) readFigures(text []byte) error {
	var document struct {
		Figures measure.Figures `json:"figures"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	for _, f := range document.Figures {
		q := quantity{f.Workload, f.Name}
		m[q] = append(m[q], f.Values...)
	}
	return nil
}

func (m measured) readBenchmarks(text []byte) error {
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "Benchmark"), "-")
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return err
			}
			q := quantity{name, fields[i+1]}
			m[q] = append(m[q], value)
		}
	}
	return nil
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

func show(value float64) string {
	switch {
	case value >= 100:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case value >= 1:
		return strconv.FormatFloat(value, 'f', 2, 64)
	default:
		return strconv.FormatFloat(value, 'f', 3, 64)
	}
}

// replaceSection puts the table between the two comments that mark its place.
func replaceSection(file, table string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	const begin, end = "<!-- peers: begin -->\n", "<!-- peers: end -->"
	before, rest, there := strings.Cut(string(document), begin)
	_, after, closed := strings.Cut(rest, end)
	if !there || !closed {
		return fmt.Errorf("%s has no section of peers", file)
	}
	return os.WriteFile(file, []byte(before+begin+table+end+after), 0o644)
}
