package activity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/attempt"
)

// Info says which attempt of which activity a context belongs to.
type Info struct {
	RunID      string // id of the run that called the activity
	Generation int
	Activity   string
	ID         string // of the call: given in Options, or made of its number
	Attempt    int    // from 1
	Scheduled  time.Time
	// IdempotencyKey is the same for all attempts of one call, also after a reset that keeps the
	// call, and for no other call. Give it to services that recognize repetitions by a key.
	IdempotencyKey string
	// DataFolder is the folder in which an embedded server keeps its data. An activity may keep files there, in a folder of
	// its own. It is empty on AWS and in workflowtest.
	DataFolder string
}

// InfoOf gives the attempt's info. The zero Info where the context is not an activity's.
func InfoOf(ctx context.Context) Info {
	a := attempt.From(ctx)
	if a == nil {
		return Info{}
	}
	id := a.ID
	if id == "" {
		id = fmt.Sprintf("activity-%d", a.Seq)
	}
	return Info{RunID: a.Run, Generation: a.Generation, Activity: a.Activity, ID: id, Attempt: a.Number, Scheduled: a.Scheduled,
		IdempotencyKey: fmt.Sprintf("%s/%d/%d", a.Run, cmp.Or(a.Origin, a.Generation), a.Seq), DataFolder: a.DataFolder}
}

// Heartbeat says that the attempt is alive, and how far it is. The error is not nil once it should stop: the run gave it up,
// or its time is over; the context is cancelled then, too. Details are JSON-encoded and given to the next attempt: see [Progress].
func Heartbeat(ctx context.Context, details any) error {
	a := attempt.From(ctx)
	if a == nil || a.Heartbeat == nil {
		return ctx.Err()
	}
	payload, err := history.Encode(details)
	if err != nil {
		return fmt.Errorf("heartbeat details: %w", err)
	}
	return a.Heartbeat(payload)
}

// Progress gives the details of the last heartbeat of an earlier attempt; false if there is none, or it is of another type.
func Progress[T any](ctx context.Context) (T, bool) {
	var none T
	a := attempt.From(ctx)
	if a == nil || a.Details == nil {
		return none, false
	}
	details, err := history.Decode[T](a.Details)
	return details, err == nil
}

// ErrPending is what an activity returns that will be completed from outside, by its [Token]. Its timeouts go on counting.
var ErrPending = errors.New("completed later, by its token")

// Token is the key to completing this attempt from outside (POST /v1/activities/TOKEN/complete). It cannot be guessed: whoever
// has it can complete this one attempt, and nothing else, until the attempt's time is over (StartToClose or ScheduleToClose;
// 30 days if neither is set). Empty in a step, which cannot be completed from outside.
func Token(ctx context.Context) string {
	a := attempt.From(ctx)
	if a == nil || a.Token == nil {
		return ""
	}
	return a.Token()
}

// Fail makes an error of a type of your own, which retry policies and workflows can tell (workflow.FailureType).
func Fail(failureType, format string, args ...any) error {
	return &history.Failure{FailureKind: history.Application, Type: failureType, Message: fmt.Sprintf(format, args...)}
}

// NonRetryable marks an error that another attempt would not help. nil stays nil.
func NonRetryable(err error) error {
	if err == nil {
		return nil
	}
	f := *history.FailureOf(err)
	f.NonRetryable = true
	return &f
}

// RetryAfter marks an error whose next attempt should wait so long, whatever the retry policy says. nil stays nil.
func RetryAfter(err error, wait time.Duration) error {
	if err == nil {
		return nil
	}
	f := *history.FailureOf(err)
	f.RetryAfter = wait
	return &f
}

// WithDetails attaches a value to an error, for the workflow to read (workflow.FailureDetails). nil stays nil.
func WithDetails(err error, details any) error {
	if err == nil {
		return nil
	}
	f := *history.FailureOf(err)
	payload, encodingErr := history.Encode(details)
	if encodingErr != nil {
		f.Message += fmt.Sprintf(" (its details are lost: %v)", encodingErr)
	}
	f.Details = payload
	return &f
}
