package flow_test

import (
	"context"
	"flag"
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

var recording = flag.Bool("record", false, "write recorded logs that are missing")

// record keeps a log, unless it was recorded before.
func record(t *testing.T, file string, log []byte) {
	t.Helper()
	if _, err := os.Stat(file); err == nil || !*recording {
		return
	}
	require.NoError(t, os.WriteFile(file, log, 0o644))
}

func mustFlow(definition string) *workflow.Workflow[history.Payload, history.Payload] {
	return flow.MustWorkflow("test-flow", []byte(definition))
}

func repeated(text string, times int) string {
	return strings.TrimSuffix(strings.Repeat(text+",", times), ",")
}

// slow is a service that answers after an hour.
func slow(ctx context.Context, call flow.Call) (flow.Answer, error) {
	err := workflowtest.Sleep(ctx, time.Hour)
	return flow.Answer{Result: call.Input}, err
}

// allKinds is a flow with a node of each kind.
const allKinds = `{
  "start": "choice",
  "nodes": {
    "choice": {"kind": "choice", "choice_cases": [{"action": "go", "expr": {"exists": "$params.list"}}]},
    "executor": {"kind": "executor", "service": "sum", "prep": {"input_key": "$params.list"}, "post": {"output_key": "total", "action_static": "go"}},
    "parallel": {"kind": "parallel", "parallel_services": ["transform", "transform"], "parallel_mode": "concurrent", "prep": {"input_key": "total"}, "post": {"output_key": "both", "action_static": "go"}},
    "foreach": {"kind": "foreach", "service": "transform", "params": {"mul": 10}, "prep": {"input_key": "$params.list"}, "post": {"output_key": "each", "action_static": "go"}},
    "subflow": {"kind": "subflow", "prep": {"input_key": "each"}, "subflow": {"start": "inner", "nodes": {"inner": {"service": "sum", "prep": {"input_key": "$input"}, "post": {"output_key": "s"}}}}, "post": {"output_key": "sub", "action_static": "go"}},
    "timer": {"kind": "timer", "params": {"delay_ms": 250}, "post": {"action_static": "go"}},
    "wait": {"kind": "wait_event", "params": {"signal_key": "$shared.go", "timeout_ms": 60000}, "post": {"action_static": "go"}},
    "approval": {"kind": "approval", "params": {"approval_key": "$shared.go"}}
  },
  "edges": [
    {"from": "choice", "action": "go", "to": "executor"}, {"from": "executor", "action": "go", "to": "parallel"},
    {"from": "parallel", "action": "go", "to": "foreach"}, {"from": "foreach", "action": "go", "to": "subflow"},
    {"from": "subflow", "action": "go", "to": "timer"}, {"from": "timer", "action": "go", "to": "wait"},
    {"from": "wait", "action": "go", "to": "approval"}
  ]
}`
