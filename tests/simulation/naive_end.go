package simulation

import (
	"errors"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

func (n *naive) end(how string) {
	n.ended = how
	n.emit("%s", how)
}

// stop ends a generation from outside: no code runs in that record.
func (n *naive) stop(how string) {
	n.unfit = ""
	n.end(how)
}

// finish ends the run as its function says: updates that came too late are rejected before.
func (n *naive) finish(how string) {
	for _, l := range slices.Clone(n.asked) {
		n.tooLate(l)
	}
	n.end(how)
}

// late rejects an update that no strand has begun to handle.
func (n *naive) late(l *letterOf) {
	if l.by != nil && l.by.begun {
		return
	}
	if l.by != nil {
		l.by.stop()
		l.by.done = true
		l.by.stop() // it never had a turn
		n.strands = slices.DeleteFunc(n.strands, func(s *strand) bool { return s == l.by })
	}
	n.updates = slices.DeleteFunc(n.updates, func(other *letterOf) bool { return other == l })
	n.tooLate(l)
}

func (n *naive) tooLate(l *letterOf) {
	n.answered(l)
	n.emit("respond-update %s %s rejected 0 failed:run-ended", l.name, l.id)
}

// answered notes that an update is accepted or rejected.
func (n *naive) answered(l *letterOf) {
	n.asked = slices.DeleteFunc(n.asked, func(other *letterOf) bool { return other == l })
}

// parts are the errors that are joined in an error, in order.
func parts(err error) (all []error) {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if several, ok := inner.(interface{ Unwrap() []error }); ok {
			for _, one := range several.Unwrap() {
				all = append(all, parts(one)...)
			}
			return all
		}
	}
	return []error{err}
}

// ending is how a run ends whose function gave this error.
func (n *naive) ending(err error) string {
	cancelled := func(err error) bool { return errors.Is(err, history.ErrCancelled) }
	all := parts(err)
	other := slices.IndexFunc(all, func(err error) bool { return !cancelled(err) })
	switch {
	case other < 0, cancelled(err) && n.root.err != nil:
		return "cancel"
	case cancelled(err): // one of several
		return "fail " + kindOf(history.FailureOf(all[other]))
	}
	return "fail " + kindOf(history.FailureOf(err))
}
