package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// service is an activity that stands for the workers of a service.
func service(name string) *activity.Activity[flow.Call, flow.Answer] {
	return activity.Declare[flow.Call, flow.Answer]("http:" + name)
}

// world is where one run of a flow takes place. Its services are those of the reference worker, and
// some that fail. After every activation, the environment replays the log so far: each test is also
// a test of a restart at each point.
type world struct {
	*workflowtest.Env
	t     *testing.T
	calls []string // of services, as SERVICE(INPUT)
	at    []time.Duration
	after int // events and commands after which the run continues as new; 0: as many as it takes
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Env: workflowtest.New(t), t: t}
	w.serve("transform", transform)
	w.serve("sum", sum)
	w.serve("route", func(_ int, call flow.Call) (any, error) {
		var params struct{ Action string }
		_ = json.Unmarshal(call.Params, &params)
		if params.Action == "" {
			params.Action = "goB"
		}
		return map[string]string{"action": params.Action}, nil
	})
	w.serve("echo", func(_ int, call flow.Call) (any, error) {
		return map[string]any{"input": call.Input, "params": call.Params}, nil
	})
	w.serve("fail", func(int, flow.Call) (any, error) { return nil, fmt.Errorf("broken") })
	w.serve("flaky", func(n int, call flow.Call) (any, error) {
		if n < 3 {
			return nil, fmt.Errorf("broken %d", n)
		}
		return call.Input, nil
	})
	w.serve("picky", func(_ int, call flow.Call) (any, error) {
		if strings.Contains(string(call.Input), "bad") {
			return nil, fmt.Errorf("refused %s", call.Input)
		}
		return call.Input, nil
	})
	return w
}

// serve has a service answer as a worker does: errors lie in the answer. n counts its calls.
func (w *world) serve(name string, do func(n int, call flow.Call) (any, error)) {
	n := 0
	workflowtest.Mock(w.Env, service(name),
		func(ctx context.Context, call flow.Call) (flow.Answer, error) {
			n++
			w.calls = append(w.calls, fmt.Sprintf("%s(%s)", name, call.Input))
			w.at = append(w.at, w.Elapsed())
			if err := workflowtest.Sleep(ctx, time.Second); err != nil {
				return flow.Answer{}, err
			}
			result, failure := do(n, call)
			if failure != nil {
				return flow.Answer{Error: failure.Error()}, nil //nolint:nilerr // as workers answer
			}
			text, err := json.Marshal(result)
			return flow.Answer{Result: text}, err
		})
}

func transform(_ int, call flow.Call) (any, error) {
	var params struct {
		Op  string
		Mul *float64
	}
	_ = json.Unmarshal(call.Params, &params)
	var input any
	_ = json.Unmarshal(call.Input, &input)
	switch input := input.(type) {
	case string:
		switch params.Op {
		case "upper":
			return strings.ToUpper(input), nil
		case "lower":
			return strings.ToLower(input), nil
		}
		return nil, fmt.Errorf("unsupported op")
	case float64:
		if params.Mul != nil {
			return input * *params.Mul, nil
		}
		return input, nil
	}
	return nil, fmt.Errorf("bad input")
}

func sum(_ int, call flow.Call) (any, error) {
	var numbers []float64
	if json.Unmarshal(call.Input, &numbers) != nil {
		return nil, fmt.Errorf("bad input")
	}
	total := 0.0
	for _, n := range numbers {
		total += n
	}
	return total, nil
}

// disturb sends messages meanwhile that write a key which nothing reads. They make the log long.
func (w *world) disturb() {
	for _, at := range []int{400, 4000, 8000, 30_000} {
		w.At(time.Duration(at)*time.Millisecond, func() {
			if w.state().Node != "" {
				w.set("disturbs", "1")
			}
		})
	}
}

// run runs a flow to its end and gives the shared state.
func (w *world) run(definition, params string) (shared string, err error) {
	w.t.Helper()
	d, err := flow.Parse([]byte(definition))
	require.NoError(w.t, err)
	d.ContinueAfter(w.after)
	result, err := workflowtest.Run(w.Env, d.Workflow("test-flow"), history.Payload(params))
	return string(result), err
}

// succeed runs a flow that completes with this shared state.
func (w *world) succeed(definition, params, shared string) {
	w.t.Helper()
	result, err := w.run(definition, params)
	require.NoError(w.t, err)
	var have map[string]json.RawMessage
	require.NoError(w.t, json.Unmarshal([]byte(result), &have))
	delete(have, "disturbs")
	text, err := json.Marshal(have)
	require.NoError(w.t, err)
	require.JSONEq(w.t, shared, string(text))
}

// fail runs a flow whose node fails with this error.
func (w *world) fail(definition, params, node, message string) flow.NodeFailure {
	w.t.Helper()
	_, err := w.run(definition, params)
	require.Error(w.t, err)
	require.Equal(w.t, flow.FailureType, workflow.FailureType(err), "%v", err)
	failure, ok := workflow.FailureDetails[flow.NodeFailure](err)
	require.True(w.t, ok)
	require.Equal(w.t, node, failure.Node)
	require.Contains(w.t, failure.Error, message)
	return failure
}

func (w *world) state() flow.State { return workflowtest.State[flow.State](w.Env) }

// rows gives the run's rows in short: node, branch, attempt, status, action, error.
func (w *world) rows() (rows []string) {
	w.t.Helper()
	page, err := workflowtest.Query(w.Env, flow.RowsQuery, flow.Page{})
	require.NoError(w.t, err)
	for i, row := range page.Rows {
		require.Equal(w.t, page.Dropped+i+1, row.ID)
		name := strings.Join(append(row.Path, row.Node), "/")
		if row.Branch != "" {
			name += "[" + row.Branch + "]"
		}
		rows = append(rows, strings.TrimSpace(fmt.Sprintf("%s %d %s %s %s", name, row.Attempt,
			row.Status, row.Action, row.Error)))
	}
	return rows
}

func (w *world) set(key, value string) {
	workflowtest.Signal(w.Env, flow.Set, flow.Message{Key: key, Value: json.RawMessage(value)})
}
