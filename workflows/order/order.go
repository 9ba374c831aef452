// Package order is a workflow to read first: it sells something.
//
// An order reserves its items, charges the customer, waits for somebody to approve it, and ships. If a step fails for good,
// nobody approves in time, or the run is cancelled, then everything done so far is undone, the latest first. Meanwhile the
// address can be changed, and everybody can see how far the order is.
//
//	reprise start order --run o-1 --input '{"customer":"Ada","address":"12 Park Row","items":[{"sku":"tea","quantity":2,"cents":450}]}'
//	reprise signal o-1 approval '{"approved":true,"by":"Grace"}'
//
// The story is in this file. What crosses the border of a run is in messages.go; activities.go holds what has side effects;
// ledger.go keeps these in a folder of files, so that the example needs no shop and no bank.
package order

import (
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
)

// Workflow sells something.
var Workflow = workflow.New("order", sell)

// Definitions are what a program registers to run orders.
func Definitions() []workflow.Definition {
	return []workflow.Definition{Workflow, Reserve, Release, Charge, Refund, Ship, Recall, Approval}
}

// sell does, and if something goes wrong on the way, undoes.
func sell(ctx workflow.Context, input Input) (Receipt, error) {
	if err := input.validate(); err != nil {
		return Receipt{}, workflow.Fail(Invalid, "%v", err)
	}
	workflow.SetAttributes(ctx, Customer.Is(input.Customer), Total.Is(input.total()))
	o := &order{input: input, booking: Booking{Order: workflow.UUID(ctx), Ledger: input.Ledger, Faults: input.Faults}}
	o.receive(ctx)

	var undo workflow.Compensations
	receipt, err := o.fulfil(ctx, &undo)
	if err == nil {
		return receipt, nil
	}
	o.enter(ctx, Undoing)
	err = undo.Run(ctx, err) // also when ctx is cancelled
	o.enter(ctx, Undone)
	return Receipt{}, err
}

// order is a run's memory: plain variables, brought back by running the code again.
type order struct {
	input   Input
	booking Booking
	stage   Stage
}

// fulfil goes from step to step. How to undo a step is said before the step is begun: one that fails, or is cancelled, may
// have done its work all the same, and only its answer is missing.
func (o *order) fulfil(ctx workflow.Context, undo *workflow.Compensations) (receipt Receipt, err error) {
	receipt.Order = o.booking.Order

	o.enter(ctx, Reserving)
	undo.Add("reservation", with(Release, o.booking))
	if receipt.Reservation, err = workflow.Execute(ctx, Reserve, Reservation{o.booking, o.input.Items}); err != nil {
		return receipt, err
	}

	o.enter(ctx, Charging)
	undo.Add("charge", with(Refund, o.booking))
	if receipt.Charge, err = workflow.Execute(ctx, Charge, Payment{o.booking, o.input.Customer, o.input.total()}); err != nil {
		return receipt, err
	}

	o.enter(ctx, AwaitingApproval)
	if receipt.ApprovedBy, err = o.awaitApproval(ctx); err != nil {
		return receipt, err
	}

	o.enter(ctx, Shipping) // from here on the address is fixed
	receipt.Address = o.input.Address
	undo.Add("shipment", with(Recall, o.booking))
	if receipt.Shipment, err = workflow.Execute(ctx, Ship, Parcel{o.booking, o.input.Address}); err != nil {
		return receipt, err
	}
	o.enter(ctx, Shipped)
	return receipt, nil
}

// awaitApproval gives who approved. A run that waits costs nothing, so it may wait for days.
func (o *order) awaitApproval(ctx workflow.Context) (by string, err error) {
	limit := time.Duration(o.input.ApproveWithin)
	if limit == 0 {
		limit = 24 * time.Hour
	}
	waiting, stop := workflow.WithTimeout(ctx, limit)
	defer stop()
	decision, err := workflow.AwaitSignal(waiting, Approval)
	switch {
	case errors.Is(err, workflow.ErrTimeout):
		return "", workflow.Fail(NotApproved, "nobody approved the order within %s", limit)
	case err != nil:
		return "", err
	case !decision.Approved:
		return "", workflow.Fail(Refused, "refused by %s", decision.By)
	}
	return decision.By, nil
}

// receive says what the run does with messages, whenever they come.
func (o *order) receive(ctx workflow.Context) {
	workflow.HandleQuery(ctx, Status, func(struct{}) (Progress, error) { return o.progress(), nil })

	workflow.HandleUpdate(ctx, ChangeAddress, func(ctx workflow.Context, address string) (Progress, error) {
		o.input.Address = address
		workflow.PublishState(ctx, o.progress())
		return o.progress(), nil
	}, func(address string) error { // a validator: what it refuses leaves no trace
		if address == "" {
			return errors.New("the new address is empty")
		}
		return nil
	}, func(string) error {
		if o.stage.final() {
			return workflow.Fail(TooLate, "the order is %s: its address cannot be changed any more", o.stage)
		}
		return nil
	})
}

// enter shows where the order is: to whoever lists or gets runs, and to those who search by the attribute.
func (o *order) enter(ctx workflow.Context, stage Stage) {
	o.stage = stage
	workflow.SetAttributes(ctx, At.Is(stage))
	workflow.PublishState(ctx, o.progress())
}

func (o *order) progress() Progress {
	return Progress{Order: o.booking.Order, Stage: o.stage, Address: o.input.Address, Cents: o.input.total()}
}
