package flow_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
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

// S4.2 S4.57: on a real server, which is closed and opened again while the flow waits, all kinds run,
// and the shared state is that of an undisturbed run.
func TestOnALocalNode(t *testing.T) {
	folder := t.TempDir()
	open := func() *local.Node {
		store, err := sqlite.Open(folder, sqlite.Options{})
		require.NoError(t, err)
		n, err := local.Start(t.Context(), local.Config{Store: store, DataFolder: folder, Definitions: []workflow.Definition{
			mustFlow(allKinds), served("sum", sum), served("transform", transform)}})
		require.NoError(t, err)
		return n
	}
	n := open()
	defer func() { require.NoError(t, n.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, _, err := n.Start(ctx, engine.StartRequest{Run: "r", Workflow: "test-flow", Input: history.Payload(`{"list": [1, 2, 3]}`)})
	require.NoError(t, err)
	state := func() (s flow.State) {
		summary, err := n.Get(ctx, "r")
		require.NoError(t, err)
		if len(summary.State) > 0 {
			require.NoError(t, json.Unmarshal(summary.State, &s))
		}
		return s
	}
	require.Eventually(t, func() bool { return state().Node == "wait" }, time.Minute, 5*time.Millisecond)
	require.NoError(t, n.Close())
	n = open()
	require.Equal(t, "wait", state().Node)
	_, err = n.Signal(ctx, engine.MessageRequest{Run: "r"}, flow.Set.Name(), history.Payload(`{"key": "go", "value": true}`))
	require.NoError(t, err)
	summary, err := n.Wait(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, history.Completed, summary.Status, "%v", summary.Failure)
	require.JSONEq(t, `{"total": 6, "both": [6, 6], "each": [10, 20, 30], "sub": {"s": 60}, "go": true}`, string(summary.Result))
	require.Equal(t, "approved", state().Action)
}
