package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// S4.42 S4.45: the services of a parallel, and its results in order.
func TestParallel(t *testing.T) {
	newWorld(t).succeed(one(`"kind": "parallel", "parallel_services": ["transform", "echo", "transform"], "params": {"mul": 3}, "prep": {"input_key": "$params.x"}, "post": {"output_map": {"last": "result[2]", "all": "result"}, "action_key": "result[1].params.word"}`),
		`{"x": 2, "word": "go"}`, `{"all": [6, {"input": 2, "params": {"mul": 3, "word": "go", "x": 2}}, 6], "last": 6}`)
	services := one(`"kind": "parallel", "prep": {"input_key": "$params.x"}, "post": {"output_key": "out"}`)
	newWorld(t).succeed(services, `{"x": 2, "services": ["transform", "transform"]}`,
		`{"out": [2, 2]}`)
	newWorld(t).succeed(services, `{"x": 2}`, `{"out": []}`)
	newWorld(t).succeed(services, `{"x": 2, "services": []}`, `{"out": []}`)
	newWorld(t).fail(services, `{"services": "transform"}`, "n", "array of strings")
	newWorld(t).fail(services, `{"services": ["transform", "go:delete-all"]}`, "n",
		"only the definition itself can name a Go activity")
	newWorld(t).fail(services, `{"services": [""]}`, "n", "1 to 95 bytes")
	newWorld(t).fail(services, `{"services": [`+repeated(`"a"`, flow.MaxCalls+1)+`]}`, "n",
		"the limit is 10000")
}

// S4.43 S4.51: modes and caps, by when calls begin. Each call takes a second.
func TestModes(t *testing.T) {
	for fields, want := range map[string]string{
		``: "0s 1s 2s 3s 4s",
		`"parallel_mode": "sequential", "max_parallel": 3`:  "0s 1s 2s 3s 4s",
		`"parallel_mode": "other"`:                          "0s 1s 2s 3s 4s",
		`"parallel_mode": "concurrent"`:                     "0s 0s 0s 0s 0s",
		`"parallel_mode": "concurrent", "max_parallel": 2`:  "0s 0s 1s 1s 2s",
		`"parallel_mode": "concurrent", "max_parallel": -1`: "0s 0s 0s 0s 0s",
	} {
		for _, kind := range []string{`"kind": "foreach", "service": "echo", "prep": {"input_key": "$params.list"}`, `"kind": "parallel", "parallel_services": ["echo", "echo", "echo", "echo", "echo"]`} {
			w := newWorld(t)
			_, err := w.run(one(strings.TrimSuffix(kind+", "+fields, ", ")),
				`{"list": [1, 2, 3, 4, 5]}`)
			require.NoError(t, err)
			require.Equal(t, want, strings.Trim(fmt.Sprint(w.at), "[]"), "%s %s", kind, fields)
		}
	}
}

// S4.44 S4.52: what failures of calls mean.
func TestStrategies(t *testing.T) {
	for _, c := range []struct{ fields, list, out, rows, failure string }{
		{`"failure_strategy": "collect_errors"`, `[1, "bad", 3]`, `[1, null, 3]`,
			"n[0] ok, n[1] error, n[2] ok, n error", "1 of 3 calls failed"},
		{``, `["bad", 2, "bad"]`, `[null, 2, null]`, "n[0] error, n[1] ok, n[2] error, n error",
			"2 of 3 calls failed, the first listed is 0: refused \"bad\""},
		{`"failure_strategy": "ignore_errors"`, `[1, "bad", 3]`, `[1, null, 3]`,
			"n[0] ok, n[1] error, n[2] ok, n ok", ""},
		{`"failure_strategy": "continue"`, `["bad"]`, `[null]`, "n[0] error, n ok", ""},
		{`"failure_strategy": "fail_fast"`, `[1, "bad", 3]`, `[1]`, "n[0] ok, n[1] error",
			"1 of 3 calls failed"},
		{`"failure_strategy": "fail_fast", "parallel_mode": "concurrent", "max_parallel": 2`,
			`[1, null, "bad", 4, 5]`, `[1, null]`, "n[0] ok, n[1] ok, n[2] error", "1 of 5 calls failed"},
		{`"failure_strategy": "fail_fast"`, `[1, 2]`, `[1, 2]`, "n[0] ok, n[1] ok, n ok", ""},
		{`"tolerated_failure_count": 1`, `[1, "bad", 3]`, `[1, null, 3]`,
			"n[0] ok, n[1] error, n[2] ok, n ok", ""},
		{`"tolerated_failure_count": 1`, `["bad", "bad", 3]`, `[null, null, 3]`,
			"n[0] error, n[1] error, n[2] ok, n error", "2 of 3"},
		{`"tolerated_failure_count": 1, "failure_strategy": "fail_fast"`, `["bad", "bad", 3]`, `[]`,
			"n[0] error, n[1] error", "2 of 3"},
		{`"tolerated_failure_percentage": 50`, `["bad", 2, 3, "bad"]`, `[null, 2, 3, null]`,
			"n[0] error, n[1] ok, n[2] ok, n[3] error, n ok", ""},
		{`"tolerated_failure_percentage": 50`, `["bad", 2, "bad"]`, `[null, 2, null]`,
			"n[0] error, n[1] ok, n[2] error, n error", "2 of 3"},
		{`"tolerated_failure_percentage": 90, "tolerated_failure_count": 1`, `["bad", 2, "bad"]`,
			`[null, 2, null]`, "n[0] error, n[1] ok, n[2] error, n error", "2 of 3"},
	} {
		w := newWorld(t)
		failed := false
		definition := one(strings.TrimSuffix(
			`"kind": "foreach", "service": "picky", "prep": {"input_key": "$params.list"}, "post": {"output_key": "out"}, `+c.fields, ", "))
		if c.failure != "" {
			failed = true
			failure := w.fail(definition, `{"list": `+c.list+`}`, "n", c.failure)
			require.NotEmpty(t, failure.Errors)
		} else {
			w.succeed(definition, `{"list": `+c.list+`}`, `{"out": `+c.out+`}`)
		}
		require.JSONEq(t, c.out, string(w.state().Shared["out"]), "%v %s %s", failed,
			c.fields, c.list)
		var rows []string
		for _, row := range w.rows() {
			parts := strings.Fields(row)
			rows = append(rows, parts[0]+" "+parts[2])
		}
		require.Equal(t, c.rows, strings.Join(rows, ", "), "%s %s", c.fields, c.list)
	}
}

