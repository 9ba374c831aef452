package flow

import (
	"encoding/json"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// subflow runs a flow inside this one, or a child run (S4.48). Its result goes to output_key.
func (v *visit) subflow() (outcome, error) {
	for {
		result, failure, err := v.inside()
		if err != nil {
			return outcome{}, err
		}
		if failure == nil {
			return v.endSubflow(result)
		}
		if v.frame.Now.Retries >= v.node.MaxRetries || failure.cause != nil {
			return v.failSubflow(result, failure)
		}
		v.frame.Now.Retries++
		v.frame.Now.Sub = nil
		if v.node.Wait == 0 {
			workflow.Yield(v.ctx)
		} else if err := workflow.Sleep(v.ctx, v.node.Wait); err != nil {
			return outcome{}, err
		}
	}
}

func (v *visit) endSubflow(result json.RawMessage) (outcome, error) {
	v.frame.Now.Sub = nil
	if failure := v.output(orNull(result), result); failure != nil {
		return outcome{failure: failure}, nil
	}
	return outcome{action: v.action(result)}, nil
}

// failSubflow ends a subflow that failed. Its own action decides which edge is taken.
func (v *visit) failSubflow(result json.RawMessage, failure *NodeFailure) (outcome, error) {
	if v.node.Strategy == IgnoreErrors {
		return v.endSubflow(nil)
	}
	v.frame.Now.Sub = nil
	return outcome{v.action(result), failure}, nil
}

// inside runs the subflow once. The result of one that failed is its shared state so far.
func (v *visit) inside() (json.RawMessage, *NodeFailure, error) {
	now := v.frame.Now
	if v.node.Workflow != "" {
		return v.child()
	}
	if now.Sub == nil {
		now.Sub = newFrame(v.node.Subflow, v.frame)
		now.Sub.Input = now.Input
	}
	failure, err := v.flow(v.ctx, v.node.Subflow, now.Sub, v.params)
	if err != nil {
		return nil, nil, err
	}
	v.run.node = v.node
	return now.Sub.Shared.JSON(), failure, nil
}

// child runs a workflow as a child run. Its input is what prep selects, else the params.
func (v *visit) child() (json.RawMessage, *NodeFailure, error) {
	input := v.frame.Now.Input
	if v.node.Prep.Key == nil && len(v.node.Prep.Map) == 0 {
		input = v.paramsJSON()
	}
	row := v.row(v.ctx, RowOK, 1+v.frame.Now.Retries)
	row.Started = workflow.Now(v.ctx)
	child := workflow.Declare[history.Payload, history.Payload](v.node.Workflow).
		With(workflow.ChildOptions{Definition: v.node.Definition})
	result, err := workflow.ExecuteChild(v.ctx, child, history.Payload(input))
	if err := v.ctx.Err(); err != nil {
		return nil, nil, err
	}
	row.Finished = workflow.Now(v.ctx)
	v.pace.waited(max(row.Finished.Sub(row.Started), pauseOf))
	if err == nil {
		row.Result = json.RawMessage(result)
		v.note(row)
		return json.RawMessage(result), nil, nil
	}
	row.Status, row.Error = RowError, reason(err)
	v.note(row)
	return nil, &NodeFailure{Error: reason(err), cause: circle(err)}, nil
}
