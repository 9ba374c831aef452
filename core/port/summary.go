package port

import (
	"strconv"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Summary is what everybody sees of a run.
type Summary struct {
	// Start is the filing of the start that created the run, or that reused its id. It shows which
	// caller's start that was. It is stored, and callers do not see it. It is "" in rows of older
	// versions, and in rows of children.
	Start    string `json:"-"`
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	// Definition is the version of the published definition that the run has; zero: it runs the
	// program's own code, or has not begun.
	Definition int                `json:"definition,omitempty"`
	Generation int                `json:"generation"`
	Status     history.Status     `json:"status"`
	Blocked    *Block             `json:"blocked,omitempty"`
	Started    time.Time          `json:"started"`
	Closed     time.Time          `json:"closed,omitzero"`
	Input      history.Payload    `json:"input,omitempty"`
	Result     history.Payload    `json:"result,omitempty"`
	Failure    *history.Failure   `json:"failure,omitempty"`
	State      history.Payload    `json:"state,omitempty"`
	Attributes history.Attributes `json:"attributes,omitempty"`
	Parent     *history.Parent    `json:"parent,omitempty"`
	// Ancestors counts the runs that wait for this one: its parent, the parent of that, and so on.
	// A run that continues when its parent closes has none.
	Ancestors int `json:"ancestors,omitempty"`
	// Large names the values that were left out of this summary for their length: see
	// [Summary.LeaveOut]. It is not stored.
	Large map[string]Large `json:"large,omitempty"`
}

// End writes how a generation ended into the summary.
func (s *Summary) End(command history.Terminal, now time.Time) {
	switch command := command.(type) {
	case *history.CompleteRun:
		s.Result = command.Result
	case *history.FailRun:
		s.Failure = command.Failure
	case *history.CancelRun:
		s.Failure = command.Failure
	case *history.TerminateRun:
		s.Failure = command.Failure
	case *history.ContinueAsNew:
		s.Generation++
		s.Input = command.Input
		return
	case *history.ResetRun:
		s.Generation++
		return
	}
	s.Status, s.Closed = command.Status(), now
}

// Recipient ends the keys of messages to a run: another run may have had the id before, and what
// was sent to that one must not lie in the place of what is sent to this one.
func (s *Summary) Recipient() string { return "#" + strconv.FormatInt(s.Started.UnixNano(), 36) }

// IsFormer says whether an item is a message to a run that had the id before: it ended without
// reading it, or was resent late.
func (s *Summary) IsFormer(item Item) bool {
	_, is := item.Event.(history.Mail)
	return is && !strings.HasSuffix(item.Key, s.Recipient())
}

// Bytes is how long the values in a summary are: input, result, state, attributes and failure. Nil
// has none.
func (s *Summary) Bytes() int {
	if s == nil {
		return 0
	}
	size := len(s.Input) + len(s.Result) + len(s.State) + s.Failure.Bytes()
	for _, value := range s.Attributes { // order-insensitive: a sum
		size += len(value)
	}
	return size
}
