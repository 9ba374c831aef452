package flow_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
)

// S4.9: params of the node come over those of the task, and go to the worker as they are.
func TestParams(t *testing.T) {
	newWorld(t).succeed(one(`"service": "echo", "params": {"a": 1, "b": {"ref": "$shared.x"}}, "post": {"output_map": {"params": "params"}}`),
		`{"a": 0, "c": 1.50}`, `{"params": {"a": 1, "b": {"ref": "$shared.x"}, "c": 1.50}}`)
}

// S4.9 S4.23: how a call goes through the workers of a service is passed on with it.
func TestCallFields(t *testing.T) {
	w := newWorld(t)
	var got flow.Call
	w.serve("spy", func(_ int, call flow.Call) (any, error) { got = call; return nil, nil })
	w.succeed(one(`"service": "http:spy", "prep": {"input_key": "$params.x"}, "max_attempts": 3, "attempt_delay_ms": 250, "weighted_by_load": true`), `{"x": [1]}`, `{}`)
	require.Equal(t, flow.Call{Input: json.RawMessage(`[1]`), Params: json.RawMessage(`{"x":[1]}`),
		MaxAttempts: 3, AttemptDelayMS: 250, WeightedByLoad: true}, got)
}

// S4.10: where inputs come from.
func TestPrep(t *testing.T) {
	for prep, want := range map[string]string{
		`{}`:                                 `null`,
		`{"input_key": ""}`:                  `null`,
		`{"input_key": "$params.o.list[1]"}`: `"b"`,
		`{"input_key": "$params"}`:           `{"o":{"list":["a","b"]}}`,
		`{"input_key": "$shared.first.s"}`:   `"x"`,
		`{"input_key": "first.s"}`:           `"x"`,
		`{"input_key": "$shared"}`:           `{"first":{"s":"x"}}`,
		`{"input_key": "missing.s[3]"}`:      `null`,
		`{"input_key": "$input"}`:            `null`,
		`{"input_key": "first", "input_map": {"a": "$params.o.list[0]", "b": "first.s", "c": "nothing", "d": "$input.x"}}`: `{"a":"a","b":"x","c":null,"d":null}`,
	} {
		w := newWorld(t)
		w.serve("first", func(int, flow.Call) (any, error) {
			return map[string]string{"s": "x"}, nil
		})
		_, err := w.run(`{"start": "first", "nodes": {"first": {"service": "first", "post": {"output_key": "first"}}, "n": {"service": "echo", "prep": `+prep+`}}, "edges": [{"from": "first", "to": "n"}]}`,
			`{"o": {"list": ["a", "b"]}}`)
		require.NoError(t, err)
		require.Equal(t, "echo("+want+")", w.calls[1], prep)
	}
}

// S4.11 S4.12: what becomes of a result.
func TestPost(t *testing.T) {
	result := map[string]any{"action": "go", "deep": map[string]any{"action": "deeper"}, "n": 5}
	for post, want := range map[string]struct{ shared, action string }{
		`{}`:                         {`{}`, ""},
		`{"output_key": "out"}`:      {`{"out": {"action": "go", "deep": {"action": "deeper"}, "n": 5}}`, ""},
		`{"action_static": "fixed"}`: {`{}`, "fixed"},
		`{"action_key": "action"}`:   {`{}`, "go"},
		`{"action_static": "fixed", "action_key": "action"}`:             {`{}`, "fixed"},
		`{"action_key": "deep.action"}`:                                  {`{}`, "deeper"},
		`{"action_key": "n"}`:                                            {`{}`, ""},
		`{"action_key": "missing"}`:                                      {`{}`, ""},
		`{"action_static": "", "action_key": "action"}`:                  {`{}`, "go"},
		`{"output_map": {"a": "n", "b": "deep.action", "c": "missing"}}`: {`{"a": 5, "b": "deeper", "c": null}`, ""},
		`{"output_key": "a", "output_map": {"a": "n"}}`:                  {`{"a": 5}`, ""},
	} {
		w := newWorld(t)
		w.serve("give", func(int, flow.Call) (any, error) { return result, nil })
		w.succeed(one(`"service": "give", "post": `+post), `null`, want.shared)
		require.Equal(t, want.action, w.state().Action, post)
	}
}

