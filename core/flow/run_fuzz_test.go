package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
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

// reached lists the services and the child workflows that a definition can call.
func reached(d *flow.Definition, params map[string]json.RawMessage) (services, children []string) {
	for _, n := range d.Nodes {
		services = append(append(services, n.Services...), n.Service)
		for _, list := range []json.RawMessage{n.Params["services"], params["services"]} {
			var named []string
			_ = json.Unmarshal(list, &named)
			services = append(services, named...)
		}
		if n.Workflow != "" {
			children = append(children, n.Workflow)
		}
		if n.Subflow != nil {
			s, c := reached(n.Subflow, params)
			services, children = append(services, s...), append(children, c...)
		}
	}
	return services, children
}

// chance decides how a call ends, by what is called with what.
func chance(parts ...any) uint32 {
	hash := fnv.New32a()
	fmt.Fprint(hash, parts...)
	return hash.Sum32()
}

// play runs a definition with services that fail now and then, and cancels it after a minute. The
// log replays.
func play(t *testing.T, source, params []byte) (shared string, export []byte, err error) {
	t.Helper()
	d, err := flow.Parse(source)
	require.NoError(t, err)
	var given map[string]json.RawMessage
	_ = json.Unmarshal(params, &given)
	services, children := reached(d, given)
	env := workflowtest.New(t)
	env.SkipReplay = true
	for _, name := range services {
		called := activity.Declare[history.Payload, history.Payload](flow.Activity(name))
		n := 0
		workflowtest.Mock(env, called,
			func(ctx context.Context, input history.Payload) (history.Payload, error) {
				n++
				if err := workflowtest.Sleep(ctx,
					time.Duration(chance(name, n)%2000)*time.Millisecond); err != nil {
					return nil, err
				}
				switch chance(name, string(input), n/3) % 8 {
				case 0:
					return nil, errors.New("failed")
				case 1:
					return history.Payload(`{"result": null, "error": "refused"}`), nil
				case 2:
					return history.Payload(`[1, 2]`), nil
				}
				return history.Payload(`{"result": {"action": "go", "n": [1, "x"]}}`), nil
			})
	}
	for _, name := range children {
		workflowtest.MockChild(env, workflow.Declare[history.Payload, history.Payload](name),
			func(_ context.Context, input history.Payload) (history.Payload, error) {
				if chance(string(input))%3 == 0 {
					return nil, errors.New("failed")
				}
				return input, nil
			})
	}
	open := func() bool { return workflowtest.State[flow.State](env).Node != "" }
	for i, message := range []string{`{"key": "a", "value": true}`,
		`{"key": "go", "value": {"now": [1]}}`, `{"key": 3}`, `{"key": "a", "value": false}`} {
		env.At(time.Duration(7*i)*time.Second, func() {
			if open() {
				workflowtest.Signal(env, workflow.NewSignal[json.RawMessage]("set"),
					json.RawMessage(message))
			}
		})
	}
	env.At(time.Minute, func() {
		if open() {
			workflowtest.Cancel(env, "")
		}
	})
	f := d.Workflow("fuzzed")
	result, err := workflowtest.Run(env, f, history.Payload(params))
	export = workflowtest.Export(env)
	workflowtest.Replay(t, export, f)
	rows, wrong := workflowtest.Query(env, flow.RowsQuery, flow.Page{})
	require.NoError(t, wrong)
	for _, row := range rows.Rows {
		require.Contains(t, []string{"ok", "error", "canceled"}, row.Status)
	}
	if kind := workflow.FailureType(err); err != nil && !errors.Is(err, workflow.ErrCancelled) {
		require.Contains(t, []string{flow.FailureType, flow.InputFailureType}, kind, "%v", err)
	}
	return string(result), export, err
}

// FuzzRun: whatever Parse accepts runs to an end, and its log replays.
func FuzzRun(f *testing.F) {
	for _, definition := range wellFormed {
		f.Add([]byte(definition), []byte(`{"list": [1, 2, "bad"], "services": ["a"], "x": 1}`))
	}
	for seed := range 30 {
		f.Add([]byte(drawn(rand.New(rand.NewPCG(uint64(seed), 1)))),
			[]byte(`{"list": [1, 2, {"action": "go"}], "n": 5, "delay_ms": 10}`))
	}
	f.Fuzz(func(t *testing.T, source, params []byte) {
		if _, err := flow.Parse(source); err != nil || !json.Valid(params) || len(params) > 10_000 {
			return
		}
		_, _, _ = play(t, source, params)
	})
}

// drawn is a valid flow, made at random: all kinds, with edges that lead anywhere.
func drawn(r *rand.Rand) string { return drawnFlow(r, 0) }

