package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// flowCoverage counts the simulations in which something happened to nodes of flows: by what it is, and
// by the kind of the node.
type flowCoverage map[string]int

// failing are the kinds that fail here.
var failing = []string{"executor", "parallel", "subflow", "foreach", "wait_event", "approval"}

// flowsMeet says which kinds of nodes something can happen to.
var flowsMeet = map[string][]string{
	"succeeded":              flowKinds[:8],
	"failed with an edge":    failing,
	"failed without an edge": failing,
	"retried":                {"executor", "parallel", "subflow", "foreach", "wait_event"},
	"tolerated":              {"parallel", "foreach"},
	"canceled":               append([]string{"timer"}, failing...),
	"message":                append([]string{"timer"}, failing...),
	"continued before":       flowKinds[:8],
	"continued inside":       {"parallel", "foreach", "timer", "wait_event", "approval"},
	"child":                  {"a program of a flow", "a flow of a flow", "a flow of a program"},
}

// meets notes what happens to a node.
func (f *naiveFlow) meets(what string, n *flowNode) {
	if n != nil {
		f.met[what+" "+n.Kind] = true
	}
}

// flows gives what all flows of a simulation met.
func (c *checks) flows() (met flowCoverage) {
	all := map[string]bool{}
	for _, run := range c.runs { // order-insensitive: a set is made
		for _, log := range run.generations {
			if log.naive.flow != nil {
				maps.Copy(all, log.naive.flow.met)
			}
			for _, asked := range log.asked {
				c.meetChild(all, log.naive.code.program, asked)
			}
		}
	}
	met = flowCoverage{}
	for what := range all { // order-insensitive: each once
		met[what] = 1
	}
	return met
}

// meetChild notes a child that is a flow, or has a flow as its parent.
func (c *checks) meetChild(all map[string]bool, parent *program, of asked) {
	start, is := of.command.(*history.StartChild)
	if !is {
		return
	}
	name := func(p *program) string {
		if p.Flow != nil {
			return "a flow"
		}
		return "a program"
	}
	all["child "+name(c.s.programs[start.Workflow])+" of "+name(parent)] = true
}

func (f flowCoverage) add(other flowCoverage) {
	for what, times := range other { // order-insensitive: numbers are added
		f[what] += times
	}
}

// missing lists what no flow has met.
func (f flowCoverage) missing() (what []string) {
	for event, kinds := range flowsMeet { // order-insensitive: the list is sorted
		for _, kind := range kinds {
			if f[event+" "+kind] == 0 {
				what = append(what, event+" × "+kind)
			}
		}
	}
	slices.Sort(what)
	return what
}

// table shows the counts, a line for each event.
func (f flowCoverage) table() string {
	var text strings.Builder
	for _, event := range slices.Sorted(maps.Keys(flowsMeet)) {
		fmt.Fprintf(&text, "%-23s", event)
		for _, kind := range flowsMeet[event] {
			fmt.Fprintf(&text, " %s %d", kind, f[event+" "+kind])
		}
		text.WriteString("\n")
	}
	return text.String()
}
