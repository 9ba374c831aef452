package workflow

import (
	"errors"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/executor"
)

// ContinueAsNew makes the error that a workflow function returns to go on in a new generation, with an empty log and this
// input: for loops without end. Handlers and branches under way are waited for; signals that nobody has taken go along.
// [Info] says when it is due; a log has no limit of its own.
func ContinueAsNew(ctx Context, input any) error {
	u := ctx.enter("ContinueAsNew")
	if !u.IsRoot() {
		return errors.New("workflow.ContinueAsNew in a branch or a handler: only the workflow function itself can return it")
	}
	payload, err := history.Encode(input)
	if err != nil {
		return encoding("input of the next generation", err)
	}
	return &executor.ContinueAsNew{Workflow: u.Run().ID().Workflow, Input: payload}
}
