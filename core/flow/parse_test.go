package flow_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
)

// one is a flow of one node with these fields.
func one(fields string) string { return `{"start": "n", "nodes": {"n": {` + fields + `}}}` }

// exec is a flow of one executor with more fields.
func exec(fields string) string { return one(`"service": "sum", ` + fields) }

// edges is a flow of two executors with these edges.
func edges(list string) string {
	return `{"start": "a", "nodes": {"a": {"service": "sum"}, "b": {"service": "sum"}}, "edges": [{"from": "a", "to": "b"}` + list + `]}`
}

// when is a flow of one choice with this expression.
func when(e string) string {
	return one(`"kind": "choice", "choice_cases": [{"action": "x", "expr": ` + e + `}]`)
}

// malformed are definitions that publishing refuses, with a place and a part of the message. schema
// says whether the JSON Schema refuses the definition, too.
var malformed = []struct {
	definition, pointer, message string
	schema                       bool
}{
	// Not JSON, or not only one object.
	{``, "", "not JSON", true},
	{`{`, "", "line 1, column 2", true},
	{"{\n  \"start\": a}", "", "line 2, column 12", true},
	{`{"start": "a",}`, "", "not JSON", true},
	{exec(`"name": "x"`) + ` {}`, "", "not JSON", true},
	{exec(`"name": "x"`) + `]`, "", "not JSON", true},
	{"\xff" + exec(`"name": "x"`), "", "not UTF-8", true},
	{strings.Replace(exec(`"name": "x"`), "x", "\xc3(", 1), "", "line 1, column", true},
	{`null`, "", "got null", true},
	{`[]`, "", "a flow is an object", true},
	{`"flow"`, "", `got the string "flow"`, true},
	{`3`, "", "got the number 3", true},
	{strings.Repeat("[", 300) + strings.Repeat("]", 300), "", "200 levels", true},
	{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "", "not JSON", true},

	// The flow.
	{`{}`, "/nodes", `needs "nodes"`, true},
	{`{"start": "n"}`, "/nodes", "got nothing", true},
	{`{"start": "n", "nodes": {}}`, "/nodes", "at least one", true},
	{`{"start": "n", "nodes": []}`, "/nodes", "got an array", true},
	{`{"nodes": {"n": {"service": "sum"}}}`, "/start", `needs "start"`, true},
	{`{"start": "", "nodes": {"n": {"service": "sum"}}}`, "/start", `needs "start"`, true},
	{`{"start": 1, "nodes": {"n": {"service": "sum"}}}`, "/start", "must be a string", true},
	{`{"start": "nn", "nodes": {"n": {"service": "sum"}}}`, "/start", `did you mean "n"?`, false},
	{`{"Start": "n", "nodes": {"n": {"service": "sum"}}}`, "/Start", `did you mean "start"?`, true},
	{`{"start": "n", "nodes": {"n": {"service": "sum"}}, "edge": []}`, "/edge",
		`did you mean "edges"?`, true},
	{`{"start": "n", "nodes": {"n": {"service": "sum"}}, "edges": {}}`, "/edges",
		"array of edges", true},
	{`{"start": "n", "start": "n", "nodes": {"n": {"service": "sum"}}}`, "/start",
		"stands here twice", false},
	{`{"start": "n", "nodes": {"n": {"service": "sum"}, "n": {"service": "x"}}}`, "/nodes/n",
		"stands here twice", false},
	{`{"start": "n", "nodes": {"n": {"service": "sum"}}, "name": 3}`, "/name",
		"must be a string", true},
	{`{"start": "n", "nodes": {"n": {"service": "sum"}, "": {"service": "sum"}}}`, "/nodes/",
		"1 to 100 bytes", true},
	{`{"start": "n", "nodes": {"n": {"service": "sum"}, "` + strings.Repeat("x", 101) +
		`": {"service": "sum"}}}`, "/nodes/xxx", "1 to 100 bytes", true},

	// Edges.
	{edges(`, {"from": "b", "to": "c"}`), "/edges/1/to", `leads to "c"`, false},
	{edges(`, {"from": "c", "to": "b"}`), "/edges/1/from", `leaves "c"`, false},
	{edges(`, {"to": "b"}`), "/edges/1/from", `needs "from"`, true},
	{edges(`, {"from": "a", "action": "default", "to": ""}`), "/edges/1",
		`another edge leaves "a" with action "default" for "b"`, false},
	{edges(`, 7`), "/edges/1", "an edge is an object", true},
	{edges(`, {"from": "b", "to": 1}`), "/edges/1/to", "must be a string", true},
	{edges(`, {"from": "b", "action": {}, "to": "a"}`), "/edges/1/action", "got an object", true},
	{edges(`, {"from": "b", "too": "a"}`), "/edges/1/too", `did you mean "to"?`, true},
	{`{"start": "a", "nodes": {"a": {"service": "sum"}, "b/c~d": {"service": "sum"}}}`,
		"/nodes/b~1c~0d", "no edge leads to this node", false},
	{`{"start": "a", "nodes": {"a": {"service": "sum"}, "b": {"service": "sum"}, "c": {"service": "sum"}}, "edges": [{"from": "b", "to": "c"}, {"from": "c", "to": "b"}]}`, "/nodes/c", "no edge leads", false},

	// Kinds and fields.
	{one(`"kind": "excutor", "service": "sum"`), "/nodes/n/kind", `did you mean "executor"?`, true},
	{one(`"kind": "Choice"`), "/nodes/n/kind", `did you mean "choice"?`, true},
	{one(`"kind": 3`), "/nodes/n/kind", "must be a string", true},
	{one(`"kind": "waitevent"`), "/nodes/n/kind", `did you mean "wait_event"?`, true},
	{`{"start": "n", "nodes": {"n": "sum"}}`, "/nodes/n", "a node is an object", true},
	{exec(`"retries": 3`), "/nodes/n/retries", "no field \"retries\"", true},
	{exec(`"max_retrys": 3`), "/nodes/n/max_retrys", `did you mean "max_retries"?`, true},
	{exec(`"choice_cases": [1]`), "/nodes/n/choice_cases", "only choice", true},
	{exec(`"subflow": {"start": "a"}`), "/nodes/n/subflow", "only subflow", true},
	{one(`"kind": "timer", "service": "sum"`), "/nodes/n/service", "only executor, foreach", true},
	{one(`"kind": "choice", "max_retries": 1`), "/nodes/n/max_retries", "no field", true},
	{one(`"kind": "approval", "failure_strategy": "fail_fast"`), "/nodes/n/failure_strategy",
		"no field", true},
	{one(`"kind": "executor"`), "/nodes/n", `needs "service"`, true},
	{one(`"kind": "foreach"`), "/nodes/n", `needs "service"`, true},
	{one(`"service": null`), "/nodes/n", `needs "service"`, true},
	{one(`"service": 5`), "/nodes/n/service", "must be a string", true},
	{one(`"service": "` + strings.Repeat("s", 96) + `"`), "/nodes/n/service",
		"1 to 95 bytes", false},
	{one(`"service": "go:"`), "/nodes/n/service", "this one has 0", false},
	{one(`"service": "lambda:x"`), "/nodes/n/service", "not available yet", true},

	{one(`"service": "a\u0000b"`), "/nodes/n/service", "control characters", true},
	{one(`"service": "go:\ud800"`), "/nodes/n/service", "control characters", false},
	{one(`"kind": "subflow", "workflow": "a\nb"`), "/nodes/n/workflow",
		"control characters", false},
	{`{"start": "a\tb", "nodes": {"a\tb": {"service": "sum"}}}`, "/nodes/a",
		"control characters", true},

	// Fields of later forms.
	{exec(`"exec_type": "local_func"`), "/nodes/n/exec_type", `"service": "go:NAME"`, true},
	{exec(`"exec_type": "script"`), "/nodes/n/exec_type", "let a worker serve", true},
	{exec(`"exec_type": "queue"`), "/nodes/n/exec_type", "remove it", true},
	{exec(`"func": "double"`), "/nodes/n/func", `"go:NAME"`, true},
	{exec(`"script": {"cmd": "ls"}`), "/nodes/n/script", "let a worker serve", true},
	{one(`"kind": "parallel", "parallel_execs": [{"service": "a"}]`), "/nodes/n/parallel_execs",
		"parallel_services", true},
	{one(`"kind": "foreach", "service": "a", "foreach_execs": [{}]`), "/nodes/n/foreach_execs",
		`one "service"`, true},
	{one(`"kind": "subflow", "workflow": "w", "subflow_execs": [{}]`), "/nodes/n/subflow_execs",
		"Go workflow", true},

	// Numbers.
	{exec(`"max_retries": -1`), "/nodes/n/max_retries", "from 0 to 1000", true},
	{exec(`"max_retries": 1001`), "/nodes/n/max_retries", "got the number 1001", true},
	{exec(`"max_retries": 1.5`), "/nodes/n/max_retries", "whole number", true},
	{exec(`"max_retries": "3"`), "/nodes/n/max_retries", `got the string "3"`, true},
	{exec(`"wait_ms": 1e400`), "/nodes/n/wait_ms", "got the number 1e400", true},
	{exec(`"wait_ms": 99999999999999999999`), "/nodes/n/wait_ms", "from 0 to 31622400000", true},
	{exec(`"call_timeout_ms": -5`), "/nodes/n/call_timeout_ms", "from 0", true},
	{exec(`"weighted_by_load": "yes"`), "/nodes/n/weighted_by_load", "true or false", true},
	{one(`"kind": "parallel", "max_parallel": 1e12`), "/nodes/n/max_parallel", "number from", true},
	{one(`"kind": "foreach", "service": "a", "tolerated_failure_percentage": 101`),
		"/nodes/n/tolerated_failure_percentage", "from 0 to 100", true},
	{one(`"kind": "foreach", "service": "a", "tolerated_failure_count": 10001`),
		"/nodes/n/tolerated_failure_count", "from 0", true},

	// Params, prep, post.
	{exec(`"params": []`), "/nodes/n/params", "must be an object", true},
	{exec(`"params": {"a": 1, "a": 2}`), "/nodes/n/params/a", "twice", false},
	{exec(`"prep": "x"`), "/nodes/n/prep", "must be an object", true},
	{exec(`"prep": {"input": "x"}`), "/nodes/n/prep/input", `no field "input"`, true},
	{exec(`"prep": {"input_key": "$param.x"}`), "/nodes/n/prep/input_key",
		`did you mean "$params"?`, true},
	{exec(`"prep": {"input_key": "a..b"}`), "/nodes/n/prep/input_key", "empty name", false},
	{exec(`"prep": {"input_map": {"a": "$shared.x[y]"}}`), "/nodes/n/prep/input_map/a",
		"whole number in brackets", false},
	{exec(`"prep": {"input_map": {"a": ""}}`), "/nodes/n/prep/input_map/a", "write $shared", true},
	{exec(`"prep": {"input_map": ["a"]}`), "/nodes/n/prep/input_map", "must be an object", true},
	{exec(`"post": {"output_key": "_rt"}`), "/nodes/n/post/output_key",
		"belongs to the engine", true},
	{exec(`"post": {"output_key": "$shared.x"}`), "/nodes/n/post/output_key", `write "x"`, true},
	{exec(`"post": {"output_map": {"$x": "y"}}`), "/nodes/n/post/output_map/$x", `write "x"`, true},
	{exec(`"post": {"output_map": {"x": "y."}}`), "/nodes/n/post/output_map/x",
		"empty name", false},
	{exec(`"post": {"output_map": {"": "y"}}`), "/nodes/n/post/output_map/", "key is empty", true},
	{exec(`"post": {"action_key": "[a]"}`), "/nodes/n/post/action_key", "path", false},
	{exec(`"post": {"action_static": 1}`), "/nodes/n/post/action_static", "must be a string", true},
	{exec(`"post": {"output_key": "` + strings.Repeat("k", 201) + `"}`), "/nodes/n/post/output_key",
		"at most 200 bytes", true},

	// Choices.
	{one(`"kind": "choice", "choice_cases": {}`), "/nodes/n/choice_cases", "array of cases", true},
	{one(`"kind": "choice", "choice_cases": ["x"]`), "/nodes/n/choice_cases/0",
		"a case is an object", true},
	{one(`"kind": "choice", "choice_cases": [{"action": "a"}]`), "/nodes/n/choice_cases/0",
		`no "expr"`, true},
	{when(`{"equal": [1, 1]}`), "/nodes/n/choice_cases/0/expr/equal", "no operator", true},
	{when(`{"exist": "$params.x"}`), "/nodes/n/choice_cases/0/expr/exist", `did you mean "exists"?`,
		true},
	{when(`{"eq": [1, 1], "ne": [1, 2]}`), "/nodes/n/choice_cases/0/expr",
		"exactly one operator", true},
	{when(`{"eq": [1]}`), "/nodes/n/choice_cases/0/expr/eq", "two operands", true},
	{when(`{"and": {"eq": [1, 1]}}`), "/nodes/n/choice_cases/0/expr/and",
		"array of expressions", true},
	{when(`true`), "/nodes/n/choice_cases/0/expr", "got a boolean", true},
	{when(`null`), "/nodes/n/choice_cases/0/expr", "got null", true},
	{when(`{"not": {"or": [{"eq": ["$shared.a..b", 1]}]}}`),
		"/nodes/n/choice_cases/0/expr/not/or/0/eq/0", "empty name", false},
	{when(strings.Repeat(`{"not":`, 60) + "1" + strings.Repeat("}", 60)),
		"/nodes/n/choice_cases/0/expr/not/not", "at most 1000 operators", false},
	{when(`{"exists": "$input["}`), "/nodes/n/choice_cases/0/expr/exists",
		"whole number in brackets", false},
	{when(`{"in": ["a", "b", "c"]}`), "/nodes/n/choice_cases/0/expr/in",
		"[value, collection]", true},

	// Parallel, foreach, subflow, waiting nodes.
	{one(`"kind": "parallel", "parallel_services": "sum"`), "/nodes/n/parallel_services",
		"array of strings", true},
	{one(`"kind": "parallel", "parallel_services": ["sum", 1]`), "/nodes/n/parallel_services/1",
		"must be a string", true},
	{one(`"kind": "parallel", "parallel_services": ["sum", ""]`), "/nodes/n/parallel_services/1",
		"1 to 95 bytes", true},
	{one(`"kind": "parallel", "params": {"services": "sum"}`), "/nodes/n/params/services",
		"array of strings", false},
	{one(`"kind": "parallel", "parallel_services": [` + repeated(`"a"`, 10_001) + `]`),
		"/nodes/n/parallel_services", "at most 10000 services", true},
	{one(`"kind": "parallel", "failure_strategy": "failfast"`), "/nodes/n/failure_strategy",
		`did you mean "fail_fast"?`, true},
	{one(`"kind": "parallel", "failure_strategy": "retry", "max_retries": 2`),
		"/nodes/n/failure_strategy", "repeats each call that failed", true},
	{one(`"kind": "wait_event", "failure_strategy": "retry"`), "/nodes/n/failure_strategy",
		`needs "max_retries"`, false},
	{one(`"kind": "foreach", "service": "a", "failure_strategy": "ignore_errors", "tolerated_failure_count": 3`), "/nodes/n/failure_strategy", "tolerates every failure", false},
	{one(`"kind": "subflow"`), "/nodes/n", `either "subflow"`, false},
	{one(`"kind": "subflow", "workflow": "w", "subflow": {"start": "a", "nodes": {"a": {"service": "s"}}}`), "/nodes/n", `either "subflow"`, false},
	{one(`"kind": "subflow", "subflow": "x"`), "/nodes/n/subflow", "a flow is an object", true},
	{one(`"kind": "subflow", "subflow": {"start": "a", "nodes": {"a": {"kind": "subflow", "subflow": {"start": "b", "nodes": {"c": {"service": "s"}}}}}}`), "/nodes/n/subflow/nodes/a/subflow/start", `starts at "b"`, false},
	{one(`"kind": "subflow", "subflow": {"start": "a", "nodes": {"a": {"kind": "exec"}}}`),
		"/nodes/n/subflow/nodes/a/kind", "no kind", true},
	{one(`"kind": "wait_event", "params": {"signal_key": "approved"}`),
		"/nodes/n/params/signal_key", "which would not wait", true},
	{one(`"kind": "wait_event", "params": {"signal_key": "$share.x"}`),
		"/nodes/n/params/signal_key", `did you mean "$shared"?`, true},
	{one(`"kind": "approval", "params": {"approval_key": 3}`), "/nodes/n/params/approval_key",
		"needs a reference", true},
	{one(`"kind": "approval", "params": {"approval_key": "$shared..x"}`),
		"/nodes/n/params/approval_key", "path", false},
	{one(`"kind": "subflow", "workflow": "` + strings.Repeat("w", 101) + `"`), "/nodes/n/workflow",
		"at most 100 bytes", true},
	{one(`"kind": "subflow", "workflow": "w", "definition": "2"`), "/nodes/n/definition",
		"number", true},
	{one(`"kind": "subflow", "workflow": "w", "definition": -1`), "/nodes/n/definition",
		"number from 0", true},
	{one(`"kind": "timer", "definition": 1`), "/nodes/n/definition", `no field "definition"`, true},
	{one(`"kind": "subflow", "definition": 1, "subflow": {"start": "a", "nodes": {"a": {"service": "s"}}}`),
		"/nodes/n/definition", "that of \"workflow\"", false},
}

