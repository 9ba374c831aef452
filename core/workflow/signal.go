package workflow

import (
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/executor"
)

// Signal is a message of type T to a run, without an answer.
type Signal[T any] struct{ name string }

// NewSignal makes a signal. The name is what runs and callers know it by.
func NewSignal[T any](name string) *Signal[T] { return &Signal[T]{name: name} }

// Name is what runs and callers know the signal by.
func (s *Signal[T]) Name() string { return s.name }

// AwaitSignal waits for the next signal of this sort. Those that came before anybody waited are kept, in order. For a
// limit, wait in a [WithTimeout] context.
func AwaitSignal[T any](ctx Context, signal *Signal[T]) (T, error) {
	return receive(ctx.enter("AwaitSignal"), ctx, signal).Await(ctx)
}

// Receive gives a future of the next signal, for [Race] and the like. A future that nobody awaits any more still takes a
// signal when it comes: make it in a scope that you cancel.
func Receive[T any](ctx Context, signal *Signal[T]) Future[T] {
	return receive(ctx.enter("Receive"), ctx, signal)
}

func receive[T any](u *executor.Unit, ctx Context, signal *Signal[T]) Future[T] {
	return Future[T]{promise: u.Receive(signal.name, ctx.scope), scope: ctx.scope, on: label("signal " + signal.name)}
}

// HandleSignal runs a function for every signal of this sort, each as a unit of its own, those first that came before. It
// takes precedence over AwaitSignal. An error that it returns is logged, at level ERROR.
func HandleSignal[T any](ctx Context, signal *Signal[T], handle func(Context, T) error) {
	u := ctx.enter("HandleSignal")
	u.HandleSignal(signal.name, func(u *executor.Unit, m *executor.Message) {
		input, err := history.Decode[T](m.Input)
		if err == nil {
			err = handle(Context{unit: u, scope: ctx.scope}, input)
		}
		if err != nil {
			u.LogError("the handler of signal "+signal.name+" failed", err)
		}
	})
}
