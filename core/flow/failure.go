package flow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// FailureType is the type of the failure of a run that a failed node ended.
// Its details are a [NodeFailure].
const FailureType = "flow.node"

// InputFailureType is the type of the failure of a run that was started with an input that no flow
// can have.
const InputFailureType = "flow.input"

// NodeFailure says which node failed, and how.
type NodeFailure struct {
	// Node is the key of the node. Those of the subflows around it stand before it, with slashes.
	Node string `json:"node"`
	// Error is the failure's text: of a service, as the worker gave it.
	Error string `json:"error"`
	// Errors are those of the calls of a foreach or a parallel, by index or service. Those beyond
	// the first 100 are left out, and More counts them.
	Errors map[string]string `json:"errors,omitempty"`
	More   int               `json:"more,omitempty"`

	cause *history.Failure // set if nothing but this flow's caller can help
}

const (
	longestError = 1000 // bytes of an error's text in a failure or a row
	listedErrors = 100
)

// err gives the failure as that of the run.
func (f *NodeFailure) err() error {
	return &history.Failure{FailureKind: history.Application, Type: FailureType, NonRetryable: true,
		Message: fmt.Sprintf("node %q failed: %s", f.Node, f.Error),
		Details: history.Payload(encode(f)), Cause: f.cause}
}

// inputFailure is the failure of a run that cannot begin.
func inputFailure(err error) error {
	return &history.Failure{FailureKind: history.Application, Type: InputFailureType,
		NonRetryable: true, Message: err.Error()}
}

// failed makes the failure of a node.
func failed(format string, args ...any) *NodeFailure {
	return &NodeFailure{Error: shorten(fmt.Sprintf(format, args...))}
}

// failedCalls makes the failure of a node from those of its calls.
func failedCalls(errs map[string]string, total int) *NodeFailure {
	f := &NodeFailure{Errors: map[string]string{}}
	for _, branch := range slices.Sorted(maps.Keys(errs)) {
		if len(f.Errors) == listedErrors {
			f.More++
			continue
		}
		if f.Error == "" {
			f.Error = shorten(fmt.Sprintf(
				"%d of %d calls failed, the first listed is %s: %s",
				len(errs), total, branch, errs[branch]))
		}
		f.Errors[branch] = errs[branch]
	}
	return f
}

// circle finds the failure of a child that was not started, since runs start each other in a
// circle: in a failure, or as its cause. A run that retries there would make the circle grow
// forever.
func circle(err error) *history.Failure {
	for f := history.FailureOf(err); f != nil; f = f.Cause {
		if f.Type == history.TooManyAncestors {
			return f
		}
	}
	return nil
}

// reason is the text of an error as its author wrote it.
func reason(err error) string {
	var f *history.Failure
	if !errors.As(err, &f) {
		return shorten(err.Error())
	}
	for f.Cause != nil {
		f = f.Cause
	}
	if f.FailureKind == history.Panic || f.Message == "" {
		return shorten(f.Error())
	}
	return shorten(f.Message)
}

func shorten(text string) string {
	if len(text) <= longestError {
		return text
	}
	return strings.ToValidUTF8(text[:longestError], "") + "…"
}
