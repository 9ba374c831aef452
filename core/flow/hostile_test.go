package flow_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
)

// Flows that never wait are paused, and end.
func TestCircles(t *testing.T) {
	for name, definition := range map[string]string{
		"choice":          `{"start": "a", "nodes": {"a": {"kind": "choice", "default_action": "x"}, "b": {"kind": "choice"}}, "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]}`,
		"timer of zero":   `{"start": "a", "nodes": {"a": {"kind": "timer"}}, "edges": [{"from": "a", "to": "a"}]}`,
		"failures":        `{"start": "a", "nodes": {"a": {"kind": "wait_event"}}, "edges": [{"from": "a", "to": "a"}]}`,
		"no items":        `{"start": "a", "nodes": {"a": {"kind": "foreach", "service": "x"}}, "edges": [{"from": "a", "to": "a"}]}`,
		"inside a flow":   `{"start": "a", "nodes": {"a": {"kind": "subflow", "max_retries": 1000, "failure_strategy": "ignore_errors", "subflow": {"start": "b", "nodes": {"b": {"kind": "choice"}}, "edges": [{"from": "b", "to": "b"}]}}}, "edges": [{"from": "a", "to": "a"}]}`,
		"retries":         `{"start": "a", "nodes": {"a": {"kind": "subflow", "max_retries": 1000, "subflow": {"start": "b", "nodes": {"b": {"kind": "wait_event"}}}}}, "edges": [{"from": "a", "to": "a"}]}`,
		"large values":    `{"start": "a", "nodes": {"a": {"kind": "choice", "prep": {"input_map": {"x": "$params.big", "y": "$shared.v.y"}}, "post": {"output_key": "v"}}}, "edges": [{"from": "a", "to": "a"}]}`,
		"large reference": `{"start": "a", "nodes": {"a": {"kind": "choice", "prep": {"input_key": "$params"}}}, "edges": [{"from": "a", "to": "a"}]}`,
	} {
		w := newWorld(t)
		w.SkipReplay = true
		_, err := w.run(definition, `{"big": "`+strings.Repeat("x", 100_000)+`"}`)
		require.ErrorContains(t, err, "without waiting for anything", name)
		require.LessOrEqual(t, w.Elapsed(), 20*time.Second, name)
		require.LessOrEqual(t, w.state().Steps, 12_000, name)
	}
}

// A circle of short timers is slowed down, and does not fail.
func TestShortTimers(t *testing.T) {
	w := newWorld(t)
	w.SkipReplay = true
	w.At(5*time.Second, func() {
		require.Less(t, w.state().Steps, 2600)
		w.set("stop", "true")
	})
	_, err := w.run(`{"start": "a", "nodes": {"a": {"kind": "timer", "params": {"delay_ms": 0.01}}, "b": {"kind": "choice", "choice_cases": [{"action": "stop", "expr": {"exists": "$shared.stop"}}], "default_action": "again"}}, "edges": [{"from": "a", "to": "b"}, {"from": "b", "action": "again", "to": "a"}]}`, `{}`)
	require.NoError(t, err)
}

// A value that doubles in each step ends at the limit of the shared state.
func TestDoubling(t *testing.T) {
	w := newWorld(t)
	w.SkipReplay = true
	w.set("v", `"0123456789"`)
	failure := w.fail(`{"start": "a", "nodes": {"a": {"kind": "choice", "prep": {"input_map": {"a": "v", "b": "v"}}, "post": {"output_key": "v", "action_static": "again"}}}, "edges": [{"from": "a", "action": "again", "to": "a"}]}`, `{}`, "a", "the limit is")
	require.Contains(t, failure.Error, "store large values elsewhere")
	require.Less(t, len(w.state().Omitted), 2)
}

// The inputs of all calls together have a limit, and those that run at a time another.
func TestLargeInputs(t *testing.T) {
	fields := one(`"kind": "foreach", "service": "echo", "parallel_mode": "concurrent", "prep": {"input_key": "list"}`)
	w := newWorld(t)
	w.set("list", `[`+numbers(10_000)+`]`)
	w.fail(fields, `{"big": "`+strings.Repeat("x", 100_000)+`"}`, "n", "pass less in params")

	w = newWorld(t)
	w.SkipReplay = true
	w.serve("echo", func(int, flow.Call) (any, error) { return 1, nil })
	w.set("list", `[`+numbers(20)+`]`)
	_, err := w.run(fields, `{"big": "`+strings.Repeat("x", 1<<20)+`"}`)
	require.NoError(t, err)
	first := 0
	for _, at := range w.at {
		if at == 0 {
			first++
		}
	}
	require.Equal(t, 7, first, "8 MB of inputs at a time")
}

// Items that come from params are not repeated in each call, if they are large.
func TestItemsInParams(t *testing.T) {
	fields := one(`"kind": "foreach", "service": "echo", "prep": {"input_key": "$params.list"}, "post": {"output_map": {"first": "result[0]"}}`)
	newWorld(t).succeed(fields, `{"list": [1], "other": 2}`,
		`{"first": {"input": 1, "params": {"list": [1], "other": 2}}}`)
	newWorld(t).succeed(fields, `{"list": ["`+strings.Repeat("x", 20_000)+`"], "other": 2}`,
		`{"first": {"input": "`+strings.Repeat("x", 20_000)+`", "params": {"other": 2}}}`)
}

