package scheduler

import (
	"slices"

	"github.com/reprise-run/reprise/core/internal/machine"
)

// Reception is what a future of a signal waits with. It has a place among the receivers of the signal
// only while a unit awaits it: one that lost a race, or that the code forgot, takes no signal from
// others. In logs of behavior version 0 it has its place from the beginning, and keeps it.
type Reception struct {
	box     *mailbox
	scope   *Scope
	wait    *wait    // a new one each time that it takes its place
	holds   int      // how many units await it
	message *Message // what it was given
	read    bool     // by the code
}

// Receive makes a reception of the next signal of this name. Eager: it takes its place at once.
func (u *Unit) Receive(name string, scope *Scope, eager bool) *Reception {
	u.effects("Receive")
	rc := &Reception{box: box(&u.run.mail.signals, name), scope: scope, wait: &wait{}}
	rc.box.asked = true
	if eager {
		rc.Hold(u)
	} else {
		rc.box.idle = append(rc.box.idle, rc)
	}
	return rc
}

// Take gives a signal of this name that has come and that no code has taken; nil if there is none.
func (u *Unit) Take(name string) *Message {
	u.effects("Receive")
	b := box(&u.run.mail.signals, name)
	b.asked = true
	if len(b.buffered) == 0 {
		return nil
	}
	message := b.buffered[0]
	b.buffered = b.buffered[1:]
	return message
}

// Promise is the one that settles while the reception is held.
func (rc *Reception) Promise() *machine.Promise { return &rc.wait.Promise }

// Ready says whether a unit that awaits the reception now need not wait.
func (rc *Reception) Ready() bool {
	return rc.wait.Settled() || rc.scope.Err() != nil || len(rc.box.buffered) > 0
}

// Hold takes a place among the receivers, or a signal that is there. A unit calls it before it waits.
func (rc *Reception) Hold(u *Unit) {
	rc.holds++
	if rc.holds > 1 || rc.wait.Settled() {
		return
	}
	u.effects("Await")
	rc.box.idle = without(rc.box.idle, rc)
	if err := rc.scope.Err(); err != nil {
		rc.wait.Break(err)
		return
	}
	rc.wait = u.newWait(rc.scope)
	if len(rc.box.buffered) > 0 {
		message := rc.box.buffered[0]
		rc.box.buffered = rc.box.buffered[1:]
		rc.give(u.run, message)
		return
	}
	rc.box.waiting = append(rc.box.waiting, rc)
	rc.wait.Notify(func(*machine.Promise) { rc.box.waiting = without(rc.box.waiting, rc) })
}

// Release gives the place back, or the signal that no code has read. A unit calls it when it no longer
// waits.
func (rc *Reception) Release(r *Run) {
	rc.holds--
	switch {
	case rc.holds > 0 || rc.read || r.stopping:
	case rc.message != nil:
		message := rc.message
		rc.box.held, rc.message = without(rc.box.held, message), nil
		rc.wait = &wait{}
		r.pass(message)
	case !rc.wait.Settled():
		r.drop(rc.wait)
		rc.box.waiting = without(rc.box.waiting, rc)
	}
}

// Read gives the signal that has come, and notes that the code has it.
func (rc *Reception) Read() *Message {
	rc.read = true
	rc.box.held = without(rc.box.held, rc.message)
	return rc.message
}

func (rc *Reception) give(r *Run, message *Message) {
	rc.message = message
	rc.box.held = append(rc.box.held, message)
	r.drop(rc.wait)
	rc.wait.Keep(message.Input)
}

// LeftInFutures lists the names of signals that have come and that no code has read, although a future
// waits for them: one that holds a signal, or that was never awaited.
func (r *Run) LeftInFutures() (names []string) {
	for _, name := range sortedNames(r.mail.signals) {
		b := r.mail.signals[name]
		open := slices.ContainsFunc(b.idle, func(rc *Reception) bool { return rc.scope.Err() == nil })
		if len(b.held) > 0 || open && len(b.buffered) > 0 {
			names = append(names, name)
		}
	}
	return names
}

func without[T comparable](list []T, one T) []T {
	return slices.DeleteFunc(list, func(other T) bool { return other == one })
}
