//go:build localstack

package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	httpexec "github.com/reprise-run/reprise/infra/executor/http"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
	"github.com/reprise-run/reprise/infra/system"
	"github.com/reprise-run/reprise/infra/worker"
)

// allKinds has a node of each kind. One branch of "both" fails, and the flow continues.
const allKinds = `{
  "start": "total",
  "nodes": {
    "total": {"kind": "executor", "service": "add", "prep": {"input_key": "$params.list"}, "post": {"output_key": "total", "action_static": "go"}},
    "both": {"kind": "parallel", "parallel_services": ["add", "scale"], "parallel_mode": "concurrent", "failure_strategy": "ignore_errors",
      "prep": {"input_key": "$params.list"}, "post": {"output_key": "both", "action_static": "go"}},
    "each": {"kind": "foreach", "service": "scale", "params": {"by": 10}, "prep": {"input_key": "$params.list"}, "post": {"output_key": "each", "action_static": "go"}},
    "sub": {"kind": "subflow", "prep": {"input_key": "each"}, "post": {"output_key": "sub", "action_static": "go"}, "subflow": {
      "start": "inner", "nodes": {"inner": {"service": "add", "prep": {"input_key": "$input"}, "post": {"output_key": "sum"}}}}},
    "pause": {"kind": "timer", "params": {"delay_ms": 300}, "post": {"action_static": "go"}},
    "big": {"kind": "choice", "choice_cases": [{"action": "big", "expr": {"gt": ["$shared.sub.sum", 20]}}], "default_action": "small"},
    "wait": {"kind": "wait_event", "params": {"signal_key": "$shared.ready"}, "post": {"output_key": "got", "action_static": "go"}},
    "ask": {"kind": "approval", "params": {"approval_key": "$shared.approved"}}
  },
  "edges": [
    {"from": "total", "action": "go", "to": "both"}, {"from": "both", "action": "go", "to": "each"}, {"from": "each", "action": "go", "to": "sub"},
    {"from": "sub", "action": "go", "to": "pause"}, {"from": "pause", "action": "go", "to": "big"}, {"from": "big", "action": "big", "to": "wait"},
    {"from": "wait", "action": "go", "to": "ask"}
  ]
}`

const (
	allKindsInput = `{"list":[1,2]}`
	// allKindsResult is what the flow gives, wherever it runs.
	allKindsResult = `{"approved":true,"both":[3,null],"each":[10,20],"got":"now","ready":"now","sub":{"sum":30},"total":3}`
)

// services are those that the flow calls. Other workers of these tests do not offer them.
func services(w *worker.Worker) *worker.Worker {
	worker.Handle(w, "add", func(_ context.Context, list []float64, _ struct{}) (total float64, err error) {
		for _, n := range list {
			total += n
		}
		return total, nil
	})
	worker.Handle(w, "scale", func(_ context.Context, n float64, params struct{ By float64 }) (float64, error) {
		return n * params.By, nil
	})
	return w
}

// work runs a worker of the deployment until stop is called.
func (d *deployment) work(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- services(worker.New(worker.Config{Registry: d.address})).Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func publish(t *testing.T, name, source string) *client.Published {
	t.Helper()
	published, err := trial.client.Publish(within(t, patience), wire.PublishBody{Name: name, Kind: frontend.Flow, Source: source})
	require.NoError(t, err)
	return published
}

// signaller is what the flow's signals are sent through.
type signaller func(ctx context.Context, run, signal string, value history.Payload) error

func throughAPI(ctx context.Context, run, signal string, value history.Payload) error {
	_, err := trial.client.Signal(ctx, engine.MessageRequest{Run: run}, signal, value)
	return err
}

// attend sends the flow its signals, each once the run waits for it.
func attend(ctx context.Context, run string, summary func() (*port.Summary, error), send signaller) error {
	for _, wait := range []struct{ node, message string }{
		{"wait", `{"key":"ready","value":"now"}`}, {"ask", `{"key":"approved","value":true}`},
	} {
		err := comesTrue(ctx, func() (bool, error) {
			found, err := summary()
			if err != nil || len(found.State) == 0 {
				return false, err
			}
			var state flow.State
			err = json.Unmarshal(found.State, &state)
			return state.Node == wait.node, errors.Join(err, unblock(ctx, run, found.Workflow, (*wire.Block)(found.Blocked)))
		})
		if err == nil {
			err = send(ctx, run, flow.Set.Name(), history.Payload(wait.message))
		}
		if err != nil {
			return fmt.Errorf("at node %s: %w", wait.node, err)
		}
	}
	return nil
}

func driveFlow(ctx context.Context, run string, _ *watch) error {
	if err := begin(ctx, run, "all-kinds", []byte(allKindsInput)); err != nil {
		return err
	}
	return attend(ctx, run, func() (*port.Summary, error) { return trial.store.Summary(ctx, run) }, throughAPI)
}

// TestPublishedFlow: a flow with all kinds of nodes gives the same on a deployment as on the embedded
// engine.
func TestPublishedFlow(t *testing.T) {
	if trial.proxy == nil {
		t.Skip("functions run in containers here, which do not reach a worker of this process")
	}
	require.JSONEq(t, allKindsResult, embedded(t))
	publish(t, "all-kinds", allKinds)
	run := name(t)
	require.NoError(t, driveFlow(within(t, patience), run, nil))
	gives(t, run, json.RawMessage(allKindsResult))
	checkLog(t, run)
}

// embedded runs the flow on the embedded engine.
func embedded(t *testing.T) string {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	require.NoError(t, err)
	allow, err := httpexec.ParseAllow([]string{httpexec.Loopback})
	require.NoError(t, err)
	calls := httpexec.New(httpexec.Config{Workers: store, Clock: system.Clock{}, Allow: allow})
	t.Cleanup(calls.Close)
	n, err := local.Start(t.Context(), local.Config{Store: store, Interpreters: frontend.Interpreters(), AllowWorker: allow.Check,
		Performers: map[string]engine.Performer{httpexec.Prefix: calls.Perform}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	ctx := within(t, patience)
	var workers []wire.Worker
	eventually(t, "the worker is registered", func(ctx context.Context) bool {
		workers, err = trial.client.Workers(ctx, "add", true)
		require.NoError(t, err)
		return len(workers) == 1
	})
	_, err = n.RegisterWorker(ctx, port.Worker{ID: workers[0].ID, URL: workers[0].URL, Services: workers[0].Services})
	require.NoError(t, err)
	_, _, err = n.Publish(ctx, engine.PublishRequest{Name: "all-kinds", Kind: frontend.Flow, Source: allKinds})
	require.NoError(t, err)
	_, _, err = n.Start(ctx, engine.StartRequest{Run: "r", Workflow: "all-kinds", Input: []byte(allKindsInput)})
	require.NoError(t, err)
	err = attend(ctx, "r", func() (*port.Summary, error) { return n.Get(ctx, "r") }, func(ctx context.Context, run, signal string, value history.Payload) error {
		_, err := n.Signal(ctx, engine.MessageRequest{Run: run}, signal, value)
		return err
	})
	require.NoError(t, err)
	summary, err := n.Wait(ctx, "r")
	require.NoError(t, err)
	return string(summary.Result)
}
