package order

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
)

// Input is what is ordered.
type Input struct {
	Customer string `json:"customer"`
	Address  string `json:"address"`
	Items    []Item `json:"items"`
	// ApproveWithin is how long the order waits for its approval. Empty: 24h.
	ApproveWithin Duration `json:"approveWithin,omitzero"`
	// Ledger names the folder in which the activities note what they do. It lies within the [Folder] that the server's
	// operator allows. Empty: that folder itself.
	Ledger string `json:"ledger,omitempty"`
	// Faults to try the workflow with.
	Faults Faults `json:"faults,omitzero"`
}

// Item is one line of an order.
type Item struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"` // each
}

// Receipt is what a fulfilled order gives.
type Receipt struct {
	Order       string `json:"order"`
	Reservation string `json:"reservation"`
	Charge      string `json:"charge"`
	Shipment    string `json:"shipment"`
	Address     string `json:"address"`
	ApprovedBy  string `json:"approvedBy"`
}

// Decision is what the one who approves or refuses sends.
type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
}

// Progress is how far an order is.
type Progress struct {
	Order   string `json:"order"`
	Stage   Stage  `json:"stage"`
	Address string `json:"address"`
	Cents   int    `json:"cents"`
}

// Stage is where an order is. Stages are searched by, and read by other programs: they are never renamed.
type Stage string

const (
	Reserving        Stage = "reserving"
	Charging         Stage = "charging"
	AwaitingApproval Stage = "awaiting-approval"
	Shipping         Stage = "shipping"
	Shipped          Stage = "shipped"
	Undoing          Stage = "undoing"
	Undone           Stage = "undone"
)

// final says whether the order goes out as it is, or not at all.
func (s Stage) final() bool {
	return s == Shipping || s == Shipped || s == Undoing || s == Undone
}

// What has a name is made once: the workflow and its callers use the same typed value.
var (
	// Approval lets an order go on, or not.
	Approval = workflow.NewSignal[Decision]("approval")
	// ChangeAddress has an order shipped to another address, until it is being shipped.
	ChangeAddress = workflow.NewUpdate[string, Progress]("change-address")
	// Status asks how far the order is.
	Status = workflow.NewQuery[struct{}, Progress]("status")

	// Orders are searched by these.
	Customer = workflow.NewAttribute[string]("customer")
	Total    = workflow.NewAttribute[int]("cents")
	At       = workflow.NewAttribute[Stage]("stage")
)

// Types of failure, for whoever starts orders to tell apart.
const (
	Invalid       = "invalid-order" // the input cannot be right
	CardDeclined  = "card-declined"
	NotApproved   = "not-approved" // nobody decided in time
	Refused       = "refused"
	Undeliverable = "undeliverable" // nobody can ship it there
	TooLate       = "too-late"      // of an update: the order is past the point
)

func (in Input) validate() error {
	var errs []error
	if in.Customer == "" {
		errs = append(errs, errors.New("customer is missing"))
	}
	if in.Address == "" {
		errs = append(errs, errors.New("address is missing"))
	}
	if len(in.Items) == 0 {
		errs = append(errs, errors.New("items are missing"))
	}
	for i, item := range in.Items {
		if item.SKU == "" || item.Quantity < 1 || item.Cents < 0 {
			errs = append(errs, fmt.Errorf("items[%d] needs a sku, a quantity of at least 1, and cents of at least 0", i))
		}
	}
	if in.ApproveWithin < 0 {
		errs = append(errs, errors.New("approveWithin is negative"))
	}
	return errors.Join(errs...)
}

func (in Input) total() (cents int) {
	for _, item := range in.Items {
		cents += item.Quantity * item.Cents
	}
	return cents
}

// Duration is one that people write: "90s", "24h".
type Duration time.Duration

// MarshalText writes it so.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads it so.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}
