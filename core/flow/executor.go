package flow

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// executor calls a service (S4.8).
func (v *visit) executor() (outcome, error) {
	result, failure, err := v.call(v.ctx, v.node.Service, v.frame.Now.Input, "")
	if err != nil {
		return outcome{}, err
	}
	if failure == "" {
		if unfit := v.output(result, result); unfit != nil {
			return outcome{failure: unfit}, nil
		}
		action := v.action(result)
		v.Rows[len(v.Rows)-1].Action = action
		return outcome{action: action}, nil
	}
	return outcome{failure: &NodeFailure{Error: failure}}, nil
}

// Call is the input of the activity http:SERVICE. A call of go:NAME has the input alone.
type Call struct {
	Input  json.RawMessage `json:"input"`
	Params json.RawMessage `json:"params"`
	// How the call goes through the workers that offer the service.
	MaxAttempts    int   `json:"max_attempts,omitempty"`     // after errors; 0: each worker once
	AttemptDelayMS int64 `json:"attempt_delay_ms,omitempty"` // between them
	WeightedByLoad bool  `json:"weighted_by_load,omitempty"` // the worker with the least load first
	TimeoutMS      int64 `json:"timeout_ms,omitempty"`       // of one request; 0: 10 s
}

// Answer is the result of the activity http:SERVICE. A failed activity counts like an error.
type Answer struct {
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error,omitempty"`
	// Tries are the workers that were asked, for people: the flow does not read them.
	Tries []Try `json:"tries,omitempty"`
}

// Try is one request to one worker.
type Try struct {
	WorkerID  string    `json:"worker_id"`
	WorkerURL string    `json:"worker_url"`
	Error     string    `json:"error,omitempty"`
	Started   time.Time `json:"started"`
	Finished  time.Time `json:"finished"`
}

// call calls a service until it succeeds, or its retries are used up (S4.22). The failure is the
// text of the last error. The error is the scope's.
func (v *visit) call(
	ctx workflow.Context, service string, input json.RawMessage, branch string,
) (result json.RawMessage, failure string, err error) {
	for attempt := 1; ; attempt++ {
		row := v.row(ctx, RowOK, attempt)
		row.Branch, row.Started = branch, workflow.Now(ctx)
		row.Call = CallID(row.Path, row.Node, v.frame.Step, branch, attempt)
		result, failure, final := v.attempt(ctx, row.Call, service, input)
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		row.Finished = workflow.Now(ctx)
		v.pace.waited(max(row.Finished.Sub(row.Started), pauseOf)) // a call has a task queue's pace
		if failure != "" {
			row.Status, row.Error = RowError, failure
		}
		v.note(row)
		if failure == "" || final || attempt > v.node.MaxRetries {
			return result, failure, nil
		}
		if err := workflow.Sleep(ctx, v.node.Wait); err != nil {
			return nil, "", err
		}
	}
}

// requestsInTime is for how many requests that take all their time a call of a worker has time: if
// one worker does not answer, another one still can.
const requestsInTime = 2

// attempt calls a service once. final says that another attempt would not help.
func (v *visit) attempt(
	ctx workflow.Context, id, service string, input json.RawMessage,
) (result json.RawMessage, failure string, final bool) {
	if problem := invalidService(service); problem != "" {
		return nil, problem, true
	}
	name := Activity(service)
	options := activity.Options{ID: id, StartToClose: v.node.CallTimeout, OnCancel: activity.Try,
		Retry: activity.Retry{MaxAttempts: 1}}
	called := activity.Declare[history.Payload, history.Payload](name)
	if strings.HasPrefix(service, Go) {
		answer, err := workflow.Execute(ctx, called.With(options), history.Payload(input))
		if err != nil {
			return nil, reason(err), history.FailureOf(err).NonRetryable
		}
		return json.RawMessage(answer), "", false
	}
	options.StartToClose *= requestsInTime
	answer, err := workflow.Execute(ctx, called.With(options), history.Payload(encode(Call{
		Input: orNull(input), Params: v.paramsJSON(), MaxAttempts: v.node.MaxAttempts,
		AttemptDelayMS: v.node.AttemptDelay.Milliseconds(),
		WeightedByLoad: v.node.WeightedByLoad, TimeoutMS: v.node.CallTimeout.Milliseconds()})))
	if err != nil {
		return nil, reason(err), history.FailureOf(err).NonRetryable
	}
	decoded, err := decode[Answer](orNull(json.RawMessage(answer)))
	switch {
	case err != nil:
		return nil, name + " must give an object with \"result\" or \"error\"", true
	case decoded.Error != "":
		return nil, shorten(decoded.Error), false
	}
	return decoded.Result, "", false
}

// orNull is a value, or null if there is none.
func orNull(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}
