package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// A flow asks for an approval of large orders, and calls a Go activity.
func ExampleMustWorkflow() {
	charge := activity.New("charge", func(_ context.Context, amount int) (string, error) {
		return fmt.Sprintf("charged %d", amount), nil
	})
	order := flow.MustWorkflow("order", []byte(`{
		"start": "size",
		"nodes": {
			"size": {"kind": "choice", "default_action": "small",
			         "choice_cases": [{"action": "large", "expr": {"gt": ["$params.amount", 1000]}}]},
			"ask":  {"kind": "approval", "params": {"approval_key": "$shared.approved"}},
			"pay":  {"kind": "executor", "service": "go:charge",
			         "prep": {"input_key": "$params.amount"}, "post": {"output_key": "receipt"}}
		},
		"edges": [
			{"from": "size", "action": "small", "to": "pay"},
			{"from": "size", "action": "large", "to": "ask"},
			{"from": "ask", "action": "approved", "to": "pay"}
		]
	}`))
	env := workflowtest.New(workflowtest.Panic)
	env.Register(charge)
	env.At(24*time.Hour, func() {
		fmt.Println("waits at", workflowtest.State[flow.State](env).Node)
		workflowtest.Signal(env, flow.Set,
			flow.Message{Key: "approved", Value: json.RawMessage("true")})
	})
	shared, err := workflowtest.Run(env, order, history.Payload(`{"amount": 5000}`))
	fmt.Println(string(shared), err, "after", env.Elapsed())
	// Output:
	// waits at ask
	// {"approved":true,"receipt":"charged 5000"} <nil> after 24h0m0s
}

// Parse reports all mistakes of a definition, each with its place.
func ExampleParse() {
	_, err := flow.Parse([]byte(`{
		"start": "chek",
		"nodes": {"check": {"kind": "choise"}},
		"edges": [{"from": "check", "to": "pay"}]
	}`))
	fmt.Println(err)
	// Output:
	// the flow is not valid, it has 3 problems:
	//   /nodes/check/kind: there is no kind "choise": use one of executor, choice, parallel, subflow, timer, foreach, wait_event, approval; did you mean "choice"?
	//   /start: the flow starts at "chek", and there is no such node; did you mean "check"?
	//   /edges/0/to: the edge leads to "pay", and there is no such node: name one, or leave "to" empty to end the flow
}
