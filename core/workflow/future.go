package workflow

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Future is a T that comes later: of an activity, a timer, a signal, a child, a branch.
type Future[T any] struct {
	promise *machine.Promise
	signal  *scheduler.Reception // of a signal: it has the promise
	scope   *scheduler.Scope     // in which it was made; nil: nothing cancels it
	on      fmt.Stringer         // what it is, for diagnostics
}

// Awaitable is a future of whatever type.
type Awaitable interface {
	empty() bool
	what() string
	settled() bool
	failed() error
	ready() bool
	hold(u *scheduler.Unit)
	release(u *scheduler.Unit)
	join(w machine.Waiter)
	leave(w machine.Waiter)
}

// Await waits for the value, or for its failure. If the context's scope is cancelled meanwhile, and the future was made
// outside of that scope, Await gives up with the scope's error, and the future lives on.
func (f Future[T]) Await(ctx Context) (T, error) {
	u := ctx.enter("Future.Await")
	var none T
	if f.empty() {
		return none, errors.New("an empty workflow.Future was awaited: only those that this package returns have a value")
	}
	f.hold(u)
	if err := u.Await(f.pending(), ctx.scope, f.scope, f.on); err != nil {
		f.release(u)
		return none, err
	}
	payload, value, err := f.pending().Outcome()
	if err != nil {
		return none, err
	}
	if f.signal != nil {
		return f.read(u)
	}
	if typed, ok := value.(T); ok {
		return typed, nil
	}
	result, err := history.Decode[T](payload)
	if err != nil {
		return none, encoding("result of "+f.on.String(), err)
	}
	return result, nil
}

// read gives the value of a signal that has come.
func (f Future[T]) read(u *scheduler.Unit) (T, error) {
	value, err := decodeSignal[T](u, f.signal.Read())
	if err != nil {
		return value, encoding("result of "+f.on.String(), err)
	}
	return value, nil
}

// AwaitWithin is [Future.Await] with a limit: the error is [ErrTimeout] if the future does not settle in time. Then the future
// lives on: what it stands for is not canceled. The limit is a durable timer.
func (f Future[T]) AwaitWithin(ctx Context, limit time.Duration) (value T, err error) {
	ctx.enter("Future.AwaitWithin")
	if f.empty() || f.Done() {
		return f.Await(ctx)
	}
	err = within(ctx, limit, func(ctx Context) (err error) {
		value, err = f.Await(ctx)
		return err
	})
	return value, err
}

// Done says whether the value, or its failure, is there: then Await does not wait. A future of a
// signal is done if a signal is there that no other code has taken.
func (f Future[T]) Done() bool {
	if f.signal != nil {
		return f.signal.Ready()
	}
	return f.promise != nil && f.promise.Settled()
}

func (f Future[T]) pending() *machine.Promise {
	if f.signal != nil {
		return f.signal.Promise()
	}
	return f.promise
}

func (f Future[T]) ready() bool            { return f.Done() }
func (f Future[T]) empty() bool            { return f.pending() == nil }
func (f Future[T]) what() string           { return f.on.String() }
func (f Future[T]) settled() bool          { return f.pending().Settled() }
func (f Future[T]) join(w machine.Waiter)  { f.pending().Wait(w) }
func (f Future[T]) leave(w machine.Waiter) { f.pending().Leave(w) }

func (f Future[T]) failed() error {
	_, _, err := f.pending().Outcome()
	return err
}

// hold has a future of a signal take its place among the receivers; release gives it back.
func (f Future[T]) hold(u *scheduler.Unit) {
	if f.signal != nil {
		f.signal.Hold(u)
	}
}

func (f Future[T]) release(u *scheduler.Unit) {
	if f.signal != nil {
		f.signal.Release(u.Run())
	}
}

// label is a diagnostic text that is made before it is needed.
type label string

func (l label) String() string { return string(l) }

// operation is what every command with an answer does: it is emitted, and its future given.
func operation[T any](
	u *scheduler.Unit, scope *scheduler.Scope, command history.Sequenced,
) Future[T] {
	op := &machine.Operation{}
	u.Schedule(command, scope, op)
	return Future[T]{promise: &op.Promise, scope: scope, on: op}
}

// failedFuture is a future that has failed already.
func failedFuture[T any](err error) Future[T] {
	p := &machine.Promise{}
	p.Break(err)
	return Future[T]{promise: p, on: label("a call that failed at once")}
}
