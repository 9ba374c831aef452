package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"modernc.org/quickjs"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// told is a failure as the prelude makes an error of it.
type told struct {
	Name    string          `json:"name"`
	Message string          `json:"message"`
	Type    string          `json:"type,omitempty"`
	Task    string          `json:"task,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
	Failure string          `json:"failure"` // the whole, for Go
}

// encodeFailure makes an error of the script out of the failure of a call.
func encodeFailure(err error) string {
	failure := history.FailureOf(err)
	origin := failure
	for origin.Cause != nil {
		origin = origin.Cause
	}
	t := told{Name: errorName(err, failure), Message: origin.Message, Type: origin.Type, Details: json.RawMessage(origin.Details)}
	if failure.FailureKind == history.ActivityKind || failure.FailureKind == history.ChildKind {
		t.Task = strings.TrimPrefix(failure.Type, Prefix)
	}
	whole, _ := json.Marshal(failure)
	t.Failure = string(whole)
	text, _ := json.Marshal(t)
	return string(text)
}

func errorName(err error, failure *history.Failure) string {
	switch {
	case errors.Is(err, workflow.ErrCancelled):
		return "CancelledError"
	case errors.Is(err, workflow.ErrTimeout):
		return "TimeoutError"
	case failure.FailureKind == history.ChildKind:
		return "ChildError"
	}
	return "TaskError"
}

// described is an error that the script threw, as the prelude tells it.
type described struct {
	Name, Message, Stack, Failure string
	Details                       json.RawMessage
}

// failure is what a run or an update fails with when the script threw. An error of the JavaScript
// engine itself fails the activation instead.
func (s *Script) failure(thrown string) *history.Failure {
	d, err := decode[described](thrown)
	if err != nil {
		return history.FailureOf(err)
	}
	if d.Name == "InternalError" {
		panic(s.broken(&quickjs.Error{Name: d.Name, Message: d.Message, Stack: d.Stack}))
	}
	stack := s.stack(d.Stack, mostFrames)
	if original := (&history.Failure{}); d.Failure != "" && json.Unmarshal([]byte(d.Failure), original) == nil {
		if original.Stack == "" {
			original.Stack = stack
		}
		return original
	}
	made := &history.Failure{FailureKind: history.Application, Type: d.Name, Message: d.Message, Stack: stack}
	if string(d.Details) != "null" {
		made.Details = history.Payload(d.Details)
	}
	return made
}

// thrown is the failure of an error that left the script while Go called it.
func (s *Script) thrown(err error) error {
	var e *quickjs.Error
	if !errors.As(err, &e) {
		return err
	}
	return &history.Failure{FailureKind: history.Application, Type: e.Name, Message: e.Message, Stack: s.stack(e.Stack, mostFrames)}
}

// Broken is the panic of a script that cannot go on: it blocks the run.
type Broken struct {
	At     string // file, line and column; empty if they are not known
	Reason string
	stack  string
}

// Stack is the script's own: its functions that were under way, innermost first.
func (b *Broken) Stack() string { return b.stack }

func (b *Broken) Error() string {
	if b.At == "" {
		return b.Reason
	}
	return b.At + ": " + b.Reason
}

// broken says why and where a script cannot go on.
func (s *Script) broken(err error) *Broken {
	var e *quickjs.Error
	if !errors.As(err, &e) {
		return &Broken{Reason: err.Error()}
	}
	reason := e.Message
	switch e.Message {
	case "interrupted":
		reason = fmt.Sprintf("the script computed for %s without waiting for anything: make its steps shorter", s.turn)
	case "out of memory":
		reason = overMemory
	case "stack overflow":
		reason = "the script's functions call each other too deeply"
	}
	stack := s.stack(e.Stack, mostFrames)
	at, _, _ := strings.Cut(stack, "\n")
	return &Broken{inParentheses(at), reason, stack}
}

var overMemory = fmt.Sprintf("the script needs more than %d MB of memory", MaxMemory>>20)

var frame = regexp.MustCompile(`^\s*at (?:(.*) \()?<eval>:(\d+):(\d+)\)?$`)

// mostFrames of a stack are kept.
const mostFrames = 20

// stack is a stack of the script's own functions, innermost first, with the script's file name.
func (s *Script) stack(text string, most int) string {
	var lines []string
	for line := range strings.Lines(text) {
		found := frame.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if found == nil {
			continue
		}
		row, _ := strconv.Atoi(found[2])
		column, _ := strconv.Atoi(found[3])
		if row >= firstLine {
			continue
		}
		place := s.source.position(row, column)
		if found[1] != "" {
			place = found[1] + " (" + place + ")"
		}
		if lines = append(lines, place); len(lines) == most {
			break
		}
	}
	return strings.Join(lines, "\n")
}

// inParentheses is the place in a line of a stack.
func inParentheses(line string) string {
	if _, place, found := strings.Cut(line, " ("); found {
		return strings.TrimSuffix(place, ")")
	}
	return line
}

// interrupted finds where a script was interrupted: it lets the script tell, for a moment.
func (r *run) interrupted(err error) error {
	if !errors.Is(err, errInterrupted) {
		return err
	}
	fault := &quickjs.Error{Name: "InternalError", Message: "interrupted"}
	_ = r.box.vm.SetEvalTimeout(afterTurn)
	_, _ = r.box.vm.ExecutePendingJobs()
	if r.ended != nil && r.ended.op == "failed" {
		if d, err := decode[described](r.ended.value); err == nil && d.Name == "InternalError" {
			fault.Stack = d.Stack
		}
	}
	return fault
}
