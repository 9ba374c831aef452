package port

import (
	"errors"
	"fmt"
)

// Code sorts errors into few kinds, which each edge (HTTP, command line, queue handlers) maps once. Codes are part of the
// API: never renamed.
type Code string

const (
	Invalid     Code = "invalid"     // the request cannot be right: say it differently
	NotFound    Code = "not-found"   // no such run, workflow, query, token
	Conflict    Code = "conflict"    // it contradicts what is there: another input under the same id
	Closed      Code = "closed"      // the run has ended
	Expired     Code = "expired"     // the completion token was good for a time, which is over
	Rejected    Code = "rejected"    // the workflow's code refused an update, or a query failed
	Blocked     Code = "blocked"     // the run cannot advance until its cause is gone
	TooLarge    Code = "too-large"   // over a limit, which the message gives
	Unavailable Code = "unavailable" // a store or a queue did not answer: nothing was accepted, try again
	Internal    Code = "internal"    // a fault of ours
)

// Error is an error with a code and a message for people: what, where, and what to do.
type Error struct {
	Code    Code
	Message string
	cause   error
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives what caused it.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf gives an error's code; [Internal] if it has none.
func CodeOf(err error) Code {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// Errorf makes an error with a code. Its format is that of fmt.Errorf, without %w.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrapf makes an error with a code and a cause that its message does not repeat.
func Wrapf(cause error, code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// Sentinels of the ports: what an adapter returns, perhaps wrapped, so that errors.Is finds it.
var (
	// ErrTaken: the place of a record is taken, or the id of a run, or the number of a definition's
	// version. It is an answer, not a failure of the store.
	ErrTaken = errors.New("taken")
	// ErrNoRun: there is no run of this id.
	ErrNoRun = errors.New("no such run")
	// ErrUnavailable: the store or the queue did not do it, or did not say: throttled, disk full, out of reach.
	ErrUnavailable = errors.New("unavailable")
)