// wellFormed are definitions that publishing must accept.
var wellFormed = []string{
	allKinds, exec(`"post": {"action_static": ""}`), edges(`, {"from": "b", "action": "x", "to": ""}, {"from": "b", "action": "x"}`), exec(`"kind": "remote", "exec_type": "http"`), exec(`"kind": null, "post": null, "prep": null, "params": null`),
	`{"start": "choice", "nodes": {"choice": {"kind": "choice", "default_action": "timer"}, "timer": {"kind": "timer"}}, "edges": [{"from": "choice", "action": "timer", "to": "timer"}]}`,
	exec(`"post": {"action_static": "nowhere", "action_key": "a.b[0]"}`), one(`"service": "nobody-offers-this"`), one(`"service": "go:charge"`), one(`"service": "img:resize"`), exec(`"choice_key": "x"`), exec(`"x-color": "red", "description": "adds"`),
	exec(`"func": "", "script": {"cmd": "", "args": null, "env": {}}, "parallel_execs": null, "subflow": null, "choice_cases": [], "max_parallel": 0, "failure_strategy": "", "parallel_services": null, "default_action": ""`),
	one(`"kind": "parallel"`), one(`"kind": "parallel", "parallel_services": ["a", "a"], "parallel_mode": "whatever", "max_parallel": -1, "failure_strategy": "continue"`), one(`"kind": "parallel", "params": {"services": ["a", "go:b"]}`),
	one(`"kind": "subflow", "workflow": "billing", "definition": 2`),
	one(`"kind": "subflow", "workflow": "billing"`), one(`"kind": "subflow", "workflow": "w", "subflow": {"start": "", "nodes": null, "edges": null}`), one(`"kind": "wait_event"`), one(`"kind": "approval", "params": {"timeout_ms": 5}`),
	one(`"kind": "wait_event", "params": {"signal_key": "$params.a"}, "failure_strategy": "retry", "max_retries": 2.0`), when(`{"and": [true, "x", {"eq": ["$nobody.x", {"a": 1}]}, []]}`), when(`{"exists": "name"}`),
	one(`"kind": "foreach", "service": "a", "prep": {"input_key": "$input"}, "tolerated_failure_percentage": 12.5, "tolerated_failure_count": 3`), `{"$schema": "https://reprise.run/schemas/flow.json", "name": "n", "x-a": 1, "start": "n", "nodes": {"n": {"service": "sum"}}, "edges": null}`,
	"\n\t" + exec(`"prep": {"input_map": {"a": "$shared", "b": "x.y[0]", "": "$params[0]"}}, "post": {"output_map": {"a": "", "b": "c[0]"}}`) + "\r\n",
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(flow.Schema))
	require.NoError(t, err)
	meta, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	require.NoError(t, err)
	require.NoError(t, meta.Validate(parsed))
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("flow.json", parsed))
	schema, err := compiler.Compile("flow.json")
	require.NoError(t, err)
	return schema
}

