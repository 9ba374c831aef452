package history

import (
	"errors"
	"fmt"
	"time"
)

// FailureKind says what sort of failure it is. Kinds are stored: never renamed.
type FailureKind string

const (
	Application  FailureKind = "application"  // the author's code returned an error
	Panic        FailureKind = "panic"        // the author's code panicked; Stack is set
	Timeout      FailureKind = "timeout"      // Type says which: see the Timeout… constants
	Cancel       FailureKind = "cancelled"    // the work was cancelled
	ActivityKind FailureKind = "activity"     // an activity failed for good: Type is its name, Cause what it failed with
	ChildKind    FailureKind = "child"        // a child run failed: Type is its workflow, Cause what it failed with
	Termination  FailureKind = "terminated"   // somebody ended the run without asking its code
	Undelivered  FailureKind = "undelivered"  // the message of an activity was received too often without an answer
	Unregistered FailureKind = "unregistered" // no such activity where the task was taken
	Encoding     FailureKind = "encoding"     // a value cannot be encoded or decoded
)

// Types of a Timeout failure.
const (
	ScheduleToStart = "schedule-to-start"
	StartToClose    = "start-to-close"
	ScheduleToClose = "schedule-to-close"
	Heartbeat       = "heartbeat"
	ScopeTimeout    = "scope" // workflow.WithTimeout, and a phase's timeout
)

// Sentinels for errors.Is: a Failure of kind Cancel is ErrCancelled, one of kind Timeout is ErrTimeout, and so is every
// error that wraps it.
var (
	ErrCancelled = errors.New("cancelled")
	ErrTimeout   = errors.New("timed out")
)

// Failure is an error as it is stored. It is an error itself: author's code receives it, wraps it, asks errors.Is of it.
type Failure struct {
	FailureKind FailureKind
	// Type is the author's own name of this sort of failure, or the Go type of the error; retry policies name it.
	Type string
	// Message is the error's text.
	Message string
	// NonRetryable: another attempt would not help.
	NonRetryable bool
	// RetryAfter is how long to wait before the next attempt, instead of what the retry policy says. Zero: as it says.
	RetryAfter time.Duration
	// Details is a value that the author attached.
	Details Payload
	// Stack of a panic, as the runtime prints it.
	Stack string
	// Cause is the failure that this one wraps, if any.
	Cause *Failure
}

// Error is the message. Those of activities and children name what failed.
func (f *Failure) Error() string {
	switch f.FailureKind {
	case ActivityKind:
		return "activity " + f.Type + ": " + f.Message
	case ChildKind:
		return "child " + f.Type + ": " + f.Message
	case Panic:
		return "panic: " + f.Message
	}
	return f.Message
}

// Is makes errors.Is(err, ErrCancelled) and errors.Is(err, ErrTimeout) work.
func (f *Failure) Is(target error) bool {
	return target == ErrCancelled && f.FailureKind == Cancel || target == ErrTimeout && f.FailureKind == Timeout
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error {
	if f.Cause == nil {
		return nil
	}
	return f.Cause
}

// FailureOf turns an error of the author's code into a failure. One that is a Failure already stays as it is; one that
// wraps a Failure keeps it as its cause.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	if same, ok := err.(*Failure); ok { //nolint:errorlint // only the error itself; one that is wrapped becomes the cause
		return same
	}
	failure := &Failure{FailureKind: Application, Type: fmt.Sprintf("%T", err), Message: err.Error()}
	inner := (*Failure)(nil)
	if errors.As(err, &inner) {
		failure.Cause = inner
		failure.NonRetryable = inner.NonRetryable
		failure.RetryAfter = inner.RetryAfter
	}
	switch { // what errors.Is says of the error, it must say of the failure that comes back from the log
	case errors.Is(err, ErrCancelled):
		failure.FailureKind = Cancel
	case errors.Is(err, ErrTimeout) && (inner == nil || !errors.Is(inner, ErrTimeout)): // of several that are joined, the first is the cause
		failure.FailureKind = Timeout
	}
	return failure
}

// CancelFailure is the failure of what was cancelled, with the reason that was given, if one was.
func CancelFailure(reason string) *Failure {
	if reason == "" {
		reason = "cancelled"
	}
	return &Failure{FailureKind: Cancel, Message: reason, NonRetryable: true}
}

// TerminationFailure is the failure of a run that was ended without asking its code.
func TerminationFailure(reason string) *Failure {
	message := "terminated"
	if reason != "" {
		message += ": " + reason
	}
	return &Failure{FailureKind: Termination, Message: message, NonRetryable: true}
}

// TimeoutFailure is the failure of what took too long.
func TimeoutFailure(which string, limit time.Duration) *Failure {
	return &Failure{FailureKind: Timeout, Type: which, Message: which + " timeout of " + limit.String()}
}

func (f *Failure) write(w *writer) { f.writeCauses(w, mostCauses) }

// writeCauses writes no more of a chain than can be read again.
func (f *Failure) writeCauses(w *writer, most int) {
	w.begin()
	w.text("kind", string(f.FailureKind))
	w.textIf("type", f.Type)
	w.words("message", f.Message)
	w.flagIf("nonRetryable", f.NonRetryable)
	w.durationIf("retryAfter", f.RetryAfter)
	w.payloadIf("details", f.Details)
	w.wordsIf("stack", f.Stack)
	if f.Cause != nil && most > 1 {
		w.name("cause")
		f.Cause.writeCauses(w, most-1)
	}
	w.end()
}

// mostCauses is how long the chain of a failure is at most, itself included: a hostile text could exhaust the stack.
const mostCauses = 1000

func readFailure(r *reader) *Failure {
	if r.causes++; r.causes > mostCauses {
		r.fail("a failure with a chain of more than %d causes", mostCauses)
	}
	defer func() { r.causes-- }()
	f := &Failure{}
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "kind":
			f.FailureKind = FailureKind(r.name())
		case "type":
			f.Type = r.name()
		case "message":
			f.Message = r.words()
		case "nonRetryable":
			f.NonRetryable = r.flag()
		case "retryAfter":
			f.RetryAfter = r.duration()
		case "details":
			f.Details = r.payload()
		case "stack":
			f.Stack = r.words()
		case "cause":
			f.Cause = readFailure(r)
		default:
			r.skip()
		}
	}
	return f
}

// MarshalJSON gives the stored form.
func (f *Failure) MarshalJSON() ([]byte, error) {
	w := &writer{}
	f.write(w)
	return w.out, nil
}

// UnmarshalJSON reads the stored form.
func (f *Failure) UnmarshalJSON(text []byte) error {
	r := &reader{data: text}
	read := readFailure(r)
	if err := r.finish(); err != nil {
		return err
	}
	*f = *read
	return nil
}
