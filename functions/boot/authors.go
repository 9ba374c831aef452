package boot

import (
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/infra/system"
)

// skew is how far apart the clocks of two functions may be, with what a request may take that was sent just before its
// function was ended.
const skew = 5 * time.Second

// authors of records are invocations. Each has a deadline, at which Lambda ends it: that is all that others can know of it.
type authors struct{}

var _ engine.Authors = authors{}

// Begin names an invocation, which has ended for certain a while after its deadline.
func (authors) Begin(deadline time.Time) (author string, until time.Time) {
	const length = 16 // 80 random bits
	return system.NewID()[:length], deadline.Add(skew)
}

// End says nothing that anybody else could see.
func (authors) End(string) {}

// Dead says whether an author has certainly ended.
func (authors) Dead(_ string, until, now time.Time) bool { return !now.Before(until) }
