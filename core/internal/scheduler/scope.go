package scheduler

import "github.com/reprise-run/reprise/core/internal/machine"

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
	u := r.Caller("cancel")
	r.Cancel(scope, cause)
	u.halt()
}

// Caller gives the unit that has the turn, for calls that have no context of their own. It fails the
// activation if no unit has the turn, or if the unit may only look.
func (r *Run) Caller(call string) *Unit {
	u := r.running.Load()
	if u == nil {
		(&Unit{run: r}).Enter(call)
	}
	u.call = call
	u.Change(call)
	return u
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

// meetConditions wakes one of the units that wait for conditions: of the conditions that hold now,
// the first in order of waiting counts. No other unit has a turn before the one that is woken, so its
// condition still holds then. Logs of behavior version 0 wake all such units at once.
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
		if met && r.Since(1) {
			break
		}
	}
	return met
}

// looker runs conditions on a stack of its own: what ends or blocks the goroutine that it runs in must not do so on the
// shell's, nor on that of another unit.
type looker struct {
	co      coroutine
	at      *wait
	holds   bool
	failure error
}

// evaluate says whether a condition holds. Its code has the standing of the unit that waits, and a panic is that unit's.
func (r *Run) evaluate(w *wait) (holds bool, failure error) {
	l := &r.looker
	l.at, l.holds, l.failure = w, false, nil
	if l.co.next == nil {
		l.co.start(r.look)
	}
	r.running.Store(w.unit)
	l.co.resume()
	r.running.Store(nil)
	return l.holds, l.failure
}

// look is the looker's body. Its name and receiver are looked for in stack dumps (see stuck.go).
//
//go:noinline
func (r *Run) look() {
	defer func() {
		if !r.stopping {
			r.fail(goexit("a condition of unit " + unitName(r.looker.at.unit.name)))
			r.looker.co.suspend()
		}
	}()
	for {
		r.looker.look()
		r.looker.co.suspend()
	}
}

func (l *looker) look() {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Violation: // noted already
		default:
			l.failure = l.at.unit.run.panicked(l.at.unit, p)
		}
	}()
	_ = l.at.unit.ReadOnly(func() error {
		l.holds = l.at.holds()
		return nil
	})
}

func broken(err error) *machine.Promise {
	p := &machine.Promise{}
	p.Break(err)
	return p
}
