package port

import (
	"time"
)

// Clock is time: the real one, or a simulation's.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a goroutine of its own after a while; stop prevents it, if it comes in
	// time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Authors says which invocations may still be alive (PROTOCOL.md rule 3).
type Authors interface {
	// Begin gives an invocation's name as an author, and until when it can live at most; zero: as
	// long as the process.
	Begin(deadline time.Time) (author string, until time.Time)
	// End says that the invocation puts nothing any more.
	End(author string)
	// Dead says whether the author of a record has certainly ended.
	Dead(author string, until, now time.Time) bool
}
