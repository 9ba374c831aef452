package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/history"
)

// Waiter is woken when what it waits for has come. Only units wait.
type Waiter interface{ Wake() }

// Promise is an outcome that comes later: the answer of a command, a signal, the end of a branch. It settles once.
type Promise struct {
	settled bool
	payload history.Payload // encoded results
	value   any             // results that never leave the process
	err     error
	waiter  Waiter // the first one: nearly always the only one
	others  []Waiter
	notify  func(*Promise) // what the surface wants to do at once, before anybody's turn
}

// Settled says whether the outcome is there.
func (p *Promise) Settled() bool { return p.settled }

// Outcome gives the payload or the value, or the error. It is nothing before the promise has settled.
func (p *Promise) Outcome() (payload history.Payload, value any, err error) {
	return p.payload, p.value, p.err
}

// Wait has the waiter woken when the promise settles.
func (p *Promise) Wait(w Waiter) {
	switch {
	case p.settled:
		w.Wake()
	case p.waiter == nil:
		p.waiter = w
	case p.waiter != w:
		p.others = append(p.others, w)
	}
}

// Leave takes a waiter back that no longer waits.
func (p *Promise) Leave(w Waiter) {
	if p.waiter == w {
		p.waiter = nil
	}
	for i, other := range p.others {
		if other == w {
			p.others = append(p.others[:i], p.others[i+1:]...)
			return
		}
	}
}

// Notify has a function called at the moment when the promise settles. It must not run author's code.
func (p *Promise) Notify(f func(*Promise)) { p.notify = f }

// Keep settles with an encoded result.
func (p *Promise) Keep(payload history.Payload) { p.end(payload, nil, nil) }

// KeepValue settles with a value of this process.
func (p *Promise) KeepValue(value any) { p.end(nil, value, nil) }

// Break settles with an error.
func (p *Promise) Break(err error) { p.end(nil, nil, err) }

func (p *Promise) end(payload history.Payload, value any, err error) {
	if p.settled {
		return
	}
	p.settled, p.payload, p.value, p.err = true, payload, value, err
	if p.notify != nil {
		p.notify(p)
	}
	if p.waiter != nil {
		p.waiter.Wake()
	}
	for _, w := range p.others {
		w.Wake()
	}
	p.waiter, p.others = nil, nil
}

// Operation is a command whose answer the run waits for. It is pending from Schedule until it is resolved, or cancelled
// without waiting for an answer: then a late answer is void.
type Operation struct {
	Promise
	Command history.Sequenced
	// Scope in which the command was emitted: an opaque value of the scheduler's.
	Scope any
	// Step is the function of a step: the shell runs it, never the core.
	Step func(context.Context) (history.Payload, error)
	// asked: its cancellation is in the log, for this cause; a second request changes nothing.
	asked bool
	cause error
}

// String says what is waited for.
func (op *Operation) String() string {
	switch command := op.Command.(type) {
	case *history.ScheduleActivity:
		return fmt.Sprintf("activity %s (seq %d)", command.Activity, command.Seq())
	case *history.StartTimer:
		return fmt.Sprintf("timer of %s (seq %d)", command.Duration, command.Seq())
	case *history.StartChild:
		return fmt.Sprintf("child %s (seq %d)", command.Workflow, command.Seq())
	}
	return "nothing: it was cancelled before it began"
}

func (op *Operation) settle(event history.Resolution) {
	var payload history.Payload
	var failure *history.Failure
	switch event := event.(type) {
	case *history.ActivityResolved:
		payload, failure = event.Result, activityFailure(op.Command, event)
	case *history.ChildResolved:
		payload, failure = event.Result, childFailure(op.Command, event)
	case *history.TimerFired:
	}
	switch {
	case failure == nil:
		op.Keep(payload)
	case op.asked && errors.Is(failure, history.ErrCancelled):
		op.Break(op.cause) // it did as it was asked: the reason says more, and may be a timeout
	default:
		op.Break(failure)
	}
}

// Cancel asks an operation to stop (S1: cancellation is cooperative). A timer is over at once; an activity according to
// its cancellation type; a child goes on until it has ended. An error is a *[Nondeterminism].
func (m *Machine) Cancel(op *Operation, cause error) error {
	if op.settled || op.asked {
		return nil
	}
	op.asked, op.cause = true, cause
	seq := op.Command.Seq()
	switch command := op.Command.(type) {
	case *history.StartTimer:
		return m.drop(op, cause, &history.CancelTimer{})
	case *history.ScheduleActivity:
		switch command.Options.Cancellation {
		case history.TryCancel:
			return m.drop(op, cause, &history.CancelActivity{Abandoned: true})
		case history.Abandon:
			return m.drop(op, cause, nil)
		case history.WaitCancelled:
			return m.reuse(&history.CancelActivity{}, seq)
		}
	case *history.StartChild:
		return m.reuse(&history.CancelChild{}, seq)
	}
	return nil
}

// reuse emits a command that speaks of an earlier one by its number.
func (m *Machine) reuse(command history.Sequenced, seq int64) error {
	command.Number(seq)
	return m.Emit(command)
}

// drop ends an operation without waiting for its answer.
func (m *Machine) drop(op *Operation, cause error, command history.Sequenced) error {
	seq := op.Command.Seq()
	if at, found := m.find(seq); found {
		m.remove(at)
		m.dropped = append(m.dropped, seq)
	}
	if command != nil {
		if err := m.reuse(command, seq); err != nil {
			return err
		}
	}
	op.Break(cause)
	return nil
}

func activityFailure(command history.Sequenced, event *history.ActivityResolved) *history.Failure {
	if event.Failure == nil {
		return nil
	}
	return &history.Failure{FailureKind: history.ActivityKind, Type: command.(*history.ScheduleActivity).Activity,
		Message: event.Failure.Error(), NonRetryable: event.Failure.NonRetryable, Cause: event.Failure}
}

func childFailure(command history.Sequenced, event *history.ChildResolved) *history.Failure {
	if event.Failure == nil {
		return nil
	}
	return &history.Failure{FailureKind: history.ChildKind, Type: command.(*history.StartChild).Workflow,
		Message: event.Failure.Error(), NonRetryable: event.Failure.NonRetryable, Cause: event.Failure}
}
