package graph_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/flow/graph"
)

// TestDrawings compares drawings with those of testdata. -rewrite writes them again.
func TestDrawings(t *testing.T) {
	datadriven.RunTest(t, "testdata/drawings.txt",
		func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			source, err := os.ReadFile("testdata/" + d.CmdArgs[0].Key)
			require.NoError(t, err)
			definition, err := flow.Parse(source)
			require.NoError(t, err)
			live := graph.Live{}
			if d.HasArg("live") {
				live = graph.Follow(state, rows, "each")
			}
			if d.Cmd == "text" {
				return graph.Text(definition, live)
			}
			return graph.Mermaid(definition, live)
		})
}

// A run that has been through most of testdata/kinds.json.
var (
	state = flow.State{Node: "inner wait", Path: []string{"sub"}}
	rows  = []flow.Row{
		{Node: "call", Attempt: 1, Status: flow.RowError},
		{Node: "call", Attempt: 2, Status: flow.RowOK},
		{Node: "choose", Status: flow.RowOK},
		{Node: "all", Branch: "a", Status: flow.RowError},
		{Node: "all", Branch: "go:b", Status: flow.RowOK},
		{Node: "each", Branch: "0", Status: flow.RowOK},
		{Node: "inner", Path: []string{"sub"}, Status: flow.RowOK},
	}
)

// A row of the node itself stands over those of its calls, and a second visit over the first.
func TestFollow(t *testing.T) {
	fan := []flow.Row{{Node: "n", Branch: "0", Status: flow.RowError},
		{Node: "n", Branch: "1", Status: flow.RowOK}}
	for _, c := range []struct {
		state  flow.State
		rows   []flow.Row
		failed string
		status graph.Status
	}{
		{status: ""},
		{rows: fan, status: graph.Failed},
		{rows: append(fan[:2:2], flow.Row{Node: "n", Status: flow.RowOK}), status: graph.Done},
		{rows: []flow.Row{{Node: "n", Status: flow.RowOK}, {Node: "n", Status: flow.RowCanceled}},
			status: graph.Canceled},
		{rows: fan, state: flow.State{Node: "n"}, status: graph.Running},
		{rows: []flow.Row{{Node: "n", Status: flow.RowOK}}, failed: "n", status: graph.Failed},
		{rows: []flow.Row{{Node: "m", Path: []string{"n"}, Status: flow.RowError}},
			status: graph.Failed},
		{rows: []flow.Row{{Node: "n", Path: []string{"m"}, Status: flow.RowOK}}, status: ""},
		{state: flow.State{Node: "m", Path: []string{"n"}}, status: graph.Running},
	} {
		require.Equal(t, c.status, graph.Follow(c.state, c.rows, c.failed).Of(nil, "n"), "%+v", c)
	}
}

// No name of a flow adds a line, ends a label, or becomes HTML.
func TestHostileNames(t *testing.T) {
	plain := draw(t, "a", "b", "c", graph.Mermaid)
	structure := regexp.MustCompile(`"[^"]*"`)
	for _, name := range []string{
		`"]; click n1 href "javascript:alert(1)"`, "x\nn9[evil]", "%%{init: {}}%%", "<script>alert(1)</script>", "&lt;b&gt;", "`**md**`", "end", "#quot;", "style:x#1;",
		"classDef d fill:#fff;", "\u202egnp.exe", "\x1b[31mred", "a|b", "--> n1", strings.Repeat("x", 5000),
	} {
		drawn := draw(t, name, "b", name+"2", graph.Mermaid)
		require.Equal(t, structure.ReplaceAllString(plain, `""`),
			structure.ReplaceAllString(drawn, `""`), name)
		for _, label := range structure.FindAllString(drawn, -1) {
			label = strings.ReplaceAll(strings.Trim(label, `"`), "<br/>", "")
			require.NotRegexp(t, `[<>&|%\x60\x00-\x1f]|\x{202e}`, label)
			require.NotContains(t, regexp.MustCompile(`#\d+;`).ReplaceAllString(label, ""), "#",
				"every code is one of ours")
			require.Less(t, len(label), 1000)
		}
		text := draw(t, name, "b", name+"2", graph.Text)
		require.Equal(t, strings.Count(draw(t, "a", "b", "c", graph.Text), "\n"),
			strings.Count(text, "\n"), name)
		require.NotRegexp(t, `[\x00-\x09\x0b-\x1f]|\x{202e}`, text)
	}
}

// draw draws a flow with these names of a node, of a service and of an action.
func draw(
	t *testing.T, node, service, action string, drawing func(*flow.Definition, graph.Live) string,
) string {
	t.Helper()
	d := &flow.Definition{Start: node,
		Nodes: []*flow.Node{{Key: node, Kind: flow.Executor, Service: service + node},
			{Key: "other", Kind: flow.Choice}},
		Edges: []flow.Edge{{From: node, Action: action, To: "other"}}}
	return drawing(d, graph.Live{})
}
