package workflow

import (
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Update is a message to a run that takes an I and is answered with an O.
type Update[I, O any] struct{ name string }

// NewUpdate makes an update. The name is what runs and callers know it by.
func NewUpdate[I, O any](name string) *Update[I, O] { return &Update[I, O]{name: name} }

// Name is what runs and callers know the update by.
func (d *Update[I, O]) Name() string { return d.name }

// HandleUpdate answers every update of this sort, each in a unit of its own. The validators look at
// the input first: the error of one rejects the update, and nothing has happened. Then the handler
// runs, and may wait. Its error fails the update, not the run. A panic blocks the run, as any panic in
// workflow code does; in a workflow that fails on panics ([Workflow.FailOnPanic]) it counts as the
// error of the validator or the handler. An update that nothing handles is rejected.
func HandleUpdate[I, O any](ctx Context, update *Update[I, O], handle func(Context, I) (O, error), validators ...func(I) error) {
	u := ctx.enter("HandleUpdate")
	u.HandleUpdate(update.name, func(u *scheduler.Unit, m *scheduler.Message) {
		input, ok := accept(u, m, validators)
		if !ok {
			return
		}
		out, err := handle(Context{unit: u, scope: ctx.scope}, input)
		answer(u, m, out, err)
	})
}

// accept decodes and validates an update's input.
func accept[I any](
	u *scheduler.Unit, m *scheduler.Message, validators []func(I) error,
) (input I, ok bool) {
	input, err := history.Decode[I](m.Input)
	if err != nil {
		m.Reject(u, encoding("input of update "+m.Name, err))
		return input, false
	}
	if !m.Validated() {
		for _, validate := range validators {
			look := func() error { return u.ReadOnly(func() error { return validate(input) }) }
			if err := u.Recovering(look); err != nil {
				m.Reject(u, err)
				return input, false
			}
		}
	}
	m.Accept(u)
	return input, true
}

func answer[O any](u *scheduler.Unit, m *scheduler.Message, out O, err error) {
	var result history.Payload
	if err == nil {
		if result, err = history.Encode(out); err != nil {
			err = encoding("result of update "+m.Name, err)
		}
	}
	m.Complete(u, result, err)
}
