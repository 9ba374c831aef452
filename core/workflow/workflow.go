// Package workflow is what authors of workflows import.
//
// A workflow is a Go function that takes a [Context] and an input. It must decide the same way whenever it sees the same
// inputs and results, since its progress is restored by running it again against its log; so it waits, and reaches the
// outside world, only through this package: activities do what has side effects, [Now], [Random] and [UUID] stand in for
// the clock and for chance. It uses no goroutines, channels, locks, global state or map order.
//
// What crosses the border of a run by name is a typed value, made once as a package variable and used by both sides:
// workflows ([New]), activities (activity.New), signals ([NewSignal]), updates ([NewUpdate]), queries ([NewQuery]),
// attributes ([NewAttribute]). Names are what runs remember: they stay when Go names change.
package workflow

import (
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Context is what workflow code reaches the engine through. It belongs to one unit: the workflow function, a branch, a
// handler; each is given its own, and using another's fails the activation with an error that says so.
type Context struct {
	unit  *scheduler.Unit
	scope *scheduler.Scope
}

// enter is the first line of every call: it is the unit's turn, or the activation fails.
func (ctx Context) enter(call string) *scheduler.Unit {
	if ctx.unit == nil {
		panic("workflow." + call + " was called with an empty workflow.Context: use the one that the function was given")
	}
	ctx.unit.Enter(call)
	return ctx.unit
}

// Err is why the context's scope was cancelled: [ErrCancelled], [ErrTimeout], or nil while it was not.
func (ctx Context) Err() error {
	ctx.enter("Context.Err")
	return ctx.scope.Err()
}

// None is the input or the result of what takes or gives nothing: of a workflow, an activity, a signal, an update or a query.
type None = struct{}

// Definition is what a program registers: a workflow or an activity, with its name and its code, or a
// [Signal], with its name and its type.
type Definition interface{ registry.Definition }

// Workflow is a workflow that takes an I and gives an O.
type Workflow[I, O any] struct {
	name    string
	options ChildOptions
	run     func(Context, I) (O, error)
	// failOnPanic: see [Workflow.FailOnPanic].
	failOnPanic bool
}

// New makes a workflow. The name is what runs remember: it stays when the function is renamed or moved.
//
// A function that returns a result ends the run once the handlers of its messages have ended. Updates
// that come from then on are rejected, and branches that no code awaits are cut off. To end waiting
// handlers, give them a context of [WithCancel] and cancel it. A function that returns an error ends
// the run at once.
func New[I, O any](name string, run func(Context, I) (O, error)) *Workflow[I, O] {
	return &Workflow[I, O]{name: name, run: run}
}

// Declare makes a workflow whose code is elsewhere, or that calls itself as a child: the program registers [Workflow.Implement].
func Declare[I, O any](name string) *Workflow[I, O] { return &Workflow[I, O]{name: name} }

// Implement gives a declared workflow its code.
func (w *Workflow[I, O]) Implement(run func(Context, I) (O, error)) *Workflow[I, O] {
	v := *w
	v.run = run
	return &v
}

// FailOnPanic gives the same workflow with another answer to panics. Without it, a panic in workflow
// code blocks the run: nothing that the code did since it last waited counts, messages stay in the
// inbox, and the run continues once fixed code is deployed. With it, a panic is an error of the
// function that panicked: the workflow function's fails the run, a branch's is that branch's error,
// an update handler's fails the update, a signal handler's fails the run.
//
// Deferred functions run while a panic passes. If one of them waits, for an activity for example, what
// it has called is in the log, and fixed code must make the same call. A reset helps there.
func (w *Workflow[I, O]) FailOnPanic() *Workflow[I, O] {
	v := *w
	v.failOnPanic = true
	return &v
}

// Name is what runs remember the workflow by.
func (w *Workflow[I, O]) Name() string { return w.name }

// Define registers the workflow.
func (w *Workflow[I, O]) Define(into *registry.Registry) {
	if w.run == nil {
		into.Workflow(w.name, nil, nil)
		return
	}
	into.Workflow(w.name, w.enter, registry.TypeOf[I]())
}

// enter is the workflow function in the form that the scheduler runs.
func (w *Workflow[I, O]) enter(u *scheduler.Unit, input history.Payload) (history.Payload, error) {
	if w.failOnPanic {
		u.Run().FailOnPanic()
	}
	in, err := history.Decode[I](input)
	if err != nil {
		return nil, encoding("input of workflow "+w.name, err)
	}
	out, err := w.run(Context{unit: u, scope: u.Run().Scope()}, in)
	if err != nil {
		return nil, continues[I](w.name, err)
	}
	result, err := history.Encode(out)
	if err != nil {
		return nil, encoding("result of workflow "+w.name, err)
	}
	return result, nil
}

func encoding(what string, err error) *history.Failure {
	return &history.Failure{FailureKind: history.Encoding, Message: what + ": " + err.Error(), NonRetryable: true}
}
