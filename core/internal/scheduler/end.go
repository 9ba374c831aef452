package scheduler

import (
	"errors"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

// ContinueAsNew is what a workflow function returns as its error to go on in a new generation.
type ContinueAsNew struct {
	Workflow   string
	Input      history.Payload
	Definition int // see history.ContinueAsNew
}

func (*ContinueAsNew) Error() string {
	return "continue as new: return this error from the workflow function"
}

// end closes the run with what its root returned (S1: completion).
func (r *Run) end(result history.Payload, err error) {
	if r.terminal != nil {
		return
	}
	var next *ContinueAsNew
	var command history.Terminal
	switch {
	case err == nil:
		r.completed(&history.CompleteRun{Result: result})
		return
	case errors.As(err, &next):
		// What else is under way ends first: an accepted update is answered, no branch is cut off. A request to cancel that
		// comes while this lasts would be lost on the next generation.
		asked := r.scope.err != nil
		r.awaited = func(*Unit) bool { return true }
		r.deferred = func() {
			if r.scope.err != nil && !asked {
				r.close(&history.CancelRun{Failure: history.FailureOf(r.scope.err)})
				return
			}
			r.close(&history.ContinueAsNew{
				Workflow: next.Workflow, Input: next.Input, Definition: next.Definition,
			})
		}
		return
	case r.endsCancelled(err):
		command = &history.CancelRun{Failure: r.cancelledWith(err)}
	default:
		command = &history.FailRun{Failure: r.failure(err)}
	}
	r.close(command)
}

// endsCancelled says whether a run that ends with an error closes as canceled: every leaf of the error
// says so, or one does and the run's own scope was canceled.
func (r *Run) endsCancelled(err error) bool {
	if !errors.Is(err, history.ErrCancelled) {
		return false
	}
	return !r.Since(1) || r.scope.err != nil || onlyCancelled(err)
}

// cancelledWith is what a canceled run closes with: the reason that its caller gave, unless the error
// says more.
func (r *Run) cancelledWith(err error) *history.Failure {
	if r.Since(1) && r.scope.err != nil && onlyCancelled(err) {
		return history.FailureOf(r.scope.err)
	}
	return history.FailureOf(err)
}

// failure is what a failed run closes with. Where one of several joined errors is a cancellation, the
// failure is not.
func (r *Run) failure(err error) *history.Failure {
	failure := history.FailureOf(err)
	if failure.FailureKind != history.Cancel || !r.Since(1) {
		return failure
	}
	failed := *failure
	failed.FailureKind, failed.Cause = history.Application, firstFailure(err)
	failed.NonRetryable = failed.Cause != nil && failed.Cause.NonRetryable
	return &failed
}

// onlyCancelled says whether every leaf of an error is a cancellation.
func onlyCancelled(err error) bool {
	inner := causes(err)
	if len(inner) == 0 {
		return errors.Is(err, history.ErrCancelled)
	}
	return !slices.ContainsFunc(inner, func(err error) bool { return !onlyCancelled(err) })
}

// firstFailure finds the first failure in an error that is not a cancellation; nil if there is none.
func firstFailure(err error) *history.Failure {
	if onlyCancelled(err) {
		return nil
	}
	if failure, ok := err.(*history.Failure); ok { //nolint:errorlint // the error itself
		return failure
	}
	for _, inner := range causes(err) {
		if failure := firstFailure(inner); failure != nil {
			return failure
		}
	}
	return nil
}

// causes are the errors that an error wraps directly. A failure that says that something was canceled
// says so whatever that had met before.
func causes(err error) []error {
	switch err := err.(type) { //nolint:errorlint // the error itself
	case *history.Failure:
		if err.FailureKind == history.Cancel || err.Cause == nil {
			return nil
		}
		return []error{err.Cause}
	case interface{ Unwrap() []error }:
		return err.Unwrap()
	case interface{ Unwrap() error }:
		if inner := err.Unwrap(); inner != nil {
			return []error{inner}
		}
	}
	return nil
}

func (r *Run) close(command history.Terminal) {
	r.rejectUnanswered()
	r.emit("", command)
	r.terminal = command
}

// completed closes the run once the handlers that have begun have ended. Updates that come too late for
// that are rejected: the result is there without them. Logs of behavior version 0 complete at once.
func (r *Run) completed(command *history.CompleteRun) {
	if r.Since(1) {
		r.completing = true
		r.rejectLate()
		if slices.ContainsFunc(r.units, (*Unit).handles) {
			r.deferred, r.awaited = func() { r.close(command) }, (*Unit).handles
			return
		}
	}
	r.close(command)
}

// endDeferred ends the generation once no unit is left that its end waits for.
func (r *Run) endDeferred() {
	if r.deferred != nil && !slices.ContainsFunc(r.units, r.awaited) {
		r.deferred()
	}
}

// handles says whether the unit is a message's handler, or work that a handler left running. A branch
// is neither.
func (u *Unit) handles() bool { return !u.IsRoot() && u.path[len(u.path)-1].kind != branch }
