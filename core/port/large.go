package port

import (
	"maps"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// Limits of values in answers. A longer value is left out, and [Summary.Large] says its size.
const (
	// LongestListed is how many bytes a value of a run in a list has at most: an input, a result, a
	// state, a failure.
	LongestListed = 2 << 10
	// LongestShown is how many bytes such a value has at most where one run is shown.
	LongestShown = 64 << 10
	// LongestPreview is how many bytes are shown of a value that is left out.
	LongestPreview = 200
)

// Large is a value that was left out for its length.
type Large struct {
	// Bytes is how long it is as JSON. Zero: it is kept elsewhere, and was stored before sizes were
	// noted.
	Bytes int64 `json:"bytes"`
	// Preview is how it begins; empty where it is kept elsewhere.
	Preview string `json:"preview,omitempty"`
}

// LargeOf says of a value that is left out how long it is, and how it begins.
func LargeOf(value history.Payload) Large { return Large{int64(len(value)), beginning(value)} }

// Names of the values of a run that may be large: what [Summary.Value] takes.
const (
	ValueInput   = "input"
	ValueResult  = "result"
	ValueState   = "state"
	ValueFailure = "failure"
	ValueDetails = "details" // of a task's state
)

// LargeAttribute begins the name of an attribute among the large values. Only lists leave one out:
// the limit of attributes, [history.MaxAttribute], is less than [LongestShown].
const LargeAttribute = "attributes."

// Values lists these names.
func Values() []string { return []string{ValueInput, ValueResult, ValueState, ValueFailure} }

// payload is where a summary has the payload of this name; nil: it has none.
func (s *Summary) payload(name string) *history.Payload {
	switch name {
	case ValueInput:
		return &s.Input
	case ValueResult:
		return &s.Result
	case ValueState:
		return &s.State
	}
	return nil
}

// Value gives a value of a run as JSON, whole; nil: there is none. A failure is in its stored form.
// A name that is not one of [Values] is an error with the code not-found.
func (s *Summary) Value(name string) (history.Payload, error) {
	switch payload := s.payload(name); {
	case payload != nil:
		return *payload, nil
	case name != ValueFailure:
		return nil, Errorf(NotFound, "a run has no value %q: there are %s", name,
			strings.Join(Values(), ", "))
	case s.Failure == nil:
		return nil, nil
	}
	text, err := history.Marshal(s.Failure)
	return text, err
}

// LeaveOut gives the summary without the values that have more than so many bytes: [Summary.Large]
// names them. It keeps no reference to them. A failure keeps its kind, its type and the beginning
// of its message.
func (s *Summary) LeaveOut(most int) *Summary {
	brief := *s
	brief.Large = nil
	for name, large := range s.Large { // order-insensitive: a copy
		brief.leftOut(name, large)
	}
	for _, name := range Values() {
		if payload := brief.payload(name); payload != nil && len(*payload) > most {
			brief.leftOut(name, LargeOf(*payload))
			*payload = nil
		}
	}
	for name, value := range s.Attributes { // order-insensitive: each by itself
		if len(value) > most {
			brief.leftOut(LargeAttribute+name, LargeOf(value))
		}
	}
	if len(brief.Large) > 0 && len(s.Attributes) > 0 {
		brief.Attributes = maps.Clone(s.Attributes)
		maps.DeleteFunc(brief.Attributes, func(_ string, value history.Payload) bool {
			return len(value) > most
		})
	}
	if f := s.Failure; f.Bytes() > most {
		short := beginning(f.Message)
		brief.leftOut(ValueFailure, Large{int64(f.Bytes()), short})
		brief.Failure = &history.Failure{FailureKind: f.FailureKind, Type: f.Type, Message: short, NonRetryable: f.NonRetryable}
	}
	return &brief
}

// beginning of a text, in memory of its own.
func beginning[T ~string | ~[]byte](text T) string {
	if len(text) <= LongestPreview {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:LongestPreview]), "") + "…"
}

// LeaveOut gives the state without details that have more than so many bytes.
func (s *TaskState) LeaveOut(most int) *TaskState {
	if len(s.Details) <= most {
		return s
	}
	brief := *s
	brief.Large = map[string]Large{ValueDetails: LargeOf(s.Details)}
	brief.Details = nil
	return &brief
}

func (s *Summary) leftOut(name string, value Large) {
	if s.Large == nil {
		s.Large = map[string]Large{}
	}
	s.Large[name] = value
}
