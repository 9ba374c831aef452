package workflow

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// ContinueAsNew goes on in a new generation, with an empty log and this input: for loops without end. The workflow function
// names itself, and returns what it is given:
//
//	func poll(ctx workflow.Context, cursor Cursor) (Report, error) {
//		...
//		return workflow.ContinueAsNew(ctx, poll, cursor.Next())
//	}
//
// The function is not called here: it makes sure that the input is of the workflow's type. Handlers and
// branches that still run end first, and messages that come meanwhile are still handled; signals that no code has taken go along. [Info] says when it is due; a log has no limit of its own.
func ContinueAsNew[I, O any](ctx Context, _ func(Context, I) (O, error), input I) (O, error) {
	var none O
	u := ctx.enter("ContinueAsNew")
	if !u.IsRoot() {
		return none, errors.New("workflow.ContinueAsNew in a branch or a handler: only the workflow function itself can return it")
	}
	payload, err := history.Encode(input)
	if err != nil {
		return none, encoding("input of the next generation", err)
	}
	return none, &continuation{input: reflect.TypeFor[I](), next: &scheduler.ContinueAsNew{Workflow: u.Run().ID().Workflow, Input: payload}}
}

// continuation is an scheduler.ContinueAsNew that still has to be held against the workflow's type.
type continuation struct {
	input reflect.Type
	next  *scheduler.ContinueAsNew
}

func (c *continuation) Error() string { return c.next.Error() }
func (c *continuation) Unwrap() error { return c.next }

// continues checks an error of a workflow function: whoever goes on as another function may have another input.
func continues[I any](name string, err error) error {
	var c *continuation
	if want := reflect.TypeFor[I](); errors.As(err, &c) && c.input != want {
		return encoding("workflow.ContinueAsNew", fmt.Errorf("workflow %s takes %s, and was to go on with %s: pass its own function", name, want, c.input))
	}
	return err
}
