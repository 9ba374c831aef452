package scheduler

import "errors"

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
