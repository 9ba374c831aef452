package order

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// Booking is what every activity of an order is given.
type Booking struct {
	// Order is the order's number. It is drawn before anything is done, so that undoing can name what was to be done, even
	// where no answer came back.
	Order  string `json:"order"`
	Ledger string `json:"ledger,omitempty"`
	Faults Faults `json:"faults,omitzero"`
}

// Reservation is what to set aside.
type Reservation struct {
	Booking
	Items []Item `json:"items"`
}

// Payment is what to charge.
type Payment struct {
	Booking
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}

// Parcel is what to ship.
type Parcel struct {
	Booking
	Address string `json:"address"`
}

// Each step can be undone. A step gives up after some attempts, and has the order undone; undoing never gives up.
var (
	Reserve = activity.New("order-reserve", reserve).With(doing())
	Release = activity.New("order-release", undo(Reservations)).With(undoing)

	Charge = activity.New("order-charge", charge).With(doing(CardDeclined))
	Refund = activity.New("order-refund", undo(Charges)).With(undoing)

	Ship   = activity.New("order-ship", ship).With(doing(Undeliverable))
	Recall = activity.New("order-recall", undo(Shipments)).With(undoing)
)

var undoing = activity.Options{StartToClose: 10 * time.Second, Retry: activity.Retry{InitialInterval: 100 * time.Millisecond, MaxInterval: time.Minute}}

// doing makes the options of a step; another attempt does not help against these failures.
func doing(final ...string) activity.Options {
	options := undoing
	options.Retry.MaxAttempts = 8
	options.Retry.NonRetryable = final
	return options
}

func reserve(ctx context.Context, in Reservation) (string, error) {
	return in.once(ctx, Reservations, fmt.Sprint(in.Items))
}

func charge(ctx context.Context, in Payment) (string, error) {
	if in.Faults.DeclineCard {
		return "", activity.Fail(CardDeclined, "the card of %s was declined", in.Customer)
	}
	return in.once(ctx, Charges, fmt.Sprintf("%d cents from %s", in.Cents, in.Customer))
}

func ship(ctx context.Context, in Parcel) (string, error) {
	if in.Faults.NoCarrier {
		return "", activity.Fail(Undeliverable, "nobody ships to %s", in.Address)
	}
	return in.once(ctx, Shipments, "to "+in.Address)
}

// once does something once, however often it is attempted: the ledger knows repetitions by their key, as a payment service
// would.
func (b Booking) once(ctx context.Context, kind Kind, what string) (confirmation string, err error) {
	if err := b.Faults.wait(ctx); err != nil {
		return "", err
	}
	ledger, err := OpenLedger(ledgers(ctx), b.Ledger)
	if err != nil {
		return "", err
	}
	defer func() { _ = ledger.Close() }()
	info := activity.InfoOf(ctx)
	confirmation, err = ledger.Do(kind, Entry{Key: info.IdempotencyKey, Run: info.RunID, Order: b.Order, What: what})
	if err == nil {
		err = b.Faults.strike(ctx)
	}
	return confirmation, err
}

// undo makes the function that undoes what an order did of a kind, if it did.
func undo(kind Kind) func(context.Context, Booking) (struct{}, error) {
	return func(ctx context.Context, b Booking) (struct{}, error) {
		if err := b.Faults.wait(ctx); err != nil {
			return struct{}{}, err
		}
		ledger, err := OpenLedger(ledgers(ctx), b.Ledger)
		if err != nil {
			return struct{}{}, err
		}
		defer func() { _ = ledger.Close() }()
		err = ledger.Undo(kind, b.Order)
		if err == nil {
			err = b.Faults.strike(ctx)
		}
		return struct{}{}, err
	}
}

// with makes a compensation of an activity that undoes.
func with(undo *activity.Activity[Booking, struct{}], b Booking) func(workflow.Context) error {
	return func(ctx workflow.Context) error {
		_, err := workflow.Execute(ctx, undo, b)
		return err
	}
}

// Faults make the activities of one order misbehave.
type Faults struct {
	// DeclineCard has the charge fail for good, NoCarrier the shipment.
	DeclineCard bool `json:"declineCard,omitempty"`
	NoCarrier   bool `json:"noCarrier,omitempty"`
	// Fail is how many attempts of each activity fail, each after it has done its work: only the answer is lost.
	Fail int `json:"fail,omitempty"`
	// Slow is how long each attempt takes.
	Slow Duration `json:"slow,omitzero"`
}

func (f Faults) wait(ctx context.Context) error {
	if f.Slow <= 0 {
		return nil
	}
	select {
	case <-time.After(time.Duration(f.Slow)):
		return nil
	case <-ctx.Done(): // the run was cancelled, or the attempt is out of time
		return ctx.Err()
	}
}

func (f Faults) strike(ctx context.Context) error {
	if attempt := activity.InfoOf(ctx).Attempt; attempt <= f.Fail {
		return fmt.Errorf("the answer of attempt %d was lost", attempt)
	}
	return nil
}
