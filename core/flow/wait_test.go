package flow_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// S4.50: a timer waits as long as params say; what is not a number is no time.
func TestTimer(t *testing.T) {
	for delay, want := range map[string]time.Duration{
		`1500`:     1500 * time.Millisecond,
		`0.5`:      500 * time.Microsecond,
		`0`:        0,
		`-5`:       0,
		`"1500"`:   0,
		`null`:     0,
		`[1]`:      0,
		`86400000`: 24 * time.Hour,
		`1e300`:    100 * 366 * 24 * time.Hour,
	} {
		w := newWorld(t)
		w.succeed(one(`"kind": "timer", "params": {"delay_ms": `+delay+`}, "prep": {"input_key": "$params.x"}, "post": {"output_key": "out", "action_static": "go"}`), `{"x": 5}`, `{"out": 5}`)
		require.Equal(t, want, w.Elapsed(), delay)
		require.Equal(t, []string{"n 1 ok go"}, w.rows())
	}
	w := newWorld(t)
	w.At(time.Second, func() {
		require.Equal(t, w.Start.Add(3*time.Second), w.state().Due.Add(0))
		w.set("other", "1") // a signal does not end it
	})
	// from the task's params
	w.succeed(one(`"kind": "timer"`), `{"delay_ms": 3000}`, `{"other": 1}`)
	require.Equal(t, 3*time.Second, w.Elapsed())
}

const event = `"kind": "wait_event", "params": {"signal_key": "$shared.go.now", "timeout_ms": 5000}, "post": {"output_key": "got", "action_key": "signal"}`

// S4.19 S4.54 S4.55 S4.57: a signal may come before its node, and at any time after.
func TestWaitEvent(t *testing.T) {
	for _, at := range []time.Duration{-1, 0, time.Second, 4999 * time.Millisecond} {
		w := newWorld(t)
		if at < 0 {
			w.set("go", `{"now": "x"}`)
		} else {
			w.At(at, func() { w.set("go", `{"now": "x"}`) })
		}
		w.succeed(one(event), `{}`, `{"go": {"now": "x"}, "got": "x"}`)
		require.Equal(t, max(at, 0), w.Elapsed())
		require.Equal(t, "x", w.state().Action)
	}
	for value, waits := range map[string]bool{`null`: true, `""`: true, `false`: true, `0`: false,
		`true`: false, `"no"`: false, `[]`: false, `{}`: false} {
		w := newWorld(t)
		w.At(time.Second, func() { w.set("go", `{"now": `+value+`}`) })
		_, err := w.run(one(event), `{}`)
		require.Equal(t, waits, err != nil, value)
	}
	w := newWorld(t)
	w.fail(one(event), `{}`, "n", "timeout")
	require.Equal(t, 5*time.Second, w.Elapsed())
	require.Equal(t, []string{"n 1 error  timeout"}, w.rows())
	newWorld(t).fail(one(`"kind": "wait_event"`), `{}`, "n", "must be a reference")
	newWorld(t).fail(one(`"kind": "wait_event"`), `{"signal_key": "name"}`, "n",
		"must be a reference")
	newWorld(t).succeed(
		one(`"kind": "wait_event", "failure_strategy": "continue", "post": {"output_key": "got"}`), `{"signal_key": "$shared.x", "timeout_ms": 10}`, `{"got": null}`)
}

// S4.54: with retries, a node waits again.
func TestWaitEventAgain(t *testing.T) {
	again := one(`"kind": "wait_event", "params": {"signal_key": "$shared.go", "timeout_ms": 5000}, "failure_strategy": "retry", "max_retries": 2`)
	w := newWorld(t)
	w.At(12*time.Second, func() { w.set("go", `1`) })
	w.succeed(again, `{}`, `{"go": 1}`)
	require.Equal(t, []string{"n 1 error  timeout", "n 2 error  timeout", "n 3 ok"}, w.rows())
	w = newWorld(t)
	w.fail(again, `{}`, "n", "timeout")
	require.Equal(t, 15*time.Second, w.Elapsed())
}

// S4.56: an approval decides by a boolean or a string.
func TestApproval(t *testing.T) {
	for _, c := range []struct{ post, value, action string }{
		{``, `true`, "approved"},
		{``, `false`, "rejected"},
		{``, `"later"`, "later"},
		{`"action_key": "approval"`, `true`, "approved"},
		{`"action_key": "approval"`, `false`, "rejected"},
		{`"action_key": "approval.verdict"`, `{"verdict": "escalate"}`, "escalate"},
		{`"action_key": "approval.verdict"`, `{"verdict": false}`, "rejected"},
		{`"action_static": "next"`, `false`, "rejected"},
		{`"action_static": "next"`, `{"by": "ann"}`, "next"},
		{``, `7`, ""},
	} {
		w := newWorld(t)
		w.At(time.Second, func() { w.set("a", `""`) })
		w.At(2*time.Second, func() { w.set("a", `null`) })
		w.At(3*time.Second, func() { w.set("a", c.value) })
		definition := `"kind": "approval", "params": {"approval_key": "$shared.a"}`
		if c.post != "" {
			definition += `, "post": {` + c.post + `}`
		}
		w.succeed(one(definition), `{}`, `{"a": `+c.value+`}`)
		require.Equal(t, 3*time.Second, w.Elapsed(), c.value)
		require.Equal(t, c.action, w.state().Action, "%s %s", c.post, c.value)
	}
	// What was not decided in time does not continue as if it were approved.
	newWorld(t).fail(`{"start": "n", "nodes": {"n": {"kind": "approval", "params": {"approval_key": "$shared.a", "timeout_ms": 1000}, "post": {"action_static": "approved"}}, "pay": {"service": "sum"}}, "edges": [{"from": "n", "action": "approved", "to": "pay"}]}`, `{}`, "n", "timeout")
}