// A flow of 10,000 nodes runs.
func TestTenThousandNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	definition := strings.ReplaceAll(chain(flow.MaxNodes), `"service": "transform"`,
		`"service": "third"`)
	w := newWorld(t)
	w.SkipReplay = true
	quick(w, "third")
	_, err := w.run(definition, `{"x": 1}`)
	require.NoError(t, err)
	require.Equal(t, flow.MaxNodes, w.state().Steps)
	require.Greater(t, generation(t, w.Env), 1)
}

// The shared state has bounds, and what is published of it has narrower ones.
func TestManyKeys(t *testing.T) {
	w := newWorld(t)
	w.SkipReplay = true
	var outputs []string
	for i := range 2000 {
		outputs = append(outputs, fmt.Sprintf(`"key-%d": "x"`, i))
	}
	w.At(time.Second, func() {
		s := w.state()
		require.Len(t, s.Shared, 50)
		require.Len(t, s.Omitted, 20)
		require.Equal(t, 1930, s.More)
	})
	shared, err := w.run(
		`{"start": "a", "nodes": {"a": {"kind": "timer", "prep": {"input_key": "$params"}, "post": {"output_map": {`+strings.Join(outputs, ",")+`}}}, "b": {"kind": "timer", "params": {"delay_ms": 5000}}}, "edges": [{"from": "a", "to": "b"}]}`, `{"x": 1}`)
	require.NoError(t, err)
	require.Equal(t, 2000, strings.Count(shared, `"key-`))

	// One key too many fails the node. Which keys were written before does not depend on the order
	// of a map.
	w = newWorld(t)
	outputs = nil
	for i := range 20 {
		outputs = append(outputs, fmt.Sprintf(`"key-%d": "x"`, i))
	}
	large := `{"x": "` + strings.Repeat("x", 3<<20) + `"}`
	w.fail(one(`"kind": "timer", "prep": {"input_key": "$params"}, "post": {"output_map": {`+strings.Join(outputs, ",")+`}}`), large, "n", `with "key-14", the shared state would have`)
}

// Params with very many members do not make each node costly without a pause.
func TestManyParams(t *testing.T) {
	var params []string
	for i := range 100_000 {
		params = append(params, fmt.Sprintf(`"p%d": %d`, i, i))
	}
	w := newWorld(t)
	w.SkipReplay = true
	_, err := w.run(`{"start": "a", "nodes": {"a": {"kind": "choice", "params": {"own": 1}}}, "edges": [{"from": "a", "to": "a"}]}`, `{`+strings.Join(params, ",")+`}`)
	require.ErrorContains(t, err, "without waiting for anything")
	require.Less(t, w.state().Steps, 100)
}

// Results that do not fit into the shared state end the node early. What is nested too deeply for a
// payload is refused.
func TestLargeResults(t *testing.T) {
	w := newWorld(t)
	w.SkipReplay = true
	w.serve("large", func(int, flow.Call) (any, error) { return strings.Repeat("x", 5<<20), nil })
	w.fail(one(`"kind": "foreach", "service": "large", "failure_strategy": "ignore_errors", "prep": {"input_key": "$params.list"}`), `{"list": [`+numbers(50)+`]}`, "n", "store large results elsewhere")
	require.Len(t, w.calls, 4)

	w = newWorld(t)
	deep := strings.Repeat("[", 4950) + strings.Repeat("]", 4950)
	w.At(time.Second, func() {
		w.set("deep", deep) // it is logged, and has no effect
		w.set("go", "1")
	})
	w.succeed(one(`"kind": "wait_event", "params": {"signal_key": "$shared.go"}`), `{}`,
		`{"go": 1}`)
	newWorld(t).fail(one(
		`"kind": "timer", "prep": {"input_key": "$params.deep"}, "post": {"output_key": "out"}`),
		`{"deep": `+deep+`}`, "n", "nested more than 4900 levels")
}

// Very many paths into a large value end the node: each of them reads the value from its start.
func TestManyPathsIntoALargeValue(t *testing.T) {
	var inputs, outputs []string
	for i := range 500 {
		inputs = append(inputs, fmt.Sprintf(`"k%d": "$params.v[999999]"`, i))
		outputs = append(outputs, fmt.Sprintf(`"k%d": "v[999999]"`, i))
	}
	large := `{"v": [` + numbers(100_000) + `]}`
	for name, fields := range map[string]string{
		"prep": `"kind": "timer", "prep": {"input_map": {` + strings.Join(inputs, ",") + `}}`,
		"post": `"kind": "timer", "prep": {"input_key": "$params"}, "post": {"output_map": {` +
			strings.Join(outputs, ",") + `}}`,
	} {
		w := newWorld(t)
		w.SkipReplay = true
		failure := w.fail(one(fields), large, "n", "prep and post would read more than")
		require.Contains(t, failure.Error, "use fewer paths", name)
	}
}
