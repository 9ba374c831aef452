package scheduler

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// Panicked says that workflow code panicked. It fails the activation, never the run: what the
// activation would have taken stays in the inbox, and the run continues under fixed code. In a run
// that fails on panics, and in logs of behavior version 0, a panic is the error of its unit instead.
type Panicked struct {
	Unit    string
	Failure *history.Failure
}

func (e *Panicked) Error() string {
	return fmt.Sprintf("workflow code panicked in unit %s: %s\n%s", unitName(e.Unit), e.Failure.Message, e.Failure.Stack)
}

// Unwrap gives the panic's failure.
func (e *Panicked) Unwrap() error { return e.Failure }

// PanicFailure is the failure of code that panicked. The stack begins where it panicked.
func PanicFailure(value any, stack []byte) *history.Failure {
	text := string(stack)
	if _, after, found := strings.Cut(text, "\npanic("); found {
		if _, origin, found := strings.Cut(after, "\n\t"); found {
			if _, origin, found = strings.Cut(origin, "\n"); found {
				text = origin
			}
		}
	}
	if own, ok := value.(interface{ Stack() string }); ok { // of code that Go's stack says nothing of
		text = own.Stack()
	}
	message := fmt.Sprint(value)
	if err, ok := value.(error); ok {
		message = err.Error()
	}
	return &history.Failure{FailureKind: history.Panic, Type: fmt.Sprintf("%T", value), Message: message, Stack: text}
}

// FailOnPanic has a panic count as the error of the function that panicked.
func (r *Run) FailOnPanic() { r.failsOnPanic = true }

func (r *Run) blocksOnPanic() bool { return r.Since(1) && !r.failsOnPanic }

// panicked decides on a panic of a unit's code. It gives the unit's error, unless the panic fails the
// activation.
func (r *Run) panicked(u *Unit, value any) error {
	failure := PanicFailure(value, debug.Stack())
	if r.blocksOnPanic() && !u.asks {
		r.fail(&Panicked{Unit: u.name, Failure: failure})
		return nil
	}
	return failure
}

// Recovering runs a part of a unit's code. In a run that fails on panics, a panic is the part's error.
func (u *Unit) Recovering(part func() error) (err error) {
	if u.run.failsOnPanic && u.run.Since(1) {
		defer func() {
			if failure := recovered(recover()); failure != nil {
				err = failure
			}
		}()
	}
	return part()
}

// recovered gives the failure of a recovered panic; nil if there was none. A violation passes on.
func recovered(p any) *history.Failure {
	if p == nil {
		return nil
	}
	if _, violation := p.(*Violation); violation {
		panic(p)
	}
	return PanicFailure(p, debug.Stack())
}

// CompleteIfPanicking completes the update with the failure of work that panicked, where a panic does
// not fail the activation; deferred by work that a phase's handler left running, whose own unit is not
// the one that the message was dispatched to.
func (m *Message) CompleteIfPanicking(u *Unit) {
	if m.run.blocksOnPanic() {
		return
	}
	if failure := recovered(recover()); failure != nil {
		m.Complete(u, nil, failure)
	}
}