// S4.19: messages that do not fit have no effect, and do not block the run.
func TestMessages(t *testing.T) {
	w := newWorld(t)
	anything := workflow.NewSignal[json.RawMessage]("set")
	for i, text := range []string{`3`, `{"key": 5}`, `{"key": ""}`, `{"key": "_rt", "value": {}}`,
		`null`, `{"value": 1}`, `"x"`} {
		w.At(time.Duration(i)*time.Millisecond, func() {
			workflowtest.Signal(w.Env, anything, json.RawMessage(text))
		})
	}
	var refused, taken *workflowtest.Outcome[workflow.None]
	w.At(time.Second, func() {
		refused = workflowtest.Update(w.Env, flow.SetNow,
			flow.Message{Key: "_rt", Value: json.RawMessage("1")})
		require.False(t, refused.Accepted())
		taken = workflowtest.Update(w.Env, flow.SetNow,
			flow.Message{Key: "seen", Value: json.RawMessage(`[1,{"a":2}]`)})
		require.True(t, taken.Done())
		require.JSONEq(t, `[1,{"a":2}]`, string(w.state().Shared["seen"]),
			"once it is answered, it is visible")
		w.set("go", "true")
	})
	w.succeed(one(`"kind": "wait_event", "params": {"signal_key": "$shared.go"}`), `{}`,
		`{"seen": [1, {"a": 2}], "go": true}`)
}

// S4.19: a signal that came before a node began is seen by it, whatever its kind.
func TestSignalBeforeANode(t *testing.T) {
	w := newWorld(t)
	w.At(500*time.Millisecond, func() { w.set("n", "20") })
	w.succeed(`{"start": "a", "nodes": {"a": {"service": "echo"}, "c": {"kind": "choice", "choice_cases": [{"action": "yes", "expr": {"gt": ["$shared.n", 10]}}]}}, "edges": [{"from": "a", "to": "c"}]}`, `{}`, `{"n": 20}`)
	require.Equal(t, "yes", w.state().Action)
}

// The published state shows where a run is. Large values are left out with their size.
func TestState(t *testing.T) {
	w := newWorld(t)
	w.set("large", `"`+strings.Repeat("x", 2000)+`"`)
	w.set("small", `[1, 2]`)
	checked := false
	w.At(2*time.Second, func() {
		checked = true
		s := w.state()
		require.Equal(t, "wait", s.Node)
		require.Equal(t, []string{"sub"}, s.Path)
		require.Equal(t, flow.WaitEvent, s.Kind)
		require.Equal(t, "$shared.go", s.WaitsFor)
		require.Equal(t, w.Start.Add(time.Minute+time.Second), s.Due)
		require.Equal(t, 3, s.Steps)
		require.JSONEq(t, `[1, 2]`, string(s.Shared["small"]))
		require.NotContains(t, s.Shared, "large")
		require.Greater(t, s.Omitted["large"], 500)
		whole, err := workflowtest.Query(w.Env, flow.StateQuery, workflow.None{})
		require.NoError(t, err)
		require.Contains(t, whole.Shared, "large")
		w.set("go", `1`)
	})
	_, err := w.run(`{"start": "a", "nodes": {"a": {"service": "echo"}, "sub": {"kind": "subflow", "subflow": {"start": "wait", "nodes": {"wait": {"kind": "wait_event", "params": {"signal_key": "$shared.go", "timeout_ms": 60000}}}}}}, "edges": [{"from": "a", "to": "sub"}]}`, `{}`)
	require.NoError(t, err)
	require.True(t, checked)
	ended := w.state()
	require.Equal(t, flow.State{Shared: ended.Shared, Omitted: ended.Omitted, Steps: 3,
		Changed: ended.Changed}, ended)
}

// While a foreach runs, a query counts its calls.
func TestProgressOfCalls(t *testing.T) {
	w := newWorld(t)
	w.At(2500*time.Millisecond, func() {
		s, err := workflowtest.Query(w.Env, flow.StateQuery, workflow.None{})
		require.NoError(t, err)
		require.Equal(t, &flow.Calls{Total: 4, Ended: 2, Failed: 1}, s.Calls)
	})
	_, err := w.run(one(
		`"kind": "foreach", "service": "picky", "prep": {"input_key": "$params.list"}, "failure_strategy": "ignore_errors"`), `{"list": [1, "bad", 3, 4]}`)
	require.NoError(t, err)
}
