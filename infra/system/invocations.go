package system

import "time"

// skew is how much the clocks of two functions may differ, plus the time of a request that an
// invocation sent just before Lambda ended it.
const skew = 5 * time.Second

// Invocations are the authors of records on AWS. Other invocations know an author's deadline only,
// at which Lambda ends it. The engine's simulation runs them, too.
type Invocations struct {
	// NewID names an author, as no other invocation is named.
	NewID func() string
}

// Begin names an invocation. It has certainly ended 5 seconds after its deadline, by any function's
// clock.
func (i Invocations) Begin(deadline time.Time) (author string, until time.Time) {
	return i.NewID(), deadline.Add(skew)
}

// End does nothing: no other invocation could see it.
func (Invocations) End(string) {}

// Dead says whether an author has certainly ended.
func (Invocations) Dead(_ string, until, now time.Time) bool { return !now.Before(until) }
