package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// served makes a Go activity of a service of the reference worker.
func served(name string, do func(int, flow.Call) (any, error)) workflow.Definition {
	return activity.New("http:"+name, func(_ context.Context, call flow.Call) (flow.Answer, error) {
		result, failure := do(0, call)
		if failure != nil {
			return flow.Answer{Error: failure.Error()}, nil //nolint:nilerr // as workers answer
		}
		text, err := json.Marshal(result)
		return flow.Answer{Result: text}, err
	})
}

// openNode opens a server over a folder.
func openNode(t *testing.T, folder string, definitions ...workflow.Definition) *local.Node {
	t.Helper()
	store, err := sqlite.Open(folder, sqlite.Options{})
	require.NoError(t, err)
	n, err := local.Start(t.Context(), local.Config{
		Store: store, DataFolder: folder, Definitions: definitions,
		Interpreters: frontend.Interpreters(),
	})
	require.NoError(t, err)
	return n
}

// S4.2 S4.57: on a real server, which is closed and opened again while the flow waits, all kinds
// run, and the shared state is that of an undisturbed run.
func TestOnALocalNode(t *testing.T) {
	folder := t.TempDir()
	open := func() *local.Node {
		return openNode(t, folder, mustFlow(allKinds), served("sum", sum),
			served("transform", transform))
	}
	n := open()
	defer func() { require.NoError(t, n.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, _, err := n.Start(ctx, engine.StartRequest{Run: "r", Workflow: "test-flow",
		Input: history.Payload(`{"list": [1, 2, 3]}`)})
	require.NoError(t, err)
	state := func() (s flow.State) {
		summary, err := n.Get(ctx, "r")
		require.NoError(t, err)
		if len(summary.State) > 0 {
			require.NoError(t, json.Unmarshal(summary.State, &s))
		}
		return s
	}
	require.Eventually(t, func() bool {
		return state().Node == "wait"
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, n.Close())
	n = open()
	require.Equal(t, "wait", state().Node)
	_, err = n.Signal(ctx, engine.MessageRequest{Run: "r"}, flow.Set.Name(),
		history.Payload(`{"key": "go", "value": true}`))
	require.NoError(t, err)
	summary, err := n.Wait(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, history.Completed, summary.Status, "%v", summary.Failure)
	require.JSONEq(t, `{"total": 6, "both": [6, 6], "each": [10, 20, 30], "sub": {"s": 60}, "go": true}`, string(summary.Result))
	require.Equal(t, "approved", state().Action)
}

// S4.7: a flow is published to a running system. Each run keeps the version that it started with; a
// malformed definition is refused with all places, and nothing of it is stored.
func TestPublishedFlow(t *testing.T) {
	n := openNode(t, t.TempDir(), served("transform", transform))
	defer func() { require.NoError(t, n.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	source := func(mul int) string {
		return fmt.Sprintf(`{"start": "wait", "nodes": {"wait": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}},
			"mul": {"service": "transform", "params": {"mul": %d}, "prep": {"input_key": "$params.x"}, "post": {"output_key": "out"}}}, "edges": [{"from": "wait", "to": "mul"}]}`, mul)
	}
	for version := 1; version <= 2; version++ {
		_, created, err := n.Publish(ctx, engine.PublishRequest{Name: "published", Kind: "flow",
			Source: source(10 * version)})
		require.NoError(t, err)
		require.True(t, created)
		_, _, err = n.Start(ctx, engine.StartRequest{Run: fmt.Sprint("r", version),
			Workflow: "published", Input: history.Payload(`{"x": 3}`)})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			summary, err := n.Get(ctx, fmt.Sprint("r", version))
			return err == nil && len(summary.State) > 0
		}, time.Minute, 5*time.Millisecond)
	}
	_, _, err := n.Publish(ctx, engine.PublishRequest{Name: "published", Kind: "flow",
		Source: `{"start": "x", "nodes": {"n": {"kind": "exec"}}}`})
	require.ErrorContains(t, err, "/nodes/n/kind")
	require.ErrorContains(t, err, "/start")
	for version := 1; version <= 2; version++ {
		run := fmt.Sprint("r", version)
		_, err := n.Signal(ctx, engine.MessageRequest{Run: run}, flow.Set.Name(),
			history.Payload(`{"key": "go", "value": 1}`))
		require.NoError(t, err)
		summary, err := n.Wait(ctx, run)
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"go": 1, "out": %d}`, 30*version), string(summary.Result))
	}
}

// S4.48: a subflow runs the latest version of a published flow, or the one that its node names.
func TestSubflowInAVersion(t *testing.T) {
	n := openNode(t, t.TempDir(), served("transform", transform))
	defer func() { require.NoError(t, n.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	publish := func(name, source string) {
		t.Helper()
		request := engine.PublishRequest{Name: name, Kind: "flow", Source: source}
		_, created, err := n.Publish(ctx, request)
		require.NoError(t, err)
		require.True(t, created)
	}
	for _, factor := range []int{10, 20} {
		publish("part", one(fmt.Sprintf(`"service": "transform", "params": {"mul": %d},
			"prep": {"input_key": "$params.x"}, "post": {"output_key": "y"}`, factor)))
	}
	for version, result := range map[string]string{
		"":                 `{"out": {"y": 60}}`,
		`"definition": 1,`: `{"out": {"y": 30}}`,
		`"definition": 2,`: `{"out": {"y": 60}}`,
	} {
		publish("outer", one(`"kind": "subflow", "workflow": "part", `+version+`
			"post": {"output_key": "out"}`))
		started, _, err := n.Start(ctx, engine.StartRequest{
			Workflow: "outer", Input: history.Payload(`{"x": 3}`),
		})
		require.NoError(t, err)
		ended, err := n.Wait(ctx, started.Run)
		require.NoError(t, err)
		require.JSONEq(t, result, string(ended.Result), version)
	}
}