// bySchema says whether the schema accepts a definition.
func bySchema(schema *jsonschema.Schema, definition string) error {
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(definition))
	if err != nil {
		return err
	}
	return schema.Validate(parsed)
}

// Publishing refuses each malformed definition and names the place. The schema agrees, where a
// schema can tell.
func TestMalformed(t *testing.T) {
	require.Greater(t, len(malformed), 100)
	schema := compiled(t)
	for i, c := range malformed {
		d, err := flow.Parse([]byte(c.definition))
		require.Nil(t, d, "%d %.200s", i, c.definition)
		var problems flow.Problems
		require.True(t, errors.As(err, &problems))
		found := ""
		for _, p := range problems {
			if strings.HasPrefix(p.Pointer, c.pointer) && strings.Contains(p.Message, c.message) {
				found = p.Pointer
			}
			require.Less(t, len(p.Message), 500)
		}
		require.True(t, found != "" || c.pointer == "" && strings.Contains(err.Error(), c.message),
			"%d %.200s\n%v", i, c.definition, err)
		// encoding/json replaces such bytes
		if !strings.Contains(c.definition, "\xff") && !strings.Contains(c.definition, "\xc3") &&
			!strings.HasPrefix(c.definition, "[[") {
			require.Equal(t, c.schema, bySchema(schema, c.definition) != nil, "%d %.200s\n%v", i,
				c.definition, bySchema(schema, c.definition))
		}
	}
}

