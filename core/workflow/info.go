package workflow

import (
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/history"
)

// Info is what a run knows of itself.
type Info struct {
	RunID      string
	Generation int // from 1: continue-as-new and reset begin the next one
	Workflow   string
	Parent     string // id of the run that started it as a child, or empty
	// LogSize is how many events and commands the generation's log has so far.
	LogSize int
	// ContinueAsNewSuggested: the log has become long, and each cold start replays it; see [ContinueAsNew].
	ContinueAsNewSuggested bool
	// Replaying: this code ran before, and what it does now has been done. For tracing and debugging only: a decision
	// that depends on it breaks the run.
	Replaying bool
}

// suggestAt is the log size from which continue-as-new is suggested: a replay of it takes about 10 ms.
const suggestAt = 10_000

// InfoOf gives the run's info.
func InfoOf(ctx Context) Info {
	run := ctx.enter("InfoOf").Run()
	id := run.ID()
	info := Info{RunID: id.Run, Generation: id.Generation, Workflow: id.Workflow, LogSize: run.Size(), Replaying: run.Replaying()}
	info.ContinueAsNewSuggested = info.LogSize >= suggestAt
	if parent := run.Started().Parent; parent != nil {
		info.Parent = parent.Run
	}
	return info
}

// Log has the server log a line, once: not on replay. args are pairs of key and value, as in log/slog.
func Log(ctx Context, message string, args ...any) { ctx.enter("Log").Log(message, args) }

// Yield ends this unit's step: it goes on in the next round, where units that come before it in order have a step first (the
// workflow function, then branches, then handlers).
func Yield(ctx Context) { ctx.enter("Yield").Yield() }

// Fail makes an error of a type of your own, which callers and parents can tell ([FailureType]).
func Fail(failureType, format string, args ...any) error {
	return &history.Failure{FailureKind: history.Application, Type: failureType, Message: fmt.Sprintf(format, args...)}
}

// FailureType is the type of the failure that an error of an activity or a child comes from: what activity.Fail or
// workflow.Fail was given, else the Go type of the author's error. Empty if the error comes from neither.
func FailureType(err error) string {
	if f := origin(err); f != nil {
		return f.Type
	}
	return ""
}

// FailureDetails gives what activity.WithDetails attached; false if there is nothing, or it is of another type.
func FailureDetails[T any](err error) (T, bool) {
	var none T
	f := origin(err)
	if f == nil || f.Details == nil {
		return none, false
	}
	details, decodingErr := history.Decode[T](f.Details)
	return details, decodingErr == nil
}

// origin is the failure at the end of the chain: what the author's code returned.
func origin(err error) *history.Failure {
	var f *history.Failure
	if !errors.As(err, &f) {
		return nil
	}
	for f.Cause != nil {
		f = f.Cause
	}
	return f
}
