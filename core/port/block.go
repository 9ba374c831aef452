package port

import "time"

// Block says why a run cannot advance.
type Block struct {
	// ID tells this mark from one that is made later: whoever was asked to take this one off leaves
	// that alone.
	ID    string    `json:"id,omitempty"`
	Since time.Time `json:"since"`
	// Reason is a stable code: see the Reason constants.
	Reason string `json:"reason"`
	// Message says what happened, where, and what to do.
	Message string `json:"message"`
	// Version of the deployment under which it happened: another one may do better, and unblocks
	// it.
	Version string `json:"version,omitempty"`
}

// Reasons for a block.
const (
	ReasonNondeterminism = "nondeterminism"       // the code no longer agrees with the log
	ReasonUnregistered   = "unknown-workflow"     // no such workflow is registered here
	ReasonDefinition     = "invalid-definition"   // its definition cannot be interpreted here
	ReasonUnreadable     = "unreadable-record"    // a record is damaged, or of a newer version
	ReasonPanic          = "panic"                // workflow code panicked
	ReasonUndecodable    = "undecodable-signal"   // a signal does not fit its type
	ReasonStuck          = "stuck-unit"           // workflow code blocks outside the surface
	ReasonViolation      = "scheduler-violation"  // workflow code called the surface out of turn
	ReasonUndeliverable  = "undeliverable-resume" // a resume was received too often
	ReasonActivation     = "failed-activation"    // anything else
)
