package flow_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// kind is one node of a kind, in the forms that TestKinds tries.
type kind struct {
	name string
	// good and bad are the fields of the node "n" that succeeds, with the action "ok", and that
	// fails.
	good, bad string
	// retried is a node that fails twice, then succeeds; empty if the kind has no retries.
	retried string
	// waiting is a node that runs for an hour, unless it is canceled.
	waiting string
	// failsBy is the action of the failed node.
	failsBy string
	// rows are those of good.
	rows []string
}

var kinds = []kind{
	{ // S4.8
		name: "executor",
		good: `"service": "sum", "prep": {"input_key": "$params.list"}, "post": {"action_static": "ok", "output_key": "out"}`,
		bad:  `"service": "fail", "post": {"action_static": "ok"}`, failsBy: "default",
		retried: `"service": "flaky", "max_retries": 2, "wait_ms": 5000, "post": {"action_static": "ok"}`,
		waiting: `"service": "slow", "call_timeout_ms": 7200000`, rows: []string{"n 1 ok ok"},
	},
	{
		name:    "choice",
		good:    `"choice_cases": [{"action": "ok", "expr": {"eq": ["$params.list[0]", 1]}}], "prep": {"input_key": "$params.list"}, "post": {"output_key": "out"}`,
		bad:     `"choice_cases": [{"action": "ok", "expr": {"not": {"and": [` + costly + `]}}}]`,
		failsBy: "default",
		rows:    []string{"n 1 ok ok"},
	},
	{
		name:    "parallel",
		good:    `"parallel_services": ["sum", "sum"], "prep": {"input_key": "$params.list"}, "post": {"action_static": "ok", "output_key": "out"}`,
		bad:     `"parallel_services": ["sum", "fail"], "prep": {"input_key": "$params.list"}, "post": {"action_static": "bad", "output_key": "out"}`,
		failsBy: "bad",
		retried: `"parallel_services": ["flaky"], "max_retries": 2, "wait_ms": 5000, "post": {"action_static": "ok"}`,
		waiting: `"parallel_services": ["slow", "slow"], "call_timeout_ms": 7200000`,
		rows:    []string{"n[sum] 1 ok", "n[sum#2] 1 ok", "n 1 ok ok"},
	},
	{
		name: "subflow", good: `"subflow": {"start": "a", "nodes": {"a": {"service": "sum", "prep": {"input_key": "$params.list"}, "post": {"output_key": "m"}},
			"b": {"kind": "timer", "params": {"delay_ms": 1500}}}, "edges": [{"from": "a", "to": "b"}]}, "post": {"action_static": "ok", "output_key": "out"}`,
		bad:     `"subflow": {"start": "a", "nodes": {"a": {"service": "fail"}}}, "post": {"action_static": "bad"}`,
		failsBy: "bad",
		retried: `"subflow": {"start": "a", "nodes": {"a": {"service": "flaky"}}}, "max_retries": 2, "wait_ms": 5000, "failure_strategy": "retry", "post": {"action_static": "ok"}`,
		waiting: `"subflow": {"start": "a", "nodes": {"a": {"service": "slow", "call_timeout_ms": 7200000}}}`,
		rows:    []string{"n/a 1 ok", "n/b 1 ok"},
	},
	{
		name:    "timer",
		bad:     `"prep": {"input_key": "$params.deep"}, "post": {"action_static": "ok", "output_key": "out"}`,
		failsBy: "default",
		good:    `"params": {"delay_ms": 1500}, "prep": {"input_key": "$params.list"}, "post": {"action_static": "ok", "output_key": "out"}`,
		waiting: `"params": {"delay_ms": 3600000}`, rows: []string{"n 1 ok ok"},
	},
	{
		name:    "foreach",
		good:    `"service": "transform", "params": {"mul": 2}, "prep": {"input_key": "$params.list"}, "post": {"action_static": "ok", "output_key": "out"}`,
		bad:     `"service": "fail", "prep": {"input_key": "$params.list"}, "post": {"action_static": "bad"}`,
		failsBy: "bad",
		retried: `"service": "flaky", "prep": {"input_key": "$params.list"}, "max_retries": 2, "wait_ms": 5000, "post": {"action_static": "ok"}`,
		waiting: `"service": "slow", "prep": {"input_key": "$params.list"}, "call_timeout_ms": 7200000`,
		rows:    []string{"n[0] 1 ok", "n[1] 1 ok", "n 1 ok ok"},
	},
	{
		name:    "wait_event",
		good:    `"params": {"signal_key": "$params.list"}, "post": {"action_static": "ok", "output_key": "out"}`,
		bad:     `"params": {"signal_key": "$shared.never", "timeout_ms": 500}, "post": {"action_static": "bad"}`,
		failsBy: "bad",
		retried: `"params": {"signal_key": "$shared.late", "timeout_ms": 5000}, "max_retries": 2, "wait_ms": 1000, "failure_strategy": "retry", "post": {"action_static": "ok"}`,
		waiting: `"params": {"signal_key": "$shared.never"}`, rows: []string{"n 1 ok ok"},
	},
	{
		name:    "approval",
		good:    `"params": {"approval_key": "$params.answer"}, "post": {"output_key": "out"}`,
		bad:     `"params": {"approval_key": "$shared.never", "timeout_ms": 500}, "post": {"action_static": "ok"}`,
		failsBy: "timeout",
		waiting: `"params": {"approval_key": "$shared.never"}`, rows: []string{"n 1 ok ok"},
	},
}

