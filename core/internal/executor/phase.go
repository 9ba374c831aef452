package executor

import (
	"errors"
	"runtime/debug"
)

// BeginPhase and EndPhase keep phases from standing inside each other (S1: nesting fails the activation).
func (u *Unit) BeginPhase() {
	u.effects("Phase.Run")
	if u.run.inPhase {
		u.run.fail(errors.New("a phase was run inside another one: run it after the other has ended, or in a child run"))
		u.halt()
	}
	u.run.inPhase = true
}

// EndPhase ends it.
func (u *Unit) EndPhase() { u.run.inPhase = false }

// CompleteIfPanicking completes the update with the failure of work that panicked; deferred by work that a phase's handler
// left running, whose own unit is not the one that the message was dispatched to.
func (m *Message) CompleteIfPanicking(u *Unit) {
	if p := recover(); p != nil {
		if _, violation := p.(*Violation); violation {
			panic(p)
		}
		m.Complete(u, nil, PanicFailure(p, debug.Stack()))
	}
}
