package scheduler

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/reprise-run/reprise/core/internal/machine"
)

// Body is author's code in the form that the scheduler runs: the typed surface (core/workflow) wraps it.
type Body func(u *Unit) (value any, err error)

// Unit is a schedulable strand of author's code: the root, a parallel branch, a handler (S1.4). Exactly one unit of a run
// has the turn at a time, and only then may it call anything here.
type Unit struct {
	run  *Run
	path Path
	name string // path as text
	co   coroutine
	body Body

	ready    bool // in the next round, or in this one and still to come
	readOnly bool // a validator or a query is running: nothing may be emitted or awaited
	asks     bool // it is a query
	ended    bool
	value    any
	err      error
	end      func(value any, err error) // what the scheduler does when the unit has ended
	branches int                        // so far: gives the next branch its index
	asyncs   int
	place    string       // in its source, if an interpreter said so
	on       fmt.Stringer // what it is paused on, for diagnostics
	call     string       // of the surface that was entered last, for diagnostics
	awaits   *Scope       // scope whose cancellation wakes it
}

// Run gives the run that the unit belongs to.
func (u *Unit) Run() *Run { return u.run }

// Path as text: "" for the root.
func (u *Unit) Path() string { return u.name }

// IsRoot says whether the unit is the workflow function itself.
func (u *Unit) IsRoot() bool { return len(u.path) == 0 }

// Wake makes the unit runnable in the next round (S1.17).
func (u *Unit) Wake() {
	if u.ready || u.ended {
		return
	}
	u.ready = true
	u.run.ready = append(u.run.ready, u)
}

// Yield ends the unit's step: it goes on in the next round, in its place in the order (S1.8).
func (u *Unit) Yield() {
	u.Enter("Yield")
	u.effects("Yield")
	u.Wake()
	u.pause(yielding{})
}

type yielding struct{}

func (yielding) String() string { return "yielded" }

// Await pauses the unit until the promise has settled, or until the scope is cancelled: then it gives the scope's error.
// What belongs to the cancelled scope itself is waited for to the end: it settles in its own way (see machine.Cancel).
func (u *Unit) Await(p *machine.Promise, scope, of *Scope, on fmt.Stringer) error {
	if p.Settled() {
		return nil
	}
	u.effects("Await")
	p.Wait(u)
	u.awaits = scope
	for !p.Settled() {
		if err := scope.Err(); err != nil && (of == nil || of.Err() == nil) {
			p.Leave(u)
			u.awaits = nil
			return err
		}
		u.pause(on)
	}
	u.awaits = nil
	return nil
}

// Until pauses the unit until there is enough, looking whenever it is woken, or until the scope is cancelled.
func (u *Unit) Until(scope *Scope, on fmt.Stringer, enough func() bool) error {
	u.effects("Await")
	u.awaits = scope
	defer func() { u.awaits = nil }()
	for !enough() {
		if err := scope.Err(); err != nil {
			return err
		}
		u.pause(on)
	}
	return nil
}

// ReadOnly runs code that may only look at values: a validator, a change of a phase's state.
func (u *Unit) ReadOnly(look func() error) error {
	was := u.readOnly
	u.readOnly = true
	defer func() { u.readOnly = was }()
	return look()
}

// pause gives the turn away. It returns when the unit has the turn again.
//
// Where nobody else's turn comes first (a lone unit whose answer is in the record that replay comes to next), no switch is
// made: the scheduler simply goes on from here.
func (u *Unit) pause(on fmt.Stringer) {
	r := u.run
	u.on = on
	r.running.Store(nil)
	r.turn = r.next()
	if r.turn != u {
		u.co.suspend()
	}
	r.running.Store(u)
	u.on = nil
}

// Spawn starts a branch of the unit: runnable in the next round.
func (u *Unit) Spawn(body Body) *machine.Promise {
	u.effects("Parallel")
	index := u.branches
	u.branches++
	return u.run.spawn(u.path.child(branch, index), body)
}

// SpawnAsync starts what a phase's handler leaves running.
func (u *Unit) SpawnAsync(body Body) *machine.Promise {
	index := u.asyncs
	u.asyncs++
	return u.run.spawn(u.path.child(async, index), body)
}