func drawnFlow(r *rand.Rand, nested int) string {
	n := 1 + r.IntN(6)
	var nodes, edges []string
	for i := range n {
		nodes = append(nodes, fmt.Sprintf(`"n%d": {%s}`, i, drawnNode(r, nested)))
		if i > 0 { // so that each can be reached
			edges = append(edges, fmt.Sprintf(`{"from": "n%d", "action": %q, "to": "n%d"}`, i-1,
				pick(r, "go", "default", "approved"), i))
		}
	}
	for range r.IntN(4) {
		edge := fmt.Sprintf(`{"from": "n%d", "action": %q, "to": %q}`, r.IntN(n),
			pick(r, "rejected", "bad", "timeout", "x"), pick(r, "", fmt.Sprintf("n%d", r.IntN(n))))
		if from, _, _ := strings.Cut(edge, `"to"`); !slices.ContainsFunc(edges,
			func(e string) bool {
				return strings.HasPrefix(e, from)
			}) {
			edges = append(edges, edge)
		}
	}
	return fmt.Sprintf(`{"start": "n0", "nodes": {%s}, "edges": [%s]}`, strings.Join(nodes, ", "),
		strings.Join(edges, ", "))
}

func pick(r *rand.Rand, choices ...string) string { return choices[r.IntN(len(choices))] }

func drawnNode(r *rand.Rand, nested int) string {
	common := fmt.Sprintf(`"prep": {"input_key": %q}, "post": {"output_key": %q, "action_static": %q, "action_key": %q}`,
		pick(r, "$params.list", "$shared", "$input", "a", "b.n[0]", "$params.n"), pick(r, "a", "b",
			"c", ""), pick(r, "go", "", "bad"),
		pick(r, "action", "result[0].action", "signal", "approval"))
	retries := pick(r, `"max_retries": 2, "wait_ms": 300, `, "")
	strategy := pick(r, `"failure_strategy": "fail_fast", `,
		`"failure_strategy": "ignore_errors", `, `"tolerated_failure_count": 1, `, `"tolerated_failure_percentage": 40, `, "") +
		pick(r, `"parallel_mode": "concurrent", "max_parallel": 2, `,
			`"parallel_mode": "concurrent", `, "")
	switch kind := r.IntN(8); {
	case kind == 0:
		return `"kind": "choice", "choice_cases": [{"action": "go", "expr": {"exists": "$shared.` +
			pick(r, "a", "b") + `"}}], "default_action": "x", ` + common
	case kind == 1:
		return `"kind": "parallel", "parallel_services": ["a", "b", "go:c"], ` + retries +
			strategy + common
	case kind == 2 && nested < 2:
		return `"kind": "subflow", "subflow": ` + drawnFlow(r, nested+1) + `, ` + retries +
			pick(r, `"failure_strategy": "ignore_errors", `, "") + common
	case kind == 2:
		return `"kind": "subflow", "workflow": "w", ` + retries + common
	case kind == 3:
		return `"kind": "timer", "params": {"delay_ms": ` + pick(r, "0", "5", "3000") +
			`}, ` + common
	case kind == 4:
		return `"kind": "foreach", "service": "` + pick(r, "a", "go:c") + `", ` + retries +
			strategy + common
	case kind == 5:
		return `"kind": "wait_event", "params": {"signal_key": "$shared.` +
			pick(r, "a", "go.now", "never") + `", "timeout_ms": 9000}, ` + retries + common
	case kind == 6:
		return `"kind": "approval", "params": {"approval_key": "$shared.` + pick(r, "a", "never") +
			`", "timeout_ms": 9000}, ` + common
	}
	return `"service": "` + pick(r, "a", "b", "go:c") + `", ` + retries + common
}

// Flows made at random run to an end, the same each time, and replay.
func TestDrawnFlows(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 60
	}
	ends := map[string]int{}
	for seed := range seeds {
		source, params := []byte(drawn(rand.New(rand.NewPCG(uint64(seed), 7)))),
			[]byte(`{"list": [1, 2, {"action": "go"}], "n": 5}`)
		shared, _, err := play(t, source, params)
		again, _, errAgain := play(t, source, params)
		require.Equal(t, shared, again, "seed %d", seed)
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(errAgain), "seed %d", seed)
		switch {
		case err == nil:
			ends["completed"]++
		case errors.Is(err, workflow.ErrCancelled):
			ends["canceled"]++
		default:
			ends["failed"]++
		}
	}
	require.Len(t, ends, 3, "some complete, some fail, some run in a circle: %v", ends)
}
