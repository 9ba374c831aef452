package graph

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/reprise-run/reprise/core/flow"
)

// Mermaid draws a flow as a flowchart of Mermaid. The shape of a node shows its kind, and a subflow
// is a subgraph. Mermaid draws 500 edges, unless its maxEdges says otherwise.
func Mermaid(d *flow.Definition, live Live) string {
	m := &mermaid{live: live, classes: map[Status][]string{}}
	m.line("flowchart TD")
	m.in = "  "
	m.flow(d, nil)
	for _, status := range statuses {
		if nodes := m.classes[status]; len(nodes) > 0 {
			m.line("classDef %s %s", status, styles[status])
			m.line("class %s %s", strings.Join(nodes, ","), status)
		}
	}
	return m.text.String()
}

var styles = map[Status]string{
	Running:  "fill:#fff3cd,stroke:#b58900,stroke-width:3px",
	Done:     "fill:#d4edda,stroke:#2e7d32",
	Failed:   "fill:#f8d7da,stroke:#b71c1c",
	Canceled: "fill:#e2e3e5,stroke:#555555",
}

// shapes are what stands around the label of a node.
var shapes = map[flow.Kind][2]string{
	flow.Executor:  {`["`, `"]`},
	flow.Choice:    {`{"`, `"}`},
	flow.Parallel:  {`{{"`, `"}}`},
	flow.Subflow:   {`[["`, `"]]`}, // of a child run
	flow.Timer:     {`(["`, `"])`},
	flow.Foreach:   {`[/"`, `"/]`},
	flow.WaitEvent: {`>"`, `"]`},
	flow.Approval:  {`[/"`, `"\]`},
}

// mermaid is a drawing in progress. Ids are numbers, so that no name of the author's is one.
type mermaid struct {
	live    Live
	text    strings.Builder
	in      string // the indentation
	ids     int
	classes map[Status][]string
}

func (m *mermaid) line(format string, args ...any) {
	fmt.Fprintf(&m.text, m.in+format+"\n", args...)
}

func (m *mermaid) id() string {
	m.ids++
	return fmt.Sprintf("n%d", m.ids)
}

// flow draws a flow with its start, and its end if an edge leads there.
func (m *mermaid) flow(d *flow.Definition, path []string) {
	start := m.id()
	m.line(`%s(("start"))`, start)
	nodes := map[string]string{}
	for _, n := range d.Nodes {
		nodes[n.Key] = m.node(n, path)
	}
	m.line("%s --> %s", start, nodes[d.Start])
	for _, edge := range d.Edges {
		if nodes[edge.To] == "" {
			nodes[edge.To] = m.id()
			m.line(`%s((("end")))`, nodes[edge.To])
		}
		m.line(`%s -->|"%s"| %s`, nodes[edge.From], escape(edge.Action), nodes[edge.To])
	}
}

// node draws a node, with the flow inside it, and gives its id.
func (m *mermaid) node(n *flow.Node, path []string) string {
	id := m.id()
	status := m.live.Of(path, n.Key)
	label := escape(n.Key) + "<br/>" + escape(about(n))
	if status != "" {
		m.classes[status] = append(m.classes[status], id)
		label += "<br/>" + string(status)
	}
	if n.Subflow == nil {
		m.line("%s%s%s%s", id, shapes[n.Kind][0], label, shapes[n.Kind][1])
		return id
	}
	m.line(`subgraph %s["%s"]`, id, label)
	around := m.in
	m.in += "  "
	m.flow(n.Subflow, inside(path, n.Key))
	m.in = around
	m.line("end")
	return id
}

// escape writes a name as a part of a label in quotes. Letters, digits and a few other characters
// stay. All others become Mermaid's codes of characters: they end no label, and are not HTML.
func escape(name string) string {
	var text strings.Builder
	for _, r := range shorten(name) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _-.,/…", r):
			text.WriteRune(r)
		case !unicode.IsPrint(r): // a control character, or one that changes the direction
			text.WriteRune(unicode.ReplacementChar)
		default:
			fmt.Fprintf(&text, "#%d;", r)
		}
	}
	return text.String()
}
