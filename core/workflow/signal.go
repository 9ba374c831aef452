package workflow

import (
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Signal is a message of type T to a run, without an answer. One that does not fit the type blocks
// the run, whichever way the code takes it: it is kept, and the run continues under fixed code.
type Signal[T any] struct{ name string }

// NewSignal makes a signal. The name is what runs and callers know it by.
func NewSignal[T any](name string) *Signal[T] { return &Signal[T]{name: name} }

// Name is what runs and callers know the signal by.
func (s *Signal[T]) Name() string { return s.name }

// Define registers the signal: then the API refuses one that does not fit its type, and its answer has
// a hint for names that are not registered. A program that registers no signal accepts them all.
func (s *Signal[T]) Define(into *registry.Registry) { into.Signal(s.name, registry.TypeOf[T]()) }

// AwaitSignal waits for the next signal of this sort. Those that came before anybody waited are kept, in order. For a
// limit, wait in a [WithTimeout] context.
func AwaitSignal[T any](ctx Context, signal *Signal[T]) (T, error) {
	u := ctx.enter("AwaitSignal")
	return receive(u, ctx, signal, !u.Run().Since(1)).Await(ctx)
}

// Receive gives a future of the next signal, for [Race] and the like. It takes a signal while a unit
// awaits it, and only then: one that lost a race, or that the code forgets, leaves the signals to
// others, and to the next generation ([ContinueAsNew]).
func Receive[T any](ctx Context, signal *Signal[T]) Future[T] {
	u := ctx.enter("Receive")
	return receive(u, ctx, signal, !u.Run().Since(1))
}

func receive[T any](u *scheduler.Unit, ctx Context, signal *Signal[T], eager bool) Future[T] {
	reception := u.Receive(signal.name, ctx.scope, eager)
	return Future[T]{signal: reception, scope: ctx.scope, on: label("signal " + signal.name)}
}

// TryReceive gives a signal of this sort that is there and that no other code has taken. It does not
// wait; false if there is none.
func TryReceive[T any](ctx Context, signal *Signal[T]) (value T, received bool, err error) {
	u := ctx.enter("TryReceive")
	message := u.Take(signal.name)
	if message == nil {
		return value, false, nil
	}
	if value, err = decodeSignal[T](u, message); err != nil {
		return value, false, encoding("signal "+signal.name, err)
	}
	return value, true, nil
}

// decodeSignal gives a signal's value. A signal that does not fit its type fails the activation: it
// must not be lost, and fixed code may take it. Logs of a behavior version below 2 have the error.
func decodeSignal[T any](u *scheduler.Unit, m *scheduler.Message) (T, error) {
	value, err := history.Decode[T](m.Input)
	if err != nil {
		u.Undecodable(m, err)
	}
	return value, err
}

// ReceiveWithin waits for the next signal of this sort, for a while at most. False without an error:
// none came in time, and a later one is left to others. It returns the scope's error when the scope is
// canceled meanwhile. With a duration of zero or less it does not wait, as [TryReceive].
func ReceiveWithin[T any](ctx Context, signal *Signal[T], d time.Duration) (value T, received bool, err error) {
	u := ctx.enter("ReceiveWithin")
	if err := ctx.scope.Err(); err != nil {
		return value, false, err
	}
	if value, received, err = TryReceive(ctx, signal); received || err != nil || d <= 0 {
		return value, received, err
	}
	limited, cancel := WithCancel(ctx)
	next := receive(u, ctx, signal, false)
	first, err := Race(ctx, next, Timer(limited, d))
	cancel()
	if err != nil || first > 0 {
		return value, false, err
	}
	value, err = next.Await(ctx)
	return value, err == nil, err
}

// HandleSignal runs a function for every signal of this sort, each as a unit of its own, those first that came before. It
// takes precedence over AwaitSignal. An error that it returns is logged, at level ERROR.
func HandleSignal[T any](ctx Context, signal *Signal[T], handle func(Context, T) error) {
	u := ctx.enter("HandleSignal")
	u.HandleSignal(signal.name, func(u *scheduler.Unit, m *scheduler.Message) {
		input, err := decodeSignal[T](u, m)
		if err == nil {
			err = handle(Context{unit: u, scope: ctx.scope}, input)
		}
		if err != nil {
			u.LogError("the handler of signal "+signal.name+" failed", err)
		}
	})
}