// WIRE-004 lists definitions that publishing must accept. The schema accepts them, too.
func TestWellFormed(t *testing.T) {
	schema := compiled(t)
	for _, definition := range wellFormed {
		_, err := flow.Parse([]byte(definition))
		require.NoError(t, err, definition)
		require.NoError(t, bySchema(schema, definition), definition)
	}
}

// S4.9 S4.13: all mistakes at once, each with its place.
func TestAllProblemsAtOnce(t *testing.T) {
	_, err := flow.Parse([]byte(`{"start": "chek", "nodes": {
		"check": {"kind": "choise", "service": 3},
		"pay": {"kind": "executor", "max_retries": -1, "post": {"output_key": "$out"}},
		"fan": {"kind": "parallel", "failure_strategy": "fail", "workflow": "x"}
	}, "edges": [{"from": "check", "to": "pai"}, {"from": "fan"}]}`))
	var problems flow.Problems
	require.ErrorAs(t, err, &problems)
	var places []string
	for _, p := range problems {
		places = append(places, p.Pointer)
	}
	require.Equal(t, []string{"/nodes/check/kind", "/nodes/pay/max_retries",
		"/nodes/pay/post/output_key", "/nodes/pay", "/nodes/fan/failure_strategy", "/nodes/fan/workflow", "/start", "/edges/0/to"}, places)
	require.Contains(t, err.Error(), "the flow is not valid, it has 8 problems:\n  "+
		"/nodes/check/kind: there is no kind \"choise\"")
	require.Contains(t, err.Error(), `did you mean "check"?`)
	require.Contains(t, err.Error(), `did you mean "pay"?`)
}

