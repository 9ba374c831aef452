package workflow

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// LatestDefinition, as the version of a published definition, is the highest that is published when
// the generation or the child begins. If the program registers the workflow itself, it is that
// code.
const LatestDefinition = history.LatestDefinition

// ContinueOptions of [ContinueAsNewWith]. The zero value is [ContinueAsNew].
type ContinueOptions struct {
	// Definition is the version of the published definition that the next generation runs, from 1.
	// A draft and a retired version run, too. A version that is not published blocks the run until
	// it is. Zero: the version that the run has. A loop without end takes [LatestDefinition] to run
	// newer versions.
	Definition int
}

// ContinueAsNew continues the run in a new generation, with an empty log and this input: for loops
// without end. The run keeps its version of a published definition. The workflow function names
// itself, and returns what it is given:
//
//	func poll(ctx workflow.Context, cursor Cursor) (Report, error) {
//		...
//		return workflow.ContinueAsNew(ctx, poll, cursor.Next())
//	}
//
// The function is not called here: it makes sure that the input is of the workflow's type. Handlers
// and branches that still run end first, and messages that come meanwhile are still handled.
// Signals that no code has taken go along. [Info] says when it is due. The length of a log is not
// limited.
func ContinueAsNew[I, O any](
	ctx Context, _ func(Context, I) (O, error), input I,
) (none O, _ error) {
	return none, continueAsNew(ctx, "ContinueAsNew", ContinueOptions{}, input)
}

// ContinueAsNewWith is [ContinueAsNew] with options.
func ContinueAsNewWith[I, O any](
	ctx Context, options ContinueOptions, _ func(Context, I) (O, error), input I,
) (none O, _ error) {
	return none, continueAsNew(ctx, "ContinueAsNewWith", options, input)
}

func continueAsNew[I any](ctx Context, call string, options ContinueOptions, input I) error {
	u := ctx.enter(call)
	if !u.IsRoot() {
		return fmt.Errorf("workflow.%s in a branch or a handler: "+
			"only the workflow function itself can return it", call)
	}
	version, err := versionOf(call, options.Definition)
	if err != nil {
		return err
	}
	payload, err := history.Encode(input)
	if err != nil {
		return encoding("input of the next generation", err)
	}
	next := &scheduler.ContinueAsNew{
		Workflow: u.Run().ID().Workflow, Input: payload, Definition: version,
	}
	return &continuation{input: reflect.TypeFor[I](), next: next}
}

// versionOf checks the version of a definition that a call names.
func versionOf(call string, version int) (int, error) {
	if version < LatestDefinition {
		return 0, invalid("workflow."+call, fmt.Sprintf(
			"Definition is %d: use a version from 1, workflow.LatestDefinition, or 0", version))
	}
	return version, nil
}

// continuation is a scheduler.ContinueAsNew that still has to be held against the workflow's type.
type continuation struct {
	input reflect.Type
	next  *scheduler.ContinueAsNew
}

func (c *continuation) Error() string { return c.next.Error() }
func (c *continuation) Unwrap() error { return c.next }

// continues checks an error of a workflow function: another function may have another input.
func continues[I any](name string, err error) error {
	var c *continuation
	if want := reflect.TypeFor[I](); errors.As(err, &c) && c.input != want {
		return encoding("workflow.ContinueAsNew", fmt.Errorf("workflow %s takes %s, and was to go on with %s: pass its own function", name, want, c.input))
	}
	return err
}
