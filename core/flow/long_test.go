package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// numbers lists the numbers from 0.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d", map[bool]string{true: "", false: ","}[i == 0], i)
	}
	return b.String()
}

// quick answers at once.
func quick(w *world, name string) {
	n := 0
	workflowtest.Mock(w.Env, service(name),
		func(_ context.Context, call flow.Call) (flow.Answer, error) {
			n++
			if name == "third" && n%3 == 0 {
				return flow.Answer{Error: fmt.Sprintf("call %s", call.Input)}, nil
			}
			return flow.Answer{Result: call.Input}, nil
		})
}

// S4.51 S4.52: a foreach of 10,000 items continues as new on its way, and keeps its results so far.
func TestTenThousandItems(t *testing.T) {
	modes := []string{`"parallel_mode": "concurrent", "max_parallel": 100`,
		`"parallel_mode": "concurrent"`, `"parallel_mode": "sequential"`}
	if testing.Short() {
		modes = modes[:1]
	}
	for _, mode := range modes {
		w := newWorld(t)
		// a replay after each of 10,000 activations is quadratic; the last generation is replayed below
		w.SkipReplay = true
		quick(w, "third")
		definition := one(`"kind": "foreach", "service": "third", "failure_strategy": "ignore_errors", "prep": {"input_key": "$params.list"}, "post": {"output_key": "out"}, ` + mode)
		result, err := w.run(definition, `{"list": [`+numbers(flow.MaxCalls)+`]}`)
		require.NoError(t, err)
		var shared struct{ Out []*int }
		require.NoError(t, json.Unmarshal([]byte(result), &shared))
		require.Len(t, shared.Out, flow.MaxCalls)
		failed := 0
		for i, n := range shared.Out {
			if n == nil {
				failed++
			} else {
				require.Equal(t, i, *n)
			}
		}
		require.Equal(t, flow.MaxCalls/3, failed)
		export := workflowtest.Export(w.Env)
		require.Greater(t, generation(t, w.Env), 1, mode)
		workflowtest.Replay(t, export, mustFlow(definition))
		page, err := workflowtest.Query(w.Env, flow.RowsQuery, flow.Page{After: flow.MaxCalls - 1})
		require.NoError(t, err)
		require.Equal(t, flow.MaxCalls+1, page.Rows[len(page.Rows)-1].ID, "rows keep their numbers")
		require.Positive(t, page.Dropped)
	}
	newWorld(t).fail(one(
		`"kind": "foreach", "service": "echo", "prep": {"input_key": "$params.list"}`),
		`{"list": [`+numbers(flow.MaxCalls+1)+`]}`, "n", "the limit is 10000")
}

// generation is which generation of the run was the last.
func generation(t *testing.T, env *workflowtest.Env) int {
	t.Helper()
	export, err := history.DecodeExport(workflowtest.Export(env))
	require.NoError(t, err)
	return export.Generation
}

// S4.46 S4.57: a flow that runs in a circle continues as new, and keeps its shared state, its
// position and its numbers.
func TestLongFlow(t *testing.T) {
	w := newWorld(t)
	w.SkipReplay = true
	n := 0
	w.serve("count", func(int, flow.Call) (any, error) {
		if n++; n == 6000 {
			return map[string]any{"n": n, "action": "done"}, nil
		}
		return map[string]any{"n": n, "action": "again"}, nil
	})
	w.At(90*time.Minute, func() { w.set("between", `"kept"`) })
	definition := `{"start": "before", "nodes": {"before": {"kind": "timer", "prep": {"input_key": "$params.x"}, "post": {"output_key": "x"}},
		"sub": {"kind": "subflow", "subflow": {"start": "count", "nodes": {"count": {"service": "count", "post": {"output_map": {"n": "n"}, "action_key": "action"}}}, "edges": [{"from": "count", "action": "again", "to": "count"}]}, "post": {"output_key": "out"}}},
		"edges": [{"from": "before", "to": "sub"}]}`
	result, err := w.run(definition, `{"x": [1]}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"x": [1], "between": "kept", "out": {"n": 6000}}`, result)
	require.Equal(t, 6002, w.state().Steps)
	require.Greater(t, generation(t, w.Env), 1)
	workflowtest.Replay(t, workflowtest.Export(w.Env), mustFlow(definition))
	page, err := workflowtest.Query(w.Env, flow.RowsQuery, flow.Page{})
	require.NoError(t, err)
	require.Equal(t, page.Dropped+1, page.Rows[0].ID)
	require.Equal(t, []string{"sub"}, page.Rows[0].Path)
}

// S4.57: a node that waits continues as new when many signals have made its log long. It keeps the
// time at which it is due, and loses no signal.
func TestManySignals(t *testing.T) {
	for kind, fields := range map[string]string{
		"wait_event": `"params": {"signal_key": "$shared.go", "timeout_ms": 100000000}`,
		"approval":   `"params": {"approval_key": "$shared.go"}`,
		"timer":      `"params": {"delay_ms": 30000000}`,
	} {
		if testing.Short() && kind != "wait_event" {
			continue // each takes seconds
		}
		w := newWorld(t)
		w.SkipReplay = true
		const signals = 12_000
		for i := 0; i < signals; i += 50 {
			w.At(time.Duration(i)*time.Second, func() {
				for k := range 50 {
					w.set(fmt.Sprintf("k%d", k), fmt.Sprint(i+k))
				}
			})
		}
		w.At(5*time.Hour, func() { w.set("go", "true") })
		result, err := w.run(one(`"kind": "`+kind+`", `+fields), `{}`)
		require.NoError(t, err)
		var shared map[string]any
		require.NoError(t, json.Unmarshal([]byte(result), &shared))
		require.Len(t, shared, 51)
		for i := range 50 {
			require.EqualValues(t, signals-50+i, shared[fmt.Sprintf("k%d", i)])
		}
		require.Greater(t, generation(t, w.Env), 1, kind)
		if kind == "timer" {
			require.Equal(t, 30_000*time.Second, w.Elapsed())
		} else {
			require.Equal(t, 5*time.Hour, w.Elapsed())
		}
	}
}

