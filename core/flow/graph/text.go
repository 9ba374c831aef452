package graph

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/flow"
)

// Text draws a flow as lines: each node with what it does and how it stands, its edges below it,
// and the flow inside it below them. Names that a line could be mistaken by are quoted.
func Text(d *flow.Definition, live Live) string {
	t := &text{live: live}
	t.flow(d, nil)
	return t.out.String()
}

// text is a drawing in progress.
type text struct {
	live Live
	out  strings.Builder
}

func (t *text) flow(d *flow.Definition, path []string) {
	in := strings.Repeat("    ", len(path))
	fmt.Fprintf(&t.out, "%sstart -> %s\n", in, quote(d.Start))
	edges := exits(d)
	width := 0
	for _, n := range d.Nodes {
		width = max(width, utf8.RuneCountInString(quote(n.Key)))
	}
	for _, n := range d.Nodes {
		line := fmt.Sprintf("%s%-*s  %s", in, width, quote(n.Key), words(n))
		if status := t.live.Of(path, n.Key); status != "" {
			line += "  [" + string(status) + "]"
		}
		t.out.WriteString(line + "\n")
		for _, edge := range edges[n.Key] {
			to := "(end)"
			if edge.To != "" {
				to = quote(edge.To)
			}
			fmt.Fprintf(&t.out, "%s    %s -> %s\n", in, quote(edge.Action), to)
		}
		if n.Subflow != nil {
			t.flow(n.Subflow, inside(path, n.Key))
		}
	}
}

// words is what a node does, on its line.
func words(n *flow.Node) string {
	parts := strings.SplitAfterN(about(n), " ", 2)
	if len(parts) == 2 {
		parts[1] = shorten(strings.Trim(strconv.Quote(parts[1]), `"`))
	}
	return strings.Join(parts, "")
}

// quote gives a name as it is, or in quotes if a reader or a terminal could mistake it.
func quote(name string) string {
	name = shorten(name)
	quoted := strconv.Quote(name)
	if name == "" || quoted != `"`+name+`"` || strings.ContainsAny(name, " ()[]") {
		return quoted
	}
	return name
}