// S4.13 S4.24 S4.26: which edge is taken, and how a flow ends.
func TestEdges(t *testing.T) {
	to := func(edges string) string {
		return `{"start": "n", "nodes": {"n": {"service": "route", "post": {"action_key": "action"}}, "b": {"kind": "timer", "post": {"action_static": "at b"}}, "c": {"kind": "timer", "post": {"action_static": "at c"}}}, "edges": [` + edges + `]}`
	}
	all := `{"from": "n", "action": "goB", "to": "b"}, {"from": "n", "to": "c"}`
	for _, c := range []struct{ edges, params, action string }{
		{all, `{}`, "at b"},
		{all, `{"action": "other"}`, "at c"},
		{all, `{"action": "default"}`, "at c"},
		{`{"from": "n", "action": "x", "to": "b"}, {"from": "b", "to": "c"}`, `{}`, "goB"},
		{`{"from": "n", "action": "goB", "to": ""}, {"from": "n", "to": "b"}, {"from": "b", "to": "c"}`, `{}`, "goB"},
	} {
		w := newWorld(t)
		_, err := w.run(to(c.edges), c.params)
		require.NoError(t, err)
		require.Equal(t, c.action, w.state().Action, "%s %s", c.edges, c.params)
	}
	newWorld(t).fail(`{"start": "n", "nodes": {"n": {"service": "fail"}}, "edges": [{"from": "n", "to": ""}]}`, `{}`, "n", "broken")
}

// S4.39 S4.40 S4.41: which action a choice has.
func TestChoice(t *testing.T) {
	cases := `"choice_cases": [{"action": "big", "expr": {"gt": ["$params.n", 10]}}, {"action": "small", "expr": {"gt": ["$params.n", 0]}}, {"action": "in", "expr": {"eq": ["$input.k", "v"]}}], `
	for _, c := range []struct{ fields, params, action, shared string }{
		{cases + `"default_action": "d"`, `{"n": 11}`, "big", `{}`},
		{cases + `"default_action": "d"`, `{"n": 5}`, "small", `{}`},
		{cases + `"default_action": "d"`, `{"n": -1}`, "d", `{}`},
		{cases + `"post": {"action_static": "s"}, "default_action": "d"`, `{"n": 0}`, "s", `{}`},
		{cases + `"post": {"action_static": "s"}`, `{"n": 1}`, "small", `{}`},
		{cases + `"prep": {"input_key": "$params.in"}, "post": {"output_key": "out"}`,
			`{"n": 0, "in": {"k": "v"}}`, "in", `{"out": {"k": "v"}}`},
		{`"prep": {"input_key": "$params.in"}, "post": {"action_key": "v"}, "default_action": "d"`,
			`{"in": "chosen"}`, "chosen", `{}`},
		{`"post": {"action_key": "v"}, "default_action": "d"`, `{}`, "d", `{}`},
		{`"post": {"action_key": "flag"}, "default_action": "d"`, `{}`, "d", `{}`},
		{`"default_action": ""`, `{}`, "", `{}`},
		{`"choice_cases": [{"expr": {"exists": "$params"}}], "default_action": "d"`, `{}`,
			"d", `{}`},
	} {
		w := newWorld(t)
		w.succeed(one(`"kind": "choice", `+c.fields), c.params, c.shared)
		require.Equal(t, c.action, w.state().Action, c.fields)
	}
	// action_key is looked for in the shared state, too.
	w := newWorld(t)
	w.set("flag", `"from a signal"`)
	w.succeed(one(`"kind": "choice", "post": {"action_key": "flag"}, "default_action": "d"`), `{}`,
		`{"flag": "from a signal"}`)
	require.Equal(t, "from a signal", w.state().Action)
}

// S4.9: a run starts with an object, or with nothing.
func TestInput(t *testing.T) {
	for _, params := range []string{``, `null`, `{}`} {
		newWorld(t).succeed(one(`"kind": "timer"`), params, `{}`)
	}
	for params, want := range map[string]string{`[1]`: "a JSON object", `"x"`: "a JSON object",
		`{"_rt": {}}`: `the key "_rt", which belongs to the engine`} {
		_, err := newWorld(t).run(one(`"kind": "timer"`), params)
		require.ErrorContains(t, err, want)
	}
}
