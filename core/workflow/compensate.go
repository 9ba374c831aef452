package workflow

import (
	"errors"
	"fmt"
)

// Compensations undo what has been done, in reverse order, when a workflow fails on the way (a saga):
//
//	var undo workflow.Compensations
//	...
//	undo.Add("release", func(ctx workflow.Context) error { return release(ctx, reservation) })
//	...
//	return receipt, undo.Run(ctx, err)
type Compensations struct{ steps []compensation }

type compensation struct {
	name string
	undo func(Context) error
}

// Add says how to undo what has just been done, or is about to be.
func (c *Compensations) Add(name string, undo func(Context) error) {
	c.steps = append(c.steps, compensation{name, undo})
}

// Run does nothing when err is nil. Otherwise it undoes all, the latest first, shielded from
// cancellation. One that fails does not stop the others, nor does one that panics in a workflow that
// fails on panics; elsewhere a panic blocks the run, which continues here under fixed code. Run gives
// err, joined with the failures.
func (c *Compensations) Run(ctx Context, err error) error {
	if err == nil {
		return nil
	}
	ctx = Shield(ctx)
	errs := []error{err}
	for i := len(c.steps) - 1; i >= 0; i-- {
		undo := func() error { return c.steps[i].undo(ctx) }
		if failure := ctx.enter("Compensations.Run").Recovering(undo); failure != nil {
			errs = append(errs, fmt.Errorf("undo %s: %w", c.steps[i].name, failure))
		}
	}
	c.steps = nil
	if len(errs) == 1 {
		return err
	}
	return errors.Join(errs...)
}
