package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// circle is a flow of so many nodes, each of which leads to the next, and the last to the first.
func circle(nodes int, fields string) string {
	var all, edges []string
	for i := range nodes {
		all = append(all, fmt.Sprintf(`"n%d": {%s}`, i, fields))
		edges = append(edges, fmt.Sprintf(`{"from": "n%d", "to": "n%d"}`, i, (i+1)%nodes))
	}
	return fmt.Sprintf(`{"start": "n0", "nodes": {%s}, "edges": [%s]}`, strings.Join(all, ","), strings.Join(edges, ","))
}

// nested is a circle in subflows, each of which is tried again and again.
func nested(levels int) string {
	inner := circle(1, `"kind": "choice"`)
	for range levels {
		inner = circle(1, `"kind": "subflow", "max_retries": 1000, "subflow": `+inner)
	}
	return inner
}

// times writes a text so many times, with its number for %d.
func times(n int, text, between string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(text, "%d", fmt.Sprint(i))
	}
	return strings.Join(all, between)
}

// hostile are flows that the parser accepts, with the params of a run.
func hostile() map[string][2]string {
	list := `{"v": [` + times(200_000, "1", ",") + `]}`
	return map[string][2]string{
		"no waits":     {circle(2, `"kind": "choice"`), `{}`},
		"10,000 nodes": {circle(flow.MaxNodes, `"kind": "choice"`), `{}`},
		"timers of 0":  {circle(2, `"kind": "timer"`), `{}`},
		"nested":       {nested(flow.MaxNested - 1), `{}`},
		"doubling": {circle(1, `"kind": "timer", "prep": {"input_map": {"a": "v", "b": "v"}}, "post": {"output_key": "v"}`),
			`{}`},
		"10,000 calls": {circle(1, `"kind": "foreach", "service": "none", "parallel_mode": "concurrent",
			"failure_strategy": "ignore_errors", "prep": {"input_key": "$params.list"}`), `{"list": [` + times(flow.MaxCalls, "%d", ",") + `]}`},
		"large calls": {circle(1, `"kind": "executor", "service": "none", "prep": {"input_key": "$params"}`), list},
		"itself":      {circle(1, `"kind": "subflow", "workflow": "itself", "max_retries": 1000`), `{}`},
		"many paths":  {circle(1, `"kind": "timer", "prep": {"input_map": {`+times(10_000, `"k%d": "$params.v[999999]"`, ",")+`}}`), list},
		"many outputs": {circle(1, `"kind": "timer", "prep": {"input_key": "$params.v"}, "post": {"output_map": {`+
			times(10_000, `"k%d": "[999999]"`, ",")+`}}`), list},
		"many keys": {circle(1, `"kind": "timer", "params": {"delay_ms": 1}, "prep": {"input_key": "$params.x"}, "post": {"output_map": {`+
			times(10_000, `"k%d": ""`, ",")+`}}`), `{"x": "` + strings.Repeat("x", 100) + `"}`},
		"expressions": {circle(1, `"kind": "choice", "choice_cases": [`+times(50, `{"action": "a", "expr": {"or": [`+
			times(900, `{"eq": ["$params.v", "$params"]}`, ",")+`]}}`, ",")+`]`), list},
	}
}

// crowd is a server with little memory.
type crowd struct {
	*testing.T
	client *client.Client
	node   *local.Node
	budget *memory.Budget
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	c := &crowd{T: t, budget: memory.New(64 << 20)}
	c.node, err = local.Start(t.Context(), local.Config{Store: store, Interpreters: frontend.Interpreters(),
		Definitions: []workflow.Definition{echo}, Memory: c.budget,
		StuckAfter: 30 * time.Second}) // other tests may take most of the processors
	require.NoError(t, err)
	handler, err := api.New(api.Config{Engine: c.node.Engine, Backlog: c.node.Backlog, Memory: c.budget})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	c.client, err = client.New(client.Config{Address: server.URL, Poll: 5 * time.Second, Retries: 100})
	require.NoError(t, err)
	t.Cleanup(func() {
		handler.EndWaits()
		c.client.Close()
		server.Close()
		require.NoError(t, c.node.Close())
	})
	return c
}

func (c *crowd) publish(name, source string) {
	c.Helper()
	_, err := c.client.Publish(c.Context(), wire.PublishBody{Name: name, Kind: frontend.Flow, Source: source})
	require.NoError(c, err, name)
}

// ordinary runs end, one after the other.
func (c *crowd) ordinary(runs int) {
	c.Helper()
	for range runs {
		ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
		started, err := c.client.StartAndWait(ctx, engine.StartRequest{Workflow: "ordinary"})
		cancel()
		require.NoError(c, err)
		require.Equal(c, history.Completed, started.Status)
		require.Less(c, c.budget.Used(), 2*c.budget.Total(), "a server has twice the memory of its budget")
	}
}

// TestHostileDefinitions: the worst flows that the parser accepts run. Ordinary runs on
// the same server end meanwhile. Operators see what the others do, and end them.
func TestHostileDefinitions(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds of all processors")
	}
	c := newCrowd(t)
	c.publish("ordinary", `{"start": "a", "nodes": {"a": {"kind": "timer", "params": {"delay_ms": 1}}, "b": {"kind": "choice"}}, "edges": [{"from": "a", "to": "b"}]}`)
	var runs []string
	for name, of := range hostile() {
		c.publish(name, of[0])
		_, err := c.client.Start(t.Context(), engine.StartRequest{Run: name, Workflow: name, Input: history.Payload(of[1])})
		require.NoError(t, err, name)
		runs = append(runs, name)
	}
	c.ordinary(10)
	seen := 0
	for found, err := range c.client.All(t.Context(), port.ListQuery{Status: history.Running}) {
		require.NoError(t, err)
		require.Nil(t, found.Blocked, "%s: %v", found.Run, found.Blocked)
		if found.State != nil {
			state := flow.State{}
			require.NoError(t, json.Unmarshal(found.State, &state), found.Run)
			seen++
		}
	}
	require.Positive(t, seen, "lists show what runs do")
	for i, run := range runs {
		end := c.client.Cancel
		if i%2 == 1 {
			end = c.client.Terminate
		}
		if _, err := end(t.Context(), engine.MessageRequest{Run: run}, "enough"); err != nil {
			require.ErrorContains(t, err, "ended", run)
		}
	}
	c.ordinary(1)
	for _, run := range runs {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		summary, err := c.client.Wait(ctx, run)
		cancel()
		require.NoError(t, err, run)
		require.True(t, summary.Status.Closed(), "%s: %s %v", run, summary.Status, summary.Blocked)
	}
}