// chain is a flow of so many nodes, one after the other.
func chain(nodes int) string {
	var b strings.Builder
	b.WriteString(`{"start": "node-0", "nodes": {`)
	for i := range nodes {
		fmt.Fprintf(&b, `%s"node-%d": {"kind": "executor", "service": "transform", "prep": {"input_key": "$params.x"}, "post": {"output_key": "k%d", "action_static": "go"}, "max_retries": 3}`, comma(i), i, i)
	}
	b.WriteString(`}, "edges": [`)
	for i := range nodes - 1 {
		fmt.Fprintf(&b, `%s{"from": "node-%d", "action": "go", "to": "node-%d"}`, comma(i), i, i+1)
	}
	return b.String() + `]}`
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ",\n"
}

// allocated is how many bytes a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A definition of 10,000 nodes is handled in memory in proportion to its size; hostile ones are
// refused with as little.
func TestLargeDefinitions(t *testing.T) {
	small := chain(1000)
	large := chain(flow.MaxNodes)
	first := allocated(func() { _, _ = flow.Parse([]byte(small)) })
	var err error
	second := allocated(func() { _, err = flow.Parse([]byte(large)) })
	require.NoError(t, err)
	require.Less(t, second, 15*first, "linear")
	wrongEdges := strings.ReplaceAll(large, `"to": "node-`, `"to": "nod-`)
	wrongKinds := strings.ReplaceAll(large, `"executor"`, `"exekutor"`)
	deep := strings.Repeat(`{"start": "a", "nodes": {"a": {"kind": "subflow", "subflow": `, 40) +
		`1` + strings.Repeat(`}}}`, 40)
	for name, hostile := range map[string]string{
		"too many nodes":  chain(flow.MaxNodes + 1),
		"too many values": exec(`"params": {"a": [` + repeated("0", flow.MaxValues) + `]}`),
		"too large":       exec(`"name": "` + strings.Repeat("x", flow.MaxSource) + `"`),
		"wrong edges":     wrongEdges,
		"wrong kinds":     wrongKinds,
		"deep subflows":   deep,
		"deep values": exec(`"params": ` + strings.Repeat(`{"a":`, 9000) + `1` +
			strings.Repeat("}", 9000)),
		"long path": exec(`"prep": {"input_key": "` + strings.Repeat("a.", 500_000) + `a"}`),
		"many cases": one(`"kind": "choice", "choice_cases": [` +
			repeated(`{"expr": {"x": 1}}`, 50_000) + `]`),
		"wide expression": when(`{"and": [` + repeated(`{"eq": [1, 1]}`, 30_000) + `]}`),
		"many members":    exec(`"params": {` + repeated(`"a": 1`, 200_000) + `}`),
		"many services": one(`"kind": "parallel", "parallel_services": [` +
			repeated(`""`, 200_000) + `]`),
	} {
		bytes := allocated(func() { _, err = flow.Parse([]byte(hostile)) })
		require.Error(t, err, name)
		require.Less(t, len(err.Error()), 100_000, name)
		require.Less(t, bytes, 20*second, name)
	}
}

// FuzzParse: Parse ends for every text, and what it accepts, the schema accepts.
func FuzzParse(f *testing.F) {
	for _, c := range malformed {
		if len(c.definition) < 2000 {
			f.Add([]byte(c.definition))
		}
	}
	for _, definition := range wellFormed {
		f.Add([]byte(definition))
	}
	var schema *jsonschema.Schema
	f.Fuzz(func(t *testing.T, source []byte) {
		if schema == nil {
			schema = compiled(t)
		}
		d, err := flow.Parse(source)
		if err != nil {
			require.Nil(t, d)
			var problems flow.Problems
			require.ErrorAs(t, err, &problems)
			require.NotEmpty(t, problems)
			return
		}
		require.NoError(t, bySchema(schema, string(source)))
		require.NotNil(t, d.Node(d.Start))
		require.NotNil(t, d.Workflow("fuzzed"))
		for _, n := range d.Nodes {
			to, found := d.Next(n.Key, "an action")
			require.True(t, !found || to == "" || d.Node(to) != nil)
		}
	})
}
