package flow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// S4.48 S4.49: a subflow has a shared state of its own, which becomes its result.
func TestSubflow(t *testing.T) {
	inner := `{"start": "a", "nodes": {
		"a": {"service": "transform", "params": {"mul": 5}, "prep": {"input_key": "$params.x"}, "post": {"output_key": "m", "action_static": "go"}},
		"b": {"service": "echo", "prep": {"input_map": {"m": "m", "outer": "secret", "in": "$input.word"}}, "post": {"output_map": {"seen": "input"}, "action_static": "inner"}},
		"c": {"kind": "subflow", "params": {"x": 9}, "prep": {"input_key": "m"}, "subflow": {"start": "d", "nodes": {"d": {"service": "transform", "prep": {"input_key": "$params.x"}, "post": {"output_key": "d"}}}}, "post": {"output_key": "c"}}
	}, "edges": [{"from": "a", "action": "go", "to": "b"}, {"from": "b", "to": "c"}]}`
	w := newWorld(t)
	w.set("secret", "1")
	w.succeed(`{"start": "sf", "nodes": {"sf": {"kind": "subflow", "params": {"mul": 2}, "prep": {"input_map": {"word": "$params.word"}}, "subflow": `+inner+`, "post": {"output_key": "out", "output_map": {"m": "m"}, "action_key": "seen.in"}}}}`,
		`{"x": 2, "word": "hello"}`, `{"secret": 1, "m": 10, "out": {"m": 10, "seen": {"m": 10, "outer": null, "in": "hello"}, "c": {"d": 18}}}`)
	require.Equal(t, "hello", w.state().Action, "the action reads the inner shared state")
	require.Equal(t, []string{"sf/a 1 ok go", "sf/b 1 ok inner", "sf/c/d 1 ok"}, w.rows())
	require.Equal(t, 5, w.state().Steps)
}

// S4.48: failures inside a subflow.
func TestSubflowFails(t *testing.T) {
	failing := `"subflow": {"start": "a", "nodes": {"a": {"service": "sum", "prep": {"input_key": "$params.x"}, "post": {"output_key": "s"}}, "b": {"service": "fail"}}, "edges": [{"from": "a", "to": "b"}]}`
	newWorld(t).fail(one(`"kind": "subflow", `+failing), `{"x": [1]}`, "n/b", "broken")
	newWorld(t).succeed(
		one(`"kind": "subflow", "failure_strategy": "ignore_errors", "post": {"output_key": "out"}, `+failing), `{"x": [1]}`, `{"out": null}`)
	w := newWorld(t)
	w.fail(one(`"kind": "subflow", "max_retries": 2, "wait_ms": 10000, `+failing), `{"x": [1]}`,
		"n/b", "broken")
	require.Equal(t, 26*time.Second, w.Elapsed())
	// An inner failure with an inner edge is no failure of the subflow.
	newWorld(t).succeed(
		one(`"kind": "subflow", "post": {"output_key": "out"}, "subflow": {"start": "a", "nodes": {"a": {"service": "fail"}, "b": {"kind": "timer", "prep": {"input_key": "$params.x"}, "post": {"output_key": "b"}}}, "edges": [{"from": "a", "to": "b"}]}`), `{"x": 1}`, `{"out": {"b": 1}}`)
}

// A waiting node in a subflow sees signals, which write to the outermost shared state.
func TestSignalsReachSubflows(t *testing.T) {
	w := newWorld(t)
	w.At(time.Minute, func() { w.set("ok", "true") })
	w.succeed(one(`"kind": "subflow", "subflow": {"start": "a", "nodes": {"a": {"kind": "approval", "params": {"approval_key": "$shared.ok"}, "post": {"output_key": "by"}}}}, "post": {"output_key": "out"}`), `{}`, `{"ok": true, "out": {"by": true}}`)
}

type order struct {
	Amount int `json:"amount"`
}

