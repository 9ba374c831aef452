package flow

import (
	"encoding/json"

	"github.com/reprise-run/reprise/core/flow/expr"
	"github.com/reprise-run/reprise/core/workflow"
)

// waitEvent waits for a signal to write a value (S4.54). null, "" and false do not count (S4.55).
func (v *visit) waitEvent() (outcome, error) {
	signal, failure, err := v.signal("signal_key", func(value json.RawMessage) bool {
		return !isNull(value) && string(value) != `""` && string(value) != "false"
	})
	if err != nil {
		return outcome{}, err
	}
	if failure != nil && v.node.Strategy == IgnoreErrors {
		failure = nil
	}
	if failure == nil {
		failure = v.output(orNull(signal), wrap("signal", signal))
	}
	return v.end(signal, v.action(wrap("signal", signal)), failure)
}

// signal waits until the value that a param refers to is there. If that takes too long, it waits
// again as often as max_retries says.
func (v *visit) signal(
	param string, there func(json.RawMessage) bool,
) (value json.RawMessage, failure *NodeFailure, err error) {
	reference, is, wrong := expr.ParseReference(text(v.params[param]))
	if wrong != nil {
		return nil, failed("%s: %v", param, wrong), nil
	}
	if !is {
		return nil, failed("%s must be a reference such as \"$shared.approved\"", param), nil
	}
	v.waitsFor = text(v.params[param])
	now, limit := v.frame.Now, milliseconds(v.params["timeout_ms"])
	if now.Due.IsZero() && limit > 0 {
		now.Due = now.Entered.Add(limit)
	}
	v.publish(v.ctx)
	looked, found := -1, false
	for {
		inTime, err := v.await(func() bool {
			if looked != v.writes { // a look may cost much, and only a message changes what it sees
				looked, value = v.writes, v.outward(reference)
				found = there(value)
			}
			return found
		})
		if err != nil || inTime {
			return value, nil, err
		}
		if now.Retries >= v.node.MaxRetries {
			return nil, failed("timeout"), nil
		}
		now.Retries++
		row := v.row(v.ctx, RowError, now.Retries)
		row.Error = "timeout"
		v.note(row)
		now.Entered = workflow.Now(v.ctx)
		now.Due = now.Entered.Add(v.node.Wait + limit)
		v.publish(v.ctx)
	}
}

// outward gives the value of a reference. A key of the shared state that the node's flow does not
// have is looked for in the flows around it, since signals write to the outermost one.
func (v *visit) outward(reference expr.Reference) json.RawMessage {
	value := json.RawMessage(reference.In(v.values))
	for f := v.frame.up; f != nil && reference.Root == expr.Shared && isNull(value); f = f.up {
		value = reference.Path.Of(f.Shared)
	}
	return value
}
