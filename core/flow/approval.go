package flow

import (
	"encoding/json"
)

// The actions of an approval.
const (
	approved = "approved"
	rejected = "rejected"
	// timedOut is the action of an approval that was not decided in time. Neither action_static nor
	// the value decides then: a flow without an approval must not continue as if it had one.
	timedOut = "timeout"
)

// approval waits for a decision (S4.56). null and "" are none; false is one.
func (v *visit) approval() (outcome, error) {
	decision, failure, err := v.signal("approval_key", func(value json.RawMessage) bool {
		return !isNull(value) && string(value) != `""`
	})
	if err != nil {
		return outcome{}, err
	}
	if failure != nil {
		return v.end(nil, timedOut, failure)
	}
	if failure := v.output(decision, wrap("approval", decision)); failure != nil {
		return v.end(nil, "", failure)
	}
	return v.end(decision, v.decided(decision), nil)
}

// decided is the action that a decision means. action_static counts if it means none.
func (v *visit) decided(decision json.RawMessage) string {
	if v.node.Post.ActionKey != "" {
		decision = v.node.Post.action.In(wrap("approval", decision))
	}
	switch string(decision) {
	case "true":
		return approved
	case "false":
		return rejected
	}
	if action := text(decision); action != "" {
		return action
	}
	return v.node.Post.ActionStatic
}
