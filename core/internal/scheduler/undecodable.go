package scheduler

import "fmt"

// Undecodable says that a signal does not fit the type that workflow code takes it as. It fails the
// activation, never the run: the signal stays in the inbox, and the run continues under fixed code.
type Undecodable struct {
	Unit, Signal, ID string
	Cause            error
}

func (e *Undecodable) Error() string {
	return fmt.Sprintf("unit %s cannot decode signal %q (id %q): %v. The signal is kept: deploy code with a type that fits it, "+
		"or reset the run without the signals since a record (reprise reset --exclude-signals)",
		unitName(e.Unit), e.Signal, e.ID, e.Cause)
}

// Unwrap gives what the signal does not fit.
func (e *Undecodable) Unwrap() error { return e.Cause }

// Undecodable fails the activation for a signal that does not fit its type. In logs of a behavior
// version below 2 it does nothing: the code gets the error.
func (u *Unit) Undecodable(signal *Message, cause error) {
	if !u.run.Since(2) {
		return
	}
	u.run.fail(&Undecodable{Unit: u.name, Signal: signal.Name, ID: signal.ID, Cause: cause})
	u.halt()
}