// A run that continues at a place which its definition does not have says so.
func TestContinueUnderAnotherDefinition(t *testing.T) {
	w := newWorld(t)
	w.StopAtContinueAsNew = true
	w.SkipReplay = true
	quick(w, "third")
	_, err := w.run(`{"start": "n", "nodes": {"n": {"kind": "foreach", "service": "third", "failure_strategy": "ignore_errors", "prep": {"input_key": "$params.list"}}}}`, `{"list": [`+numbers(9000)+`]}`)
	var next *workflowtest.ContinuedAsNew
	require.True(t, errors.As(err, &next))
	input, ok := workflowtest.NextInput[json.RawMessage](err)
	require.True(t, ok)
	require.Contains(t, string(input), `"_rt":{`)
	_, err = newWorld(t).run(one(`"kind": "timer"`), string(input))
	require.Equal(t, flow.InputFailureType, workflow.FailureType(err),
		"a first generation cannot be started inside a flow")
}

// A run with a state that the input of a next generation cannot hold lets its log grow instead.
func TestTooLargeToCarry(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	w := newWorld(t)
	w.SkipReplay = true
	for i := 0; i < 12_000; i += 50 {
		w.At(time.Duration(i)*time.Second, func() {
			for k := range 50 {
				w.set(fmt.Sprintf("k%d", k), fmt.Sprint(i+k))
			}
		})
	}
	w.At(5*time.Hour, func() { w.set("go", "true") })
	deep := strings.Repeat("[", history.MaxDepth-1) + strings.Repeat("]", history.MaxDepth-1)
	definition := `{"start": "n", "nodes": {"n": {"kind": "wait_event", "params": {"signal_key": "$shared.go"}}, "after": {"kind": "timer", "params": {"delay_ms": 1}}}, "edges": [{"from": "n", "to": "after"}]}`
	result, err := w.run(definition, `{"deep": `+deep+`}`)
	require.NoError(t, err)
	require.Contains(t, result, `"k49":11999`)
	require.Equal(t, 1, generation(t, w.Env))
	workflowtest.Replay(t, workflowtest.Export(w.Env), mustFlow(definition))
}

// A signal is not lost that comes together with the result at which a run continues as new, or
// ends.
func TestSignalsWithResults(t *testing.T) {
	w := newWorld(t)
	w.SkipReplay = true
	n := 0
	workflowtest.Mock(w.Env, service("signaling"),
		func(context.Context, flow.Call) (flow.Answer, error) {
			w.set(fmt.Sprintf("k%d", n), "1")
			if n++; n == 4000 {
				return flow.Answer{}, nil
			}
			return flow.Answer{Result: json.RawMessage(`{"action": "again"}`)}, nil
		})
	const calls = 4000
	result, err := w.run(
		`{"start": "a", "nodes": {"a": {"service": "signaling", "post": {"action_key": "action"}}}, "edges": [{"from": "a", "action": "again", "to": "a"}]}`, `{}`)
	require.NoError(t, err)
	var shared map[string]any
	require.NoError(t, json.Unmarshal([]byte(result), &shared))
	require.Greater(t, generation(t, w.Env), 1)
	require.Equal(t, calls, len(shared))
}

// Between two generations, readers see what the last node wrote.
func TestPublishedBetweenGenerations(t *testing.T) {
	w := newWorld(t)
	w.StopAtContinueAsNew, w.after = true, 3
	_, err := w.run(`{"start": "a", "nodes": {
		"a": {"service": "sum", "prep": {"input_key": "$params.list"}, "post": {"output_key": "total"}},
		"b": {"kind": "timer"}}, "edges": [{"from": "a", "to": "b"}]}`, `{"list": [1, 2]}`)
	var next *workflowtest.ContinuedAsNew
	require.ErrorAs(t, err, &next)
	require.JSONEq(t, `3`, string(w.state().Shared["total"]))
	require.Equal(t, "b", w.state().Node)
}

// S4.25: a run is canceled in the activation in which its log becomes long, before a node that waits. It
// ends, and does not continue as new.
func TestCanceledBeforeItContinues(t *testing.T) {
	w := newWorld(t)
	w.after = 3
	for range 3 {
		w.set("x", "1")
	}
	workflowtest.Cancel(w.Env, "enough")
	_, err := w.run(`{"start": "a", "nodes": {"a": {"kind": "choice"}, "b": {"kind": "timer"}},
		"edges": [{"from": "a", "to": "b"}]}`, `{}`)
	require.ErrorIs(t, err, workflow.ErrCancelled)
	require.Equal(t, 1, generation(t, w.Env))
	require.Equal(t, "b 0 canceled canceled", w.rows()[1])
}
