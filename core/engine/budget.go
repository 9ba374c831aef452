package engine

import "time"

// Of an invocation's time, a step is not begun when less than a third is left, or less than stepReserve; and the last fifth,
// filingReserve at most, is for storing what came of an attempt.
const (
	stepReserve   = 10 * time.Second
	filingReserve = 2 * time.Second
)

// budget is the time that an invocation has. Without a deadline there is no end to it.
type budget struct{ begun, deadline time.Time }

func (e *Engine) newBudget(deadline time.Time) budget { return budget{e.Clock.Now(), deadline} }

// suffices says whether there is time for another step that begins after a wait.
func (b budget) suffices(now time.Time, wait time.Duration) bool {
	return b.deadline.IsZero() || b.deadline.Sub(now) >= wait+min(stepReserve, b.deadline.Sub(b.begun)/3)
}

// whole says whether almost all of it was left at a time.
func (b budget) whole(at time.Time) bool { return at.Sub(b.begun) <= b.deadline.Sub(b.begun)/10 }

// end is when an attempt must have ended, so that its invocation can still store what came of it. Zero: whenever it likes.
func (b budget) end() time.Time {
	if b.deadline.IsZero() {
		return b.deadline
	}
	return b.deadline.Add(-min(filingReserve, b.deadline.Sub(b.begun)/5))
}
