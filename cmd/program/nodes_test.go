package program_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shownNode is a node run of get's document.
type shownNode struct {
	Node, Branch, Status, Error, Worker string
	Path                                []string
	Attempt                             int
	Started, Finished                   time.Time
}

// nodesOf asks get for the nodes of a run.
func nodesOf(t *testing.T, s *server, run string) (nodes []shownNode, earlier int) {
	t.Helper()
	got := s.ask(t.Context(), "", "get", run, "-o", "json")
	require.Zero(t, got.code, got.err)
	document := struct {
		Nodes        []shownNode
		EarlierNodes int
	}{}
	require.NoError(t, json.Unmarshal([]byte(got.out), &document))
	return document.Nodes, document.EarlierNodes
}

// Of many node runs, get shows the newest, and says how many there are before these.
func TestGetShowsTheNewestNodes(t *testing.T) {
	s := serve(t, t.TempDir())
	file := t.TempDir() + "/fan.json"
	write(t, file, `{"start": "each", "nodes": {"each": {"kind": "foreach", "service": "go:price", "prep": {"input_key": "$params.items"}}}}`)
	items, err := json.Marshal(map[string]any{"items": strings.Split(strings.Repeat("x", 60), "")})
	require.NoError(t, err)
	ran := s.ask(t.Context(), "", "flow", "run", file, "--run", "f1", "--params", string(items))
	require.Zero(t, ran.code, ran.err)
	require.Equal(t, 61, strings.Count(ran.err, "  each"), "each call is a line, and so is the node: %s", ran.err)

	nodes, earlier := nodesOf(t, s, "f1")
	require.Len(t, nodes, 50)
	require.Equal(t, 11, earlier)
	for i, node := range nodes[:49] {
		require.Equal(t, fmt.Sprint(i+11), node.Branch)
		require.NotEmpty(t, node.Worker)
	}
	require.Empty(t, nodes[49].Branch)
	require.Contains(t, s.ask(t.Context(), "", "get", "f1").out, "\n11 node runs before these\n")
}

// A call that runs is shown with its attempt. One that is running when the run ends is canceled.
func TestGetShowsCallsThatRun(t *testing.T) {
	s := serve(t, t.TempDir())
	file := t.TempDir() + "/judged.json"
	write(t, file, `{"start": "sub", "nodes": {"sub": {"kind": "subflow", "subflow": {"start": "judge", "nodes": {
		"judge": {"service": "go:review", "prep": {"input_key": "$params.text"}}}}}}}`)
	require.Zero(t, s.ask(t.Context(), "", "publish", file).code)
	require.Zero(t, s.ask(t.Context(), "", "start", "judged", "--run", "j1", "--input", `{"text": "x"}`).code)
	<-tokens
	nodes, _ := nodesOf(t, s, "j1")
	require.Len(t, nodes, 1)
	require.Equal(t, []any{"judge", []string{"sub"}, 1, "running"}, []any{nodes[0].Node, nodes[0].Path, nodes[0].Attempt, nodes[0].Status})
	require.True(t, nodes[0].Finished.IsZero())
	require.Contains(t, s.ask(t.Context(), "", "flow", "graph", "--run", "j1", "--format", "text").out, "judge  executor go:review  [running]")

	require.Zero(t, s.ask(t.Context(), "", "terminate", "j1").code)
	require.Equal(t, 1, s.ask(t.Context(), "", "wait", "j1").code)
	nodes, _ = nodesOf(t, s, "j1")
	require.Len(t, nodes, 1)
	require.Equal(t, "canceled", nodes[0].Status)
}
