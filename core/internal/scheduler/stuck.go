package scheduler

import (
	"bytes"
	"fmt"
	"runtime"
)

// Stuck says that a unit did not pause within the shell's limit: it blocks outside the surface, or loops without end.
type Stuck struct{ Unit, Stack string }

func (e *Stuck) Error() string {
	return fmt.Sprintf("unit %s blocks outside the workflow surface: it has not paused. Workflow code waits only through "+
		"workflow.Execute, Sleep, AwaitSignal and the like; channels, locks, I/O and long computation belong in an activity. It is at:\n%s",
		unitName(e.Unit), e.Stack)
}

// Stuck looks, from another goroutine, at where the unit that has the turn is. It is for the shell's watchdog; the run is
// lost after it: its goroutine cannot be ended from outside.
func (r *Run) Stuck() *Stuck {
	r.lost.Store(true)
	u := r.running.Load()
	if u == nil {
		return &Stuck{Unit: "", Stack: "(between two turns)"}
	}
	return &Stuck{Unit: u.name, Stack: u.stack()}
}

// stack finds the goroutine that runs the unit's code among all, by the receiver of its main, or of look for a condition.
func (u *Unit) stack() string {
	const most = 16 << 20
	dump := make([]byte, 1<<20)
	for {
		n := runtime.Stack(dump, true)
		if n < len(dump) || len(dump) >= most {
			dump = dump[:n]
			break
		}
		dump = make([]byte, 2*len(dump))
	}
	own, look := fmt.Appendf(nil, "scheduler.(*Unit).main(%p", u),
		fmt.Appendf(nil, "scheduler.(*Run).look(%p", u.run)
	stack := "(its stack was not found)"
	for goroutine := range bytes.SplitSeq(dump, []byte("\n\n")) {
		if before, _, found := bytes.Cut(goroutine, own); found {
			stack = string(bytes.TrimSpace(before))
		}
		// Between two conditions, the looker's goroutine is switched away from; then the unit itself is what runs.
		if before, _, found := bytes.Cut(goroutine, look); found && !bytes.Contains(before, []byte("(*coroutine).suspend(")) {
			return string(bytes.TrimSpace(before))
		}
	}
	return stack
}