// S4.44: fail_fast cancels the calls that still run, and its node's own action decides what
// follows.
func TestFailFastStopsOthers(t *testing.T) {
	w := newWorld(t)
	workflowtest.Mock(w.Env, service("long"), slow)
	w.succeed(`{"start": "n", "nodes": {"n": {"kind": "parallel", "parallel_services": ["fail", "long", "sum"], "parallel_mode": "concurrent", "failure_strategy": "fail_fast", "prep": {"input_key": "$params.x"}, "post": {"output_key": "agg", "action_static": "next"}}, "end": {"kind": "timer"}}, "edges": [{"from": "n", "action": "next", "to": "end"}]}`,
		`{"x": [1, 2]}`, `{"agg": []}`)
	require.Less(t, w.Elapsed(), 10*time.Second)
}

// S4.44: errors are a map from branch to text.
func TestErrorsByBranch(t *testing.T) {
	failure := newWorld(t).fail(
		one(`"kind": "parallel", "parallel_services": ["fail", "sum", "fail"], "prep": {"input_key": "$params.x"}`), `{"x": [1]}`, "n", "2 of 3")
	require.Equal(t, map[string]string{"fail": "broken", "fail#2": "broken"}, failure.Errors)
	many := newWorld(t).fail(
		one(`"kind": "foreach", "service": "fail", "parallel_mode": "concurrent", "prep": {"input_key": "$params.x"}`), `{"x": [`+repeated("1", 150)+`]}`, "n", "150 of 150")
	require.Len(t, many.Errors, 100)
	require.Equal(t, 50, many.More)
}

// S4.53: what is not an array counts as an empty one.
func TestForeachWithoutItems(t *testing.T) {
	for _, list := range []string{`[]`, `null`, `"text"`, `{"a": 1}`, `5`} {
		w := newWorld(t)
		w.succeed(one(`"kind": "foreach", "service": "fail", "prep": {"input_key": "$params.list"}, "post": {"output_key": "out", "action_static": "go"}`), `{"list": `+list+`}`, `{"out": []}`)
		require.Equal(t, []string{"n 1 ok go"}, w.rows())
	}
	newWorld(t).succeed(one(`"kind": "foreach", "service": "fail", "post": {"output_key": "out"}`),
		`{}`, `{"out": []}`)
}

// S4.22: a retry waits, and its attempts are rows of their own.
func TestRetries(t *testing.T) {
	w := newWorld(t)
	w.succeed(one(`"service": "flaky", "max_retries": 5, "wait_ms": 2500, "prep": {"input_key": "$params.x"}, "post": {"output_key": "out", "action_static": "go"}`), `{"x": 7}`, `{"out": 7}`)
	require.Equal(t, []string{"n 1 error  broken 1", "n 2 error  broken 2", "n 3 ok go"}, w.rows())
	require.Equal(t, "[0s 3.5s 7s]", fmt.Sprint(w.at))
	w = newWorld(t)
	w.fail(one(`"service": "flaky", "max_retries": 1`), `{}`, "n", "broken 2")
	require.Len(t, w.calls, 2)
}

// S4.45: results are in the order of the calls, whichever ends first.
func TestResultsInOrder(t *testing.T) {
	w := newWorld(t)
	for name, takes := range map[string]time.Duration{"tortoise": time.Hour, "hare": time.Second} {
		workflowtest.Mock(w.Env, service(name),
			func(ctx context.Context, _ flow.Call) (flow.Answer, error) {
				err := workflowtest.Sleep(ctx, takes)
				return flow.Answer{Result: json.RawMessage(`"` + name + `"`)}, err
			})
	}
	w.succeed(one(`"kind": "parallel", "parallel_services": ["tortoise", "hare"], "parallel_mode": "concurrent",
		"call_timeout_ms": 7200000, "post": {"output_key": "out"}`), `{}`, `{"out": ["tortoise", "hare"]}`)
}
