package simulation

import (
	"errors"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// naiveSurface is a strand and the scope that it works in.
type naiveSurface struct {
	s  *strand
	in *naiveScope
}

// operation schedules a command whose answer settles the promise.
func (s naiveSurface) operation(n *node, in *naiveScope, format string, args ...any) *promise {
	p := &promise{scope: in, node: n}
	if err := in.Err(); err != nil {
		p.settled, p.err = true, err
		return p
	}
	of := s.s.n
	p.seq = of.next
	of.next++
	of.pending = append(of.pending, p)
	of.emit(format, append([]any{p.seq}, args...)...)
	return p
}

func (s naiveSurface) start(_ *program, n *node) future {
	switch n.Verb {
	case doCall:
		return s.operation(n, s.in, "schedule-activity %d %s false %s %s", n.ID, n.Whole, n.ToStart)
	case doStep:
		return s.operation(n, s.in, "schedule-activity %d %s true %s %s", n.ID, n.Whole, n.ToStart)
	case doChild:
		input := history.Payload("0")
		if n.Flow {
			input = history.Payload(inputOfFlows)
		}
		return s.operation(n, s.in, "start-child %d %s %q %s %s", n.Target, n.Own, policies[n.Mode],
			canonical(input))
	case doReceive:
		return s.receive("s")
	}
	return s.operation(n, s.in, "start-timer %d %s", n.D)
}

func (s naiveSurface) receive(name string) *promise {
	p := &promise{scope: s.in, signal: name}
	s.s.n.received = append(s.s.n.received, p)
	return p
}

func (s naiveSurface) branch(run func(surface) error) future {
	n, p := s.s.n, &promise{scope: s.in}
	path := slices.Concat(s.s.path, []int{ofBranch, s.s.branches})
	s.s.branches++
	n.spawn(path, func(inner *strand) { n.settle(p, 0, run(naiveSurface{inner, s.in})) })
	return p
}

func (s naiveSurface) await(f future) (int, error) { return s.awaitIn(f.(*promise), s.in) }

// awaitIn waits until the promise has settled, or the scope is cancelled, unless the promise belongs to what is cancelled.
func (s naiveSurface) awaitIn(p *promise, in *naiveScope) (int, error) {
	s.s.n.hold(p)
	if !p.settled {
		p.waiting = append(p.waiting, s.s)
		s.s.awaits = in
		for !p.settled {
			if err := in.Err(); err != nil && p.scope.Err() == nil {
				s.forget(p)
				s.s.awaits = nil
				s.s.n.release(p)
				return 0, err
			}
			s.s.pause()
		}
		s.s.awaits = nil
	}
	if p.err != nil {
		return 0, p.err
	}
	s.s.n.read(p)
	return p.value, nil
}

func (s naiveSurface) forget(p *promise) {
	for i, other := range p.waiting {
		if other == s.s {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			return
		}
	}
}

// until waits until there is enough of some promises.
func (s naiveSurface) until(futures []future, enough func() bool) error {
	for _, f := range futures {
		s.s.n.hold(f.(*promise))
	}
	if enough() {
		return nil
	}
	for _, f := range futures {
		if p := f.(*promise); !p.settled {
			p.waiting = append(p.waiting, s.s)
		}
	}
	defer func() {
		for _, f := range futures {
			s.forget(f.(*promise))
		}
		s.s.awaits = nil
	}()
	s.s.awaits = s.in
	for !enough() {
		if err := s.in.Err(); err != nil {
			return err
		}
		s.s.pause()
	}
	return nil
}

func (s naiveSurface) race(futures []future) (first int, err error) {
	first = -1
	err = s.until(futures, func() bool {
		for i, f := range futures {
			if f.(*promise).settled {
				first = i
				return true
			}
		}
		return false
	})
	for i, f := range futures {
		if i != first {
			s.s.n.release(f.(*promise))
		}
	}
	return first, err
}

// releaseAll is what a join does at its end.
func (s naiveSurface) releaseAll(futures []future) {
	for _, f := range futures {
		s.s.n.release(f.(*promise))
	}
}

func (s naiveSurface) all(futures []future) ([]int, error) {
	defer s.releaseAll(futures)
	err := s.until(futures, func() bool {
		settled := 0
		for _, f := range futures {
			if p := f.(*promise); p.settled {
				if settled++; p.err != nil {
					return true
				}
			}
		}
		return settled == len(futures)
	})
	if err != nil {
		return nil, err
	}
	var all []int
	for _, f := range futures {
		if p := f.(*promise); p.settled && p.err != nil {
			return nil, p.err
		}
	}
	for _, f := range futures {
		all = append(all, f.(*promise).value)
		s.s.n.read(f.(*promise))
	}
	return all, nil
}

func (s naiveSurface) any(futures []future) (int, int, error) {
	first := -1
	defer s.releaseAll(futures)
	err := s.until(futures, func() bool {
		failed := 0
		for i, f := range futures {
			if p := f.(*promise); p.settled && p.err == nil {
				first = i
				return true
			} else if p.settled {
				failed++
			}
		}
		return failed == len(futures)
	})
	if err != nil {
		return -1, 0, err
	}
	if first >= 0 {
		s.s.n.read(futures[first].(*promise))
		return first, futures[first].(*promise).value, nil
	}
	var errs []error
	for _, f := range futures {
		errs = append(errs, f.(*promise).err)
	}
	return -1, 0, errors.Join(errs...)
}

func (s naiveSurface) parallel(branches []func(surface) error) error {
	futures := make([]future, len(branches))
	for i, run := range branches {
		futures[i] = s.branch(run)
	}
	var errs []error
	for i, f := range futures {
		if _, err := s.awaitIn(f.(*promise), &naiveScope{}); err != nil {
			errs = append(errs, &workflow.BranchError{Branch: i, Err: err})
		}
	}
	return errors.Join(errs...)
}

func (s naiveSurface) condition(holds func() bool) error {
	if err := s.in.Err(); err != nil {
		return err
	}
	if holds() {
		return nil
	}
	p := &promise{scope: s.in, holds: holds}
	s.s.n.waits = append(s.s.n.waits, p)
	_, err := s.await(p)
	return err
}

// conditionWithin waits for a condition, for a while at most.
func (s naiveSurface) conditionWithin(d time.Duration, holds func() bool) error {
	if s.in.Err() == nil && holds() {
		return nil
	}
	inner, cancel := s.within(d)
	defer cancel()
	return inner.condition(holds)
}

// sleep waits for some milliseconds.
func (s naiveSurface) sleep(wait int) error {
	if wait <= 0 && s.in.Err() == nil {
		return nil
	}
	d := time.Duration(wait) * time.Millisecond
	_, err := s.await(s.operation(&node{Verb: doSleep}, s.in, "start-timer %d %s", d))
	return err
}

func (s naiveSurface) onSignal(name string, handle func(surface, int) error) {
	s.handle(name, func(l *letterOf) {
		s.dispatch(func(inner naiveSurface) {
			s.s.n.opens(l)
			_ = handle(inner, l.value) // its error is logged, and changes nothing
		})
	})
}

// handle gives a signal a handler, or takes it away.
func (s naiveSurface) handle(name string, handler func(*letterOf)) {
	b := s.s.n.box(name)
	if b.handle = handler; handler == nil {
		return
	}
	for _, l := range b.buffered {
		handler(l)
	}
	b.buffered = nil
}

// dispatch runs a handler in a strand of its own.
func (s naiveSurface) dispatch(run func(naiveSurface)) *strand {
	n := s.s.n
	path := []int{ofHandler, n.handlers}
	n.handlers++
	return n.spawn(path, func(inner *strand) { run(naiveSurface{inner, s.in}) })
}

func (s naiveSurface) onUpdate(name string, handle func(surface, int) (int, error), validate func(int) error) {
	n := s.s.n
	s.handleUpdates(name, func(inner naiveSurface, l *letterOf) {
		if err := validate(l.value); err != nil && !l.accepted {
			n.emit("respond-update %s %s rejected 0 %s", l.name, l.id, kindOf(err))
			return
		}
		n.emit("respond-update %s %s accepted 0 ok", l.name, l.id)
		value, err := handle(inner, l.value)
		if err != nil {
			value = 0
		}
		n.emit("respond-update %s %s completed %d %s", l.name, l.id, value, kindOf(err))
	})
}

// handleUpdates has the updates of one name answered, those first that are there.
func (s naiveSurface) handleUpdates(name string, answer func(naiveSurface, *letterOf)) {
	n := s.s.n
	n.handled = name
	n.update = func(l *letterOf) {
		l.by = s.dispatch(func(inner naiveSurface) {
			n.answered(l)
			answer(inner, l)
		})
	}
	n.updates = slices.DeleteFunc(n.updates, func(l *letterOf) bool {
		if l.name == name {
			n.update(l)
		}
		return l.name == name
	})
}

// continueAsNew ends the generation as soon as nothing else runs. The strand continues in the next one.
func (s naiveSurface) continueAsNew() {
	n := s.s.n
	asked := n.root.err != nil
	n.awaited = func(other *strand) bool { return other != s.s }
	n.later = func() {
		if n.root.err != nil && !asked {
			n.end("cancel")
		} else {
			n.end("continue-as-new 0")
		}
	}
	s.s.pause()
}

func (s naiveSurface) phase(d time.Duration, handle func(value, state int) (int, bool), leave func(surface) error) (state int, err error) {
	if err := s.in.Err(); err != nil {
		return 0, err
	}
	n := s.s.n
	limited, cancel := s.within(d)
	running, stopped, left := true, false, 0
	refuse := func() {
		if running {
			running = false
			s.handle("p", nil)
		}
	}
	s.handle("p", func(l *letterOf) {
		s.dispatch(func(inner naiveSurface) {
			if !running {
				n.pass("p", l)
				return
			}
			n.opens(l)
			if state, stopped = handle(l.value, state); stopped {
				refuse()
				return
			}
			if leave == nil {
				return
			}
			left++
			path := slices.Concat(inner.s.path, []int{ofAsync, inner.s.asyncs})
			inner.s.asyncs++
			n.spawn(path, func(async *strand) {
				_ = leave(naiveSurface{async, s.in}) // its error is logged, and changes nothing
				left--
			})
		})
	})
	err = limited.condition(func() bool { return stopped })
	refuse()
	cancel()
	if other := s.shield().condition(func() bool { return left == 0 }); err == nil {
		err = other
	}
	return state, err
}

func (s naiveSurface) within(d time.Duration) (surface, func()) {
	n := s.s.n
	inner, own := &naiveScope{parent: s.in}, &naiveScope{parent: s.in}
	timer := s.operation(&node{Verb: doSleep}, own, "start-timer %d %s", d)
	timer.notify = func() {
		if timer.err == nil {
			n.cancel(inner, history.TimeoutFailure(history.ScopeTimeout, d))
		}
	}
	return naiveSurface{s.s, inner}, func() {
		n.cancel(own, history.CancelFailure(""))
		n.cancel(inner, history.CancelFailure(""))
	}
}

func (s naiveSurface) scope() (surface, func()) {
	inner := &naiveScope{parent: s.in}
	return naiveSurface{s.s, inner}, func() { s.s.n.cancel(inner, history.CancelFailure("")) }
}

func (s naiveSurface) shield() surface { return naiveSurface{s.s, &naiveScope{}} }

// patched is what the log says: a patch is followed from the record on that has its mark.
func (s naiveSurface) patched(id string) bool {
	n := s.s.n
	passed, marked := n.marks[id]
	if marked && !passed {
		n.marks[id] = true
		n.emit("mark-patch %s", id)
	}
	return marked
}

func (s naiveSurface) publish(state int) { s.s.n.state, s.s.n.stateSet = state, true }
func (s naiveSurface) attribute(value int) {
	s.s.n.keyed.k = value
	s.s.n.emit("upsert-attributes %d", value)
}

func (s naiveSurface) now() time.Time { return s.s.n.time }
func (s naiveSurface) random() uint64 { return s.s.n.draw.Uint64() }

func (s naiveSurface) yield() {
	s.s.wake()
	s.s.pause()
}
