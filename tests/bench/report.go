package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/tests/gauge"
)

// figures by workload, in the order in which they were first measured.
type figures []*figure

// figure is one quantity of one workload.
type figure struct {
	Workload string    `json:"workload"`
	Name     string    `json:"figure"`
	Values   []float64 `json:"values"` // one for each repetition
	Median   float64   `json:"median"`
	Aim      string    `json:"aim,omitempty"`
	Met      *bool     `json:"met,omitempty"`
}

// adder takes what a workload measured.
type adder func(name string, value float64)

func (b *bench) adder(workload string) adder {
	return func(name string, value float64) { b.figures.add(workload, name, value) }
}

func (f *figures) add(workload, name string, value float64) {
	place := len(*f) // behind those of the same workload
	for i, g := range *f {
		if g.Workload != workload {
			continue
		}
		if g.Name == name {
			g.take(value)
			return
		}
		place = i + 1
	}
	g := &figure{Workload: workload, Name: name}
	g.take(value)
	*f = slices.Insert(*f, place, g)
}

func (g *figure) take(value float64) {
	g.Values = append(g.Values, value)
	g.Median = gauge.Quantile(g.Values, 0.5)
	a, there := aims[[2]string{g.Workload, g.Name}]
	if !there {
		return
	}
	met := a.met(g.Median)
	g.Met = &met
	sign := "≥ "
	if a.atMost {
		sign = "≤ "
	}
	g.Aim = sign + gauge.Show(a.value)
}

func (g *figure) verdict() string {
	switch {
	case g.Met == nil:
		return ""
	case *g.Met:
		return "ok"
	default:
		return "missed"
	}
}

// spread shows the least and the greatest value.
func (g *figure) spread() string {
	if len(g.Values) < 2 {
		return ""
	}
	return gauge.Show(gauge.Quantile(g.Values, 0)) + " – " + gauge.Show(gauge.Quantile(g.Values, 1))
}

func (f figures) text() string {
	var out strings.Builder
	workload := ""
	for _, g := range f {
		if g.Workload != workload {
			workload = g.Workload
			fmt.Fprintf(&out, "\n%s\n", workload)
		}
		fmt.Fprintf(&out, "  %-52s %10s  %-10s %-7s %s\n", g.Name, gauge.Show(g.Median), g.Aim, g.verdict(), g.spread())
	}
	return out.String()
}

func (f figures) markdown() string {
	var out strings.Builder
	out.WriteString("| workload | figure | median | aim | | least – greatest |\n|---|---|---:|---|---|---|\n")
	workload := ""
	for _, g := range f {
		shown := ""
		if g.Workload != workload {
			workload, shown = g.Workload, g.Workload
		}
		verdict := g.verdict()
		if verdict == "missed" {
			verdict = "**missed**"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n", shown, g.Name, gauge.Show(g.Median), g.Aim, verdict, g.spread())
	}
	return out.String()
}

func writeJSON(file string, m gauge.Machine, f figures) error {
	text, err := json.MarshalIndent(struct {
		Machine gauge.Machine `json:"machine"`
		Figures figures       `json:"figures"`
	}{m, f}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// replaceSection puts text between the two comments that mark a section of a document.
func replaceSection(file, section, text string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+section+": begin -->\n", "<!-- "+section+": end -->"
	before, rest, there := strings.Cut(string(document), begin)
	_, after, closed := strings.Cut(rest, end)
	if !there || !closed {
		return fmt.Errorf("%s has no section between %q and %q", file, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}
