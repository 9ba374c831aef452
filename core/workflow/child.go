package workflow

import (
	"fmt"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// ChildOptions of a call of a child run.
type ChildOptions struct {
	// ID of the child's run; empty: made of the parent's id and the number of the call. An id that
	// is in use fails the child.
	ID string
	// ParentClosePolicy says what becomes of the child when its parent closes before it. Zero: it
	// is asked to cancel.
	ParentClosePolicy ParentClosePolicy
	// Definition is the version of the published definition that the child runs, from 1. A draft
	// and a retired version run, too. A version that is not published blocks the child until it is.
	// Zero or [LatestDefinition]: the program's own code, if it has the workflow, else the highest
	// published version.
	Definition int
}

// ParentClosePolicy says what becomes of a child when its parent closes before it.
type ParentClosePolicy int

const (
	CancelChild    ParentClosePolicy = iota // it is asked to cancel, and may clean up
	TerminateChild                          // it ends at once
	AbandonChild                            // it goes on
)

// With gives the same workflow with these options for its runs as a child.
func (w *Workflow[I, O]) With(options ChildOptions) *Workflow[I, O] {
	v := *w
	v.options = options
	return &v
}

// ExecuteChild starts a run of another workflow and waits for its end. If the scope is cancelled
// meanwhile, the child is asked to cancel, and its end awaited; if it gave in, the error is the
// scope's, as with [Execute].
func ExecuteChild[I, O any](ctx Context, child *Workflow[I, O], input I) (O, error) {
	return startChild(ctx.enter("ExecuteChild"), ctx, child, input).Await(ctx)
}

// StartChild starts a run of another workflow and does not wait.
func StartChild[I, O any](ctx Context, child *Workflow[I, O], input I) Future[O] {
	return startChild(ctx.enter("StartChild"), ctx, child, input)
}

func startChild[I, O any](
	u *scheduler.Unit, ctx Context, child *Workflow[I, O], input I,
) Future[O] {
	payload, err := history.Encode(input)
	if err != nil {
		return failedFuture[O](encoding("input of workflow "+child.name, err))
	}
	if c := child.options.ParentClosePolicy; c < CancelChild || c > AbandonChild {
		return failedFuture[O](invalid("workflow.StartChild of "+child.name,
			fmt.Sprintf("ParentClosePolicy is %d: use workflow.CancelChild, TerminateChild or AbandonChild", c)))
	}
	version, err := versionOf("StartChild of "+child.name, child.options.Definition)
	if err != nil {
		return failedFuture[O](err)
	}
	policy := [...]history.ParentClosePolicy{history.CancelChildren, history.TerminateChildren, history.AbandonChildren}[child.options.ParentClosePolicy]
	return operation[O](u, ctx.scope, &history.StartChild{Run: child.options.ID,
		Workflow: child.name, Input: payload, Definition: max(0,
			version), ParentClosePolicy: policy})
}