var (
	double = activity.New("double", func(_ context.Context, n int) (int, error) {
		return 2 * n, nil
	})
	refuse = activity.New("refuse", func(_ context.Context, n int) (int, error) {
		return 0, activity.NonRetryable(errors.New("never"))
	})
	bill = workflow.New("bill", func(ctx workflow.Context, o order) (order, error) {
		if o.Amount < 0 {
			return o, workflow.Fail("negative", "the amount is negative")
		}
		n, err := workflow.Execute(ctx, double, o.Amount)
		return order{n}, err
	})
)

// A service of a Go activity gets the input alone, and its result is the result.
func TestGoActivity(t *testing.T) {
	w := newWorld(t)
	w.Register(double, refuse)
	w.succeed(one(`"kind": "foreach", "service": "go:double", "prep": {"input_key": "$params.list"}, "post": {"output_key": "out"}`), `{"list": [1, 2]}`, `{"out": [2, 4]}`)
	w = newWorld(t)
	w.Register(refuse)
	w.fail(one(`"service": "go:refuse", "prep": {"input_key": "$params.x"}, "max_retries": 5`),
		`{"x": 1}`, "n", "never")
	require.Equal(t, []string{"n 1 error  never"}, w.rows(),
		"a failure that is not retryable is not retried")
	w = newWorld(t)
	w.Register(double)
	w.fail(one(`"service": "go:double", "prep": {"input_key": "$params.x"}`), `{"x": "three"}`, "n",
		`"three" is not a int`)
}

// A subflow can be a Go workflow, which runs as a child.
func TestGoWorkflow(t *testing.T) {
	flowOf := func(fields string) string {
		return one(`"kind": "subflow", "workflow": "bill"` + fields)
	}
	run := func() *world {
		w := newWorld(t)
		w.Register(bill, double)
		return w
	}
	run().succeed(flowOf(`, "post": {"output_key": "bill", "output_map": {"n": "amount"}}`),
		`{"amount": 5}`, `{"bill": {"amount": 10}, "n": 10}`)
	run().succeed(flowOf(
		`, "prep": {"input_map": {"amount": "$params.a[1]"}}, "post": {"output_key": "bill"}`),
		`{"a": [1, 7]}`, `{"bill": {"amount": 14}}`)
	w := run()
	w.fail(flowOf(`, "max_retries": 1`), `{"amount": -5}`, "n", "the amount is negative")
	require.Equal(t, []string{"n 1 error  the amount is negative",
		"n 2 error  the amount is negative"}, w.rows())
	wait := workflow.New("bill", func(ctx workflow.Context, _ order) (order, error) {
		return order{}, workflow.Sleep(ctx, time.Hour)
	})
	w = newWorld(t)
	w.Register(wait)
	w.At(time.Minute, func() { workflowtest.Cancel(w.Env, "") })
	_, err := w.run(flowOf(""), `{}`)
	require.ErrorIs(t, err, workflow.ErrCancelled)
	require.Equal(t, time.Minute, w.Elapsed())
}

// A flow can run another flow, and a Go workflow can run a flow with types of its own.
func TestFlowAsChild(t *testing.T) {
	w := newWorld(t)
	w.Register(flow.MustWorkflow("inner",
		[]byte(one(`"service": "sum", "prep": {"input_key": "$params.list"}, "post": {"output_key": "total"}`))))
	w.succeed(one(`"kind": "subflow", "workflow": "inner", "post": {"output_map": {"t": "total"}}`),
		`{"list": [1, 2]}`, `{"t": 3}`)

	type params struct {
		List []int `json:"list"`
	}
	type result struct {
		Total int `json:"total"`
	}
	outer := workflow.New("outer", func(ctx workflow.Context, in params) (int, error) {
		out, err := workflow.ExecuteChild(ctx, workflow.Declare[params, result]("inner"), in)
		return out.Total, err
	})
	w = newWorld(t)
	w.Register(flow.MustWorkflow("inner",
		[]byte(one(`"service": "sum", "prep": {"input_key": "$params.list"}, "post": {"output_key": "total"}`))))
	total, err := workflowtest.Run(w.Env, outer, params{[]int{4, 5}})
	require.NoError(t, err)
	require.Equal(t, 9, total)
}