// costly is an expression that reads more than a choice may, with params.big.
var costly = repeated(`{"eq": ["$params.big", "$params.big"]}`, 900)

var outs = map[string]string{
	"executor":   `3`,
	"choice":     `[1, 2]`,
	"parallel":   `[3, 3]`,
	"subflow":    `{"m": 3}`,
	"timer":      `[1, 2]`,
	"foreach":    `[2, 4]`,
	"wait_event": `[1, 2]`,
	"approval":   `"ok"`,
}

func (k kind) flow(fields, edges string) string {
	return `{"start": "n", "nodes": {"n": {"kind": "` + k.name + `", ` + fields +
		`}, "next": {"kind": "timer", "params": {"delay_ms": 1}, "post": {"action_static": "end"}}}, "edges": [` + edges + `]}`
}

// edge leads from the node to the next one. The other one makes the next node reachable, and is not
// taken.
func edge(action string) string { return `{"from": "n", "action": "` + action + `", "to": "next"}` }

// params make the bad node fail: a choice reads too much, and a timer's input is nested too deeply
// for the shared state.
func params(k kind) string {
	switch k.name {
	case "timer":
		const deep = history.MaxDepth - 50
		return `{"deep": ` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}`
	case "choice":
		return `{"list": [1, 2], "answer": "ok", "big": [` + repeated(`"0123456789"`, 50_000) + `]}`
	}
	return `{"list": [1, 2], "answer": "ok"}`
}

// outcome is one way in which a node ends: a cell of the table in tests/flows.md.
type outcome struct {
	name string
	try  func(t *testing.T, w *world)
}

// outcomes are all ways in which a node of the kind can end.
func (k kind) outcomes() (all []outcome) {
	add := func(name string, try func(t *testing.T, w *world)) {
		all = append(all, outcome{name, try})
	}
	add("success", func(t *testing.T, w *world) {
		t.Helper()
		w.succeed(k.flow(k.good, edge("ok")), `{"list": [1, 2], "answer": "ok"}`,
			`{"out": `+outs[k.name]+`}`)
		require.Equal(t, append(k.rows, "next 1 ok end"), w.rows())
		require.Equal(t, "end", w.state().Action)
		require.Empty(t, w.state().Node)
	})
	add("success without an edge", func(t *testing.T, w *world) { // S4.26
		t.Helper()
		w.succeed(k.flow(k.good, edge("other")), `{"list": [1, 2], "answer": "ok"}`,
			`{"out": `+outs[k.name]+`}`)
		require.Equal(t, "ok", w.state().Action)
	})
	failures := map[string]string{"failure with an edge": k.failsBy,
		"failure with the default edge": "default"}
	for name, action := range failures { // S4.24
		add(name, func(t *testing.T, w *world) {
			t.Helper()
			_, err := w.run(k.flow(k.bad, edge(action)), params(k))
			require.NoError(t, err)
			require.Contains(t, w.rows(), "next 1 ok end")
		})
	}
	add("failure without an edge", func(t *testing.T, w *world) { // S4.24
		t.Helper()
		node := "n"
		if k.name == "subflow" {
			node = "n/a"
		}
		w.fail(k.flow(k.bad, edge("other")), params(k), node, "")
		require.NotContains(t, w.rows(), "next 1 ok end")
		require.Empty(t, w.state().Node)
	})
	add("retry", k.retry)
	add("cancel", k.cancel)
	return all
}

// retry has a node fail twice, then succeed (S4.22). A kind without retries refuses them.
func (k kind) retry(t *testing.T, w *world) {
	t.Helper()
	if k.retried == "" {
		_, err := flow.Parse([]byte(k.flow(k.good+`, "max_retries": 1`, edge("ok"))))
		require.ErrorContains(t, err,
			"/nodes/n/max_retries: a node of kind "+k.name+` has no field "max_retries"`)
		return
	}
	w.At(16500*time.Millisecond, func() { // in the third wait of a wait_event
		if w.state().Node != "" {
			w.set("late", `"x"`)
		}
	})
	_, err := w.run(k.flow(k.retried, edge("ok")), `{"list": [1]}`)
	require.NoError(t, err)
	var failed []string // the numbers of attempts
	page := w.rows()
	for _, row := range page {
		if words := strings.Fields(row); words[2] == "error" {
			failed = append(failed, words[1])
		}
	}
	attempts := []string{"1", "2"}
	if k.name == "subflow" {
		attempts = []string{"1", "1"} // of its node, which begins again with each attempt of the subflow
	}
	require.Equal(t, attempts, failed, "%v", page)
	require.Contains(t, page, "next 1 ok end")
}

// cancel cancels a run while the node waits (S4.25). A choice does not wait: the run is canceled
// before it, and at the next node that waits.
func (k kind) cancel(t *testing.T, w *world) {
	t.Helper()
	workflowtest.Mock(w.Env, service("slow"), slow)
	definition, at, node := k.flow(k.waiting, edge("default")), time.Minute, "n"
	if k.waiting == "" {
		definition, at, node = k.flow(k.good, edge("ok")), 0, "next"
	}
	w.At(at, func() {
		if at > 0 {
			require.Equal(t, node, append(w.state().Path, w.state().Node)[0])
		}
		workflowtest.Cancel(w.Env, "enough")
	})
	_, err := w.run(definition, `{"list": [1, 2]}`)
	require.ErrorIs(t, err, workflow.ErrCancelled)
	require.ErrorContains(t, err, "enough")
	require.Less(t, w.Elapsed(), 2*time.Minute)
	rows := w.rows()
	last := rows[len(rows)-1]
	require.Contains(t, last, node)
	require.Contains(t, last, " 0 canceled canceled")
	require.Equal(t, "canceled", w.state().Action)
}

// TestKinds: every kind × success, failure with and without an edge, retry, cancel. Each case is
// replayed from each of its records: that is what a restart does.
//
// S4.6 S4.8 S4.13 S4.20 S4.21 S4.22 S4.24 S4.25 S4.26 S4.57
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		for _, o := range k.outcomes() {
			t.Run(k.name+"/"+o.name, func(t *testing.T) { o.try(t, newWorld(t)) })
		}
	}
}

// TestKindsContinued: every kind ends in the same ways when the run continues as new on its way,
// wherever that happens.
//
// S4.46 S4.47 S4.48 S4.52 S4.57
func TestKindsContinued(t *testing.T) {
	for _, k := range kinds {
		most := 0 // generations
		for _, o := range k.outcomes() {
			t.Run(k.name+"/"+o.name, func(t *testing.T) {
				if o.name == "retry" && k.retried == "" {
					return // nothing runs
				}
				for after, generations := 2, 2; generations > 1; after++ {
					w := newWorld(t)
					w.after = after
					w.disturb()
					o.try(t, w)
					generations = generation(t, w.Env)
					most = max(most, generations)
					require.Less(t, after, 100, "it never gets by with one generation")
				}
			})
		}
		require.Greater(t, most, 1, "%s never continued as new", k.name)
	}
}

// S4.25 S4.50 S4.54: what a canceled node waited for has no effect later, and the cause is in the
// error.
func TestCancelNamesTheReason(t *testing.T) {
	w := newWorld(t)
	w.At(time.Minute, func() { workflowtest.Cancel(w.Env, "not needed any more") })
	_, err := w.run(`{"start": "n", "nodes": {"n": {"kind": "approval", "params": {"approval_key": "$shared.a"}}}}`, `{}`)
	require.True(t, errors.Is(err, workflow.ErrCancelled))
	require.ErrorContains(t, err, "not needed any more")
}

// A log that was recorded replays for ever: interpreters to come decide the same.
func TestRecordedLogs(t *testing.T) {
	w := newWorld(t)
	w.At(3*time.Second, func() { w.set("go", "true") })
	_, err := w.run(allKinds, `{"list": [1, 2, 3]}`)
	require.NoError(t, err)
	f := mustFlow(allKinds)
	record(t, "testdata/logs/all-kinds.json", workflowtest.Export(w.Env))
	workflowtest.ReplayFiles(t, "testdata/logs/all-kinds.json", f)
	for seed := range uint64(25) {
		definition, log := fmt.Sprintf("testdata/logs/drawn-%d.flow.json", seed),
			fmt.Sprintf("testdata/logs/drawn-%d.json", seed)
		if *recording {
			source := []byte(drawn(rand.New(rand.NewPCG(seed, 99))))
			_, export, _ := play(t, source, []byte(`{"list": [1, 2, {"action": "go"}], "n": 5}`))
			record(t, definition, source)
			record(t, log, export)
		}
		source, err := os.ReadFile(definition)
		require.NoError(t, err)
		replayed, err := flow.Workflow("fuzzed", source)
		require.NoError(t, err)
		workflowtest.ReplayFiles(t, log, replayed)
	}
}
