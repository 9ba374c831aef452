package executor

import (
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
)

// Scope is what is cancelled together. Cancelling one cancels all within it, except what is shielded.
type Scope struct {
	parent *Scope // nil: the run's own scope, or a shield
	err    error
}

// Err is why the scope was cancelled: nil while it was not.
func (s *Scope) Err() error {
	for ; s != nil; s = s.parent {
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// Within makes a scope inside this one.
func (s *Scope) Within() *Scope { return &Scope{parent: s} }

// Shield makes a scope that is not cancelled when others are.
func Shield() *Scope { return &Scope{} }

func (s *Scope) in(outer *Scope) bool {
	for ; s != nil; s = s.parent {
		if s == outer {
			return true
		}
	}
	return false
}

// Cancel cancels a scope: its operations in order of their numbers, then what waits for mail or conditions in order of
// waiting, then the units in stable order. Cancelling again changes nothing.
func (r *Run) Cancel(scope *Scope, cause error) {
	if scope.Err() != nil {
		return
	}
	scope.err = cause
	for _, op := range r.machine.Operations() {
		if op.Scope.(*Scope).in(scope) {
			if err := r.machine.Cancel(op, cause); err != nil {
				r.fail(err)
				return
			}
		}
	}
	for _, w := range append([]*wait(nil), r.waits...) {
		if w.scope.in(scope) {
			r.drop(w)
			w.Break(cause)
		}
	}
	for _, u := range r.units {
		if u.awaits != nil && u.awaits.in(scope) {
			u.Wake()
		}
	}
}

// CancelByCode cancels a scope on behalf of whichever unit has the turn: what author's code calls, perhaps deferred.
func (r *Run) CancelByCode(scope *Scope, cause error) {
	u := r.running.Load()
	if u == nil {
		(&Unit{run: r}).Enter("cancel")
	}
	u.effects("cancel")
	r.Cancel(scope, cause)
	u.halt()
}

// wait is a promise that no command stands behind: mail, a condition.
type wait struct {
	machine.Promise
	unit  *Unit
	scope *Scope
	holds func() bool // a condition; nil: a signal is waited for
}

func (u *Unit) newWait(scope *Scope) *wait {
	w := &wait{unit: u, scope: scope}
	u.run.waits = append(u.run.waits, w)
	return w
}

func (r *Run) drop(w *wait) {
	for i, other := range r.waits {
		if other == w {
			r.waits = append(r.waits[:i], r.waits[i+1:]...)
			return
		}
	}
}

// Condition gives a promise that settles once the condition holds. It is evaluated whenever all units have paused.
func (u *Unit) Condition(scope *Scope, holds func() bool) *machine.Promise {
	u.effects("AwaitCondition")
	if err := scope.Err(); err != nil {
		return broken(err)
	}
	w := u.newWait(scope)
	w.holds = holds
	return &w.Promise
}

// meetConditions wakes those whose condition holds now, in order of waiting.
func (r *Run) meetConditions() (met bool) {
	for _, w := range append([]*wait(nil), r.waits...) {
		if w.holds == nil || w.Settled() {
			continue
		}
		holds, failure := r.evaluate(w)
		if failure != nil {
			r.drop(w)
			w.Break(failure)
			met = true
		} else if holds {
			r.drop(w)
			w.Keep(nil)
			met = true
		}
	}
	return met
}

// evaluate runs a condition, on whichever stack is at hand: it may look, as the unit that waits, and a panic is that unit's.
func (r *Run) evaluate(w *wait) (holds bool, failure *history.Failure) {
	was := w.unit.readOnly
	w.unit.readOnly = true
	r.running.Store(w.unit)
	defer func() {
		r.running.Store(nil)
		w.unit.readOnly = was
		switch p := recover().(type) {
		case nil:
		case *Violation:
		default:
			failure = PanicFailure(p, nil)
		}
	}()
	return w.holds(), nil
}

func broken(err error) *machine.Promise {
	p := &machine.Promise{}
	p.Break(err)
	return p
}
