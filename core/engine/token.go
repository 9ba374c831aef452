package engine

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// longestPending is how long an attempt may wait to be completed from outside where its call sets no limit.
const longestPending = 30 * 24 * time.Hour

// tokenBody is what a token is made of, with a signature. It holds no randomness: without the key, 256 random bits, nobody can
// make the signature, and the same attempt may well have the same token twice.
type tokenBody struct {
	port.TaskKey
	Attempt int   `json:"attempt"`
	Expires int64 `json:"expires"` // milliseconds since 1970
}

// token makes the key to one attempt.
func (e *Engine) token(key port.TaskKey, number int, expires time.Time) string {
	body, err := json.Marshal(tokenBody{key, number, expires.UnixMilli()})
	if err != nil {
		panic("a key always encodes: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(append(body, e.sign(body)...))
}

// signedUse stands before what is signed: a signature that the same key may make for another use is no token's.
const signedUse = "reprise completion token\n"

func (e *Engine) sign(body []byte) []byte {
	mac := hmac.New(sha256.New, e.config.TokenKey)
	mac.Write([]byte(signedUse))
	mac.Write(body)
	return mac.Sum(nil)
}

// patience is how long an attempt may wait to be completed from outside, from when it started.
func (t *try) patience() time.Duration {
	if t.command.Options.StartToClose == 0 && t.which == history.StartToClose || t.limit < 0 {
		return longestPending // a minute is for functions that run, not for people who answer
	}
	return t.limit
}

// await leaves an attempt to be completed from outside, and has it looked at when its time is over.
func (e *Engine) await(ctx context.Context, t port.Task, a *try) error {
	state, err := e.Tasks.LoadTask(ctx, t.Key())
	if err != nil || state == nil { // completed already, before its function returned
		return err
	}
	state.Pending = true
	if err := e.Tasks.SaveTask(ctx, state); err != nil {
		return err
	}
	t.Expire = true
	t.Sent = a.started.Add(a.patience())
	wait := t.Sent.Sub(e.Clock.Now())
	if beat := t.Command.Options.Heartbeat; beat > 0 {
		wait = min(wait, beat)
	}
	return e.sendTask(ctx, t, wait)
}

// expire looks whether an attempt that is completed from outside is still on time.
func (e *Engine) expire(ctx context.Context, t port.Task) error {
	state, err := e.Tasks.LoadTask(ctx, t.Key())
	if err != nil || state == nil {
		return err
	}
	decided := state.Attempt == t.Attempt+1 && state.Started.IsZero() // by somebody who may have died before the next one was sent
	if state.Attempt != t.Attempt && !decided {
		return nil
	}
	if state.Cancelled {
		return e.resolve(ctx, t, &history.ActivityResolved{Failure: history.CancelFailure("cancelled"), Number: t.Attempt, Started: state.Started, Attempts: t.Failed}, true)
	}
	now := e.Clock.Now()
	failure := history.TimeoutFailure(history.StartToClose, t.Sent.Sub(state.Started))
	next := t.Sent
	if beat := t.Command.Options.Heartbeat; beat > 0 {
		if missed := later(state.Started, state.Beat).Add(beat); missed.Before(next) {
			failure, next = history.TimeoutFailure(history.Heartbeat, beat), missed
		}
	}
	if next.After(now) && !decided {
		return e.sendTask(ctx, t, next.Sub(now))
	}
	under := e.attempts.begin(t.Key())
	defer e.attempts.end(t.Key(), under)
	a := e.newAttempt(t.Key(), t.Command, t.Attempt, t.Scheduled, budget{})
	if a.started, a.failure = state.Started, failure; decided {
		a.started, a.failure = t.Sent.Add(-a.patience()), &history.Failure{FailureKind: history.Timeout, Message: state.Failure}
	}
	t.Expire = false
	if wait, again := a.retry(ctx); again {
		return e.again(ctx, t, a, wait, under)
	}
	return e.resolve(ctx, t, a.resolved(t), true)
}

// CompleteActivity completes an attempt from outside, by its token: with a result, or with a
// failure, which is final. Who lost the answer may say the same again: it is answered as the first
// time, as long as the run's log is there. Another result, or a token whose attempt is over, is
// [port.NotFound]; a result that does not fit the registered activity is [port.Invalid]; a token
// past its attempt's limit is [port.Expired]. An answer that comes in the very moment of its
// attempt's timeout may be accepted, and find that the timeout counts.
func (e *Engine) CompleteActivity(ctx context.Context, token string, result history.Payload, failure *history.Failure) error {
	if err := errors.Join(validPayload("result", result), validFailure(failure)); err != nil {
		return err
	}
	named, err := e.readToken(token)
	if err != nil {
		return err
	}
	event := &history.ActivityResolved{Seq: named.Seq, Result: result, Failure: failure, Number: named.Attempt, Worker: byToken}
	state, err := e.waiting(ctx, named)
	if code := port.CodeOf(err); code == port.NotFound || code == port.Expired {
		return e.orSaidBefore(ctx, named, event, err)
	} else if err != nil {
		return err
	}
	if failure == nil {
		if err := e.fitting.check("result of activity", state.Activity, result, e.registry.FitsActivity); err != nil {
			return err
		}
	}
	event.Started, event.Attempts = state.Started, state.Failed
	_, there, err := e.Runs.File(ctx, state.Run, e.newItem(event, state.Generation, true))
	if err != nil {
		return e.unavailable(err, "the result was not stored")
	}
	if there {
		if err := e.orSaidBefore(ctx, named, event, notWaiting()); err != nil {
			return err
		}
	}
	if err := e.Queue.SendResumes(ctx, port.Resume{Run: state.Run}); err != nil {
		return e.unavailable(err, "the run was not resumed")
	}
	return e.unavailable(e.Tasks.DeleteTask(ctx, state.TaskKey), "the token is still valid")
}

// validFailure checks what comes from outside: a failure of one's own has no cause.
func validFailure(failure *history.Failure) error {
	if failure == nil {
		return nil
	}
	switch {
	case len(failure.Type) > port.LongestName:
		return port.Errorf(port.TooLarge, "the type of the failure has %d bytes, the limit is %d",
			len(failure.Type), port.LongestName)
	case !plainText(failure.Type):
		return port.Errorf(port.Invalid, "the type of the failure, %q, must be UTF-8 without "+
			"control characters", failure.Type)
	}
	return errors.Join(validText("message", failure.Message), validPayload("details", failure.Details))
}

// byToken is the worker of an attempt that was completed from outside.
const byToken = "token"

// orSaidBefore gives nil if just this answer of the attempt is in the run's inbox or in its log, else the refusal.
func (e *Engine) orSaidBefore(ctx context.Context, named *tokenBody, said *history.ActivityResolved, refusal error) error {
	view, err := e.Runs.Look(ctx, named.Run, port.Position{})
	switch {
	case errors.Is(err, port.ErrNoRun):
		return refusal
	case err != nil:
		return e.unavailable(err, "the activity was not found out about")
	}
	found := false
	look := func(event history.Event) {
		before, ok := event.(*history.ActivityResolved)
		found = found || ok && sameAnswer(before, said)
	}
	for _, item := range view.Inbox {
		if item.Key == said.Key(named.Generation) {
			look(item.Event)
		}
	}
	if !found {
		err = e.eachRecord(ctx, named.Run, named.Generation, func(rec *history.Record) {
			for _, event := range rec.Events {
				look(event)
			}
		})
	}
	if err != nil {
		return e.unavailable(err, "the activity was not found out about")
	}
	if !found {
		return refusal
	}
	return nil
}

// sameAnswer compares what callers say. The stored form leaves out that an attempt was the first.
func sameAnswer(a, b *history.ActivityResolved) bool {
	if a.Seq != b.Seq || max(a.Number, 1) != max(b.Number, 1) || a.Worker != b.Worker || !sameJSON(a.Result, b.Result) {
		return false
	}
	x, err := json.Marshal(a.Failure)
	y, err2 := json.Marshal(b.Failure)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// HeartbeatActivity records a heartbeat of an attempt that is completed from outside. Cancelled: the run asked it to stop.
func (e *Engine) HeartbeatActivity(ctx context.Context, token string, details history.Payload) (cancelled bool, err error) {
	if err := validPayload("details", details); err != nil {
		return false, err
	}
	named, err := e.readToken(token)
	if err != nil {
		return false, err
	}
	state, err := e.waiting(ctx, named)
	if err != nil {
		return false, err
	}
	state.Beat, state.Details = e.Clock.Now(), details
	return state.Cancelled, e.unavailable(e.Tasks.SaveTask(ctx, state), "the heartbeat was not stored")
}

// CheckToken says whether a completion token was made here, and is unchanged. The error is
// [port.Invalid]. It does not say whether the token's attempt still waits.
func (e *Engine) CheckToken(token string) error {
	_, err := e.readToken(token)
	return err
}

// readToken gives what a token says, if it was made here.
func (e *Engine) readToken(token string) (*tokenBody, error) {
	signed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(signed) <= sha256.Size {
		return nil, port.Errorf(port.Invalid, "this is not a completion token: it is what "+
			"activity.Token gave, unchanged")
	}
	body, signature := signed[:len(signed)-sha256.Size], signed[len(signed)-sha256.Size:]
	named := &tokenBody{}
	if !hmac.Equal(signature, e.sign(body)) || json.Unmarshal(body, named) != nil {
		return nil, port.Errorf(port.Invalid, "this completion token was not made here, or it "+
			"was changed")
	}
	return named, nil
}

// waiting gives the attempt that a token is the key to.
func (e *Engine) waiting(ctx context.Context, named *tokenBody) (*port.TaskState, error) {
	if expires := time.UnixMilli(named.Expires); !e.Clock.Now().Before(expires) {
		return nil, port.Errorf(port.Expired, "this completion token was good until %s, when its "+
			"attempt had to be completed", expires.UTC().Format(time.RFC3339))
	}
	state, err := e.Tasks.LoadTask(ctx, named.TaskKey)
	if err != nil {
		return nil, e.unavailable(err, "the activity was not found out about")
	}
	if state == nil || state.Attempt != named.Attempt {
		return nil, notWaiting()
	}
	return state, nil
}

func notWaiting() error {
	return port.Errorf(port.NotFound, "nothing waits for this token any more: the attempt was "+
		"completed, timed out, or its run has ended")
}

// unavailable says of a port's error what was not done. nil stays nil, and so does an error that has its code already.
func (e *Engine) unavailable(err error, what string) error {
	if err == nil {
		return nil
	}
	if coded := (*port.Error)(nil); errors.As(err, &coded) {
		return err
	}
	if errors.Is(err, history.ErrUnreadable) { // it would be no better the next time
		return port.Wrapf(err, port.Blocked, "%s: %v", what, err)
	}
	return port.Wrapf(err, port.Unavailable, "%s: %v; try again", what, err)
}
