// Package graph draws flows: as Mermaid, for pages and editors, and as text. A drawing can show
// where a run is.
//
// The names in a flow are its author's. No name changes the structure of a drawing.
package graph

import (
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/flow"
)

// Status says how a node of a run stands.
type Status string

// The statuses. A node that a run has not reached has none.
const (
	Running  Status = "running"
	Done     Status = "done"
	Failed   Status = "failed"
	Canceled Status = "canceled"
)

// statuses lists them, in the order of a drawing's legend.
var statuses = []Status{Running, Done, Failed, Canceled}

// Live is where a run is. The zero value draws the flow alone.
type Live struct {
	nodes  map[string]Status
	failed string
}

// Of says how a node stands. Path is the keys of the subflows around it, outermost first.
func (l Live) Of(path []string, node string) Status {
	if names := inside(path, node); l.failed == "" || l.failed != strings.Join(names, "/") {
		return l.nodes[key(names)]
	}
	return Failed
}

// Follow tells where a run is from its state and its node runs, in the order in which they ended.
// Failed is the name of the node that failed the run, as [flow.NodeFailure] has it; empty if none
// has.
func Follow(state flow.State, rows []flow.Row, failed string) Live {
	l := Live{nodes: map[string]Status{}, failed: failed}
	for _, row := range rows {
		l.row(row)
	}
	if state.Node != "" {
		l.enter(inside(state.Path, state.Node), Running)
	}
	return l
}

// row takes a node run. A call of a foreach or a parallel that failed stands for its node until the
// node's own row says more. What a node did last stands for the subflows around it, which have no
// rows of their own.
func (l Live) row(row flow.Row) {
	status := map[string]Status{
		flow.RowOK: Done, flow.RowError: Failed, flow.RowCanceled: Canceled}[row.Status]
	names := inside(row.Path, row.Node)
	if row.Branch != "" && l.nodes[key(names)] == Failed {
		return
	}
	l.enter(names, status)
}

// enter sets the status of a node and of the subflows around it.
func (l Live) enter(names []string, status Status) {
	for i := range names {
		l.nodes[key(names[:i+1])] = status
	}
}

// inside gives the keys of the subflows around a node, and its own.
func inside(path []string, node string) []string {
	return append(path[:len(path):len(path)], node)
}

// key names a node, with those around it. No two nodes of a flow have the same.
func key(names []string) string { return fmt.Sprintf("%q", names) }

// about says in a few words what a node does.
func about(n *flow.Node) string {
	words := []string{string(n.Kind)}
	switch {
	case n.Service != "":
		words = append(words, n.Service)
	case len(n.Services) > 0:
		words = append(words, strings.Join(n.Services, ", "))
	case n.Workflow != "":
		words = append(words, n.Workflow)
		if n.Definition > 0 {
			words = append(words, fmt.Sprintf("(version %d)", n.Definition))
		}
	}
	return strings.Join(words, " ")
}

// exits lists the edges of each node, in the order of the source.
func exits(d *flow.Definition) map[string][]flow.Edge {
	from := map[string][]flow.Edge{}
	for _, edge := range d.Edges {
		from[edge.From] = append(from[edge.From], edge)
	}
	return from
}

// longest is how many characters of one name a drawing shows.
const longest = 80

// shorten cuts a long name.
func shorten(text string) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}
