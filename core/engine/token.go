package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// longestPending is how long an attempt may wait to be completed from outside where its call sets no limit.
const longestPending = 30 * 24 * time.Hour

// tokenBody is what a token is made of, with a signature.
type tokenBody struct {
	TaskKey
	Attempt int `json:"attempt"`
}

// token makes the key to one attempt, and has the attempt's state kept, so that it can be found to be still waiting.
func (e *Engine) token(ctx context.Context, mine *TaskState, under *underway) string {
	if _, err := e.saveTask(ctx, *mine, under); err != nil {
		e.warn(ctx, "a token was asked for, but its activity's state was not stored", "run", mine.Run, "error", err)
	}
	body, err := json.Marshal(tokenBody{mine.TaskKey, mine.Attempt})
	if err != nil {
		panic("a key always encodes: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(append(body, e.sign(body)...))
}

func (e *Engine) sign(body []byte) []byte {
	mac := hmac.New(sha256.New, e.config.TokenKey)
	mac.Write(body)
	return mac.Sum(nil)
}

// await leaves an attempt to be completed from outside, and has it looked at when its time is over.
func (e *Engine) await(ctx context.Context, t Task, a *try, under *underway) error {
	state, err := e.Tasks.LoadTask(ctx, t.Key())
	if err != nil || state == nil { // completed already, before its function returned
		return err
	}
	state.Pending = true
	if _, err := e.saveTask(ctx, *state, under); err != nil {
		return err
	}
	limit := a.limit
	if t.Command.Options.StartToClose == 0 && a.which == history.StartToClose || limit < 0 {
		limit = longestPending // a minute is for functions that run, not for people who answer
	}
	t.Expire = true
	t.Sent = a.started.Add(limit)
	wait := t.Sent.Sub(e.Clock.Now())
	if beat := t.Command.Options.Heartbeat; beat > 0 {
		wait = min(wait, beat)
	}
	return e.sendTask(ctx, t, wait)
}

// expire looks whether an attempt that is completed from outside is still on time.
func (e *Engine) expire(ctx context.Context, t Task) error {
	state, err := e.Tasks.LoadTask(ctx, t.Key())
	if err != nil || state == nil || state.Attempt != t.Attempt {
		return err
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
	if next.After(now) {
		return e.sendTask(ctx, t, next.Sub(now))
	}
	under := e.attempts.begin(t.Key())
	defer e.attempts.end(t.Key(), under)
	a := e.newAttempt(t.Key(), t.Command, t.Attempt, t.Scheduled, budget{})
	a.started, a.failure = state.Started, failure
	t.Expire = false
	if wait, again := a.retry(); again {
		return e.again(ctx, t, a, wait, under)
	}
	return e.resolve(ctx, t, a.resolved(t), true)
}

// CompleteActivity completes an attempt from outside, by its token: with a result, or with a failure, which is final.
func (e *Engine) CompleteActivity(ctx context.Context, token string, result history.Payload, failure *history.Failure) error {
	state, err := e.byToken(ctx, token)
	if err != nil {
		return err
	}
	event := &history.ActivityResolved{Seq: state.Seq, Result: result, Failure: failure, Started: state.Started, Number: state.Attempt, Worker: "token"}
	if _, err := e.Runs.File(ctx, state.Run, e.newItem(event, state.Generation, true)); err != nil {
		return e.unavailable(err, "the result was not stored")
	}
	if err := e.Queue.SendResumes(ctx, Resume{Run: state.Run}); err != nil {
		return e.unavailable(err, "the run was not resumed")
	}
	return e.unavailable(e.Tasks.DeleteTask(ctx, state.TaskKey), "the token is still valid")
}

// HeartbeatActivity records a heartbeat of an attempt that is completed from outside. Cancelled: the run asked it to stop.
func (e *Engine) HeartbeatActivity(ctx context.Context, token string, details history.Payload) (cancelled bool, err error) {
	state, err := e.byToken(ctx, token)
	if err != nil {
		return false, err
	}
	state.Beat, state.Details = e.Clock.Now(), details
	return state.Cancelled, e.unavailable(e.Tasks.SaveTask(ctx, state), "the heartbeat was not stored")
}

func (e *Engine) byToken(ctx context.Context, token string) (*TaskState, error) {
	signed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(signed) <= sha256.Size {
		return nil, fail(Invalid, "this is not a completion token: it is what activity.Token gave, unchanged")
	}
	body, signature := signed[:len(signed)-sha256.Size], signed[len(signed)-sha256.Size:]
	var named tokenBody
	if !hmac.Equal(signature, e.sign(body)) || json.Unmarshal(body, &named) != nil {
		return nil, fail(Invalid, "this completion token was not made here, or it was changed")
	}
	state, err := e.Tasks.LoadTask(ctx, named.TaskKey)
	if err != nil {
		return nil, e.unavailable(err, "the activity was not found out about")
	}
	if state == nil || state.Attempt != named.Attempt {
		return nil, fail(NotFound, "nothing waits for this token any more: the attempt was completed, timed out, or its run has ended")
	}
	return state, nil
}

// unavailable says of a port's error what was not done. nil stays nil, and so does an error that has its code already.
func (e *Engine) unavailable(err error, what string) error {
	if err == nil {
		return nil
	}
	if coded := (*Error)(nil); errors.As(err, &coded) {
		return err
	}
	if errors.Is(err, history.ErrUnreadable) { // it would be no better the next time
		return failWith(err, Blocked, "%s: %v", what, err)
	}
	return failWith(err, Unavailable, "%s: %v; try again", what, err)
}