func (r *Run) spawn(path Path, body Body) *machine.Promise {
	promise := &machine.Promise{}
	u := r.newUnit(path, body)
	u.end = func(value any, err error) {
		if err != nil {
			promise.Break(err)
		} else {
			promise.KeepValue(value)
		}
	}
	u.Wake()
	return promise
}

func (r *Run) newUnit(path Path, body Body) *Unit {
	u := &Unit{run: r, path: path, name: path.String(), body: body}
	r.units = append(r.units, u)
	return u
}

// step gives the unit its turn, until it pauses or ends.
func (r *Run) step(u *Unit) {
	if u.co.next == nil {
		u.co.start(u.main)
	}
	r.running.Store(u)
	suspended := u.co.resume()
	r.running.Store(nil)
	if !suspended {
		u.ended = true
		r.forget(u)
		if u.end != nil && r.err == nil {
			u.end(u.value, u.err)
		}
		r.turn = r.next()
	}
}

func (r *Run) forget(u *Unit) {
	for i, other := range r.units {
		if other == u {
			r.units = append(r.units[:i], r.units[i+1:]...)
			return
		}
	}
}

// main is the coroutine's body. Its name and receiver are looked for in stack dumps (see stuck.go).
//
//go:noinline
func (u *Unit) main() {
	returned := false
	defer func() {
		if returned || u.run.stopping {
			return
		}
		switch p := recover().(type) {
		case nil:
			u.run.fail(goexit("unit " + unitName(u.name)))
			u.halt() // here, since a Goexit that ran on would end the shell's goroutine, too
		case *Violation: // noted already
		default:
			u.err = u.run.panicked(u, p)
		}
	}()
	u.value, u.err = u.body(u)
	returned = true
}

func goexit(who string) error {
	return fmt.Errorf("%s called runtime.Goexit (t.FailNow does): workflow code must return", who)
}

// Violation says that author's code called the surface when it was not its turn: from a goroutine of its own, with the
// context of another unit, or from where nothing may be called (S1.38). It fails the activation.
type Violation struct{ Call, Unit, Running, Why string }

func (v *Violation) Error() string {
	return fmt.Sprintf("workflow.%s was called with the context of unit %s %s", v.Call, unitName(v.Unit), v.Why)
}

// Enter is the first line of every call of the surface: it fails the activation if it is not the unit's turn.
func (u *Unit) Enter(call string) {
	turn := u.run.running.Load()
	if turn == u {
		u.call = call
		return
	}
	v := &Violation{Call: call, Unit: u.name}
	if running("scheduler.Attempt") {
		v.Why = "inside the function of a step or an activity: it runs outside of the workflow's turns, once for each attempt. " +
			"Call workflow functions before it or after it, and give it values"
		u.run.violated.CompareAndSwap(nil, v) // the function may recover
		panic(v)
	}
	if u.run.stopping {
		runtime.Goexit() // a deferred function during eviction: nothing runs
	}
	if turn == nil || !ofUnit() {
		v.Why = "in a goroutine of its own: workflow code runs in turns, one unit at a time; use workflow.Parallel or workflow.Go"
		u.run.violated.CompareAndSwap(nil, v)
		runtime.Goexit() // a goroutine of the author's: it must not go on, and a panic in it would end the process
	}
	v.Running = turn.name
	v.Why = fmt.Sprintf("while unit %s had the turn: use the context that the function running now was given", unitName(turn.name))
	u.run.fail(v)
	panic(v)
}

// ofUnit says whether the caller's goroutine is one that the scheduler runs author's code in.
func ofUnit() bool { return running("scheduler.(*Unit).main", "scheduler.(*Run).look") }

// Change fails the activation if the unit may only look: for calls that change variables of the
// workflow's and emit no command.
func (u *Unit) Change(call string) { u.effects(call) }

// effects fails the activation if the unit may only look: in a validator or a query.
func (u *Unit) effects(call string) {
	if u.readOnly {
		v := &Violation{Call: cmp.Or(u.call, call), Unit: u.name, Why: "in a validator, a query or a condition: these only look at values, and return"}
		u.run.fail(v)
		panic(v)
	}
}

// unitName is a unit's path as people see it: the root's is empty.
func unitName(path string) string {
	if path == "" {
		return "root"
	}
	return path
}
