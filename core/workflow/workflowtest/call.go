package workflowtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/attempt"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// call is an activity or a step that a run has asked for: its attempts, one after the other.
type call struct {
	run        *run
	generation int
	command    *history.ScheduleActivity
	function   registry.Activity
	scheduled  time.Time

	number  int // of the latest attempt, from 1
	active  bool
	work    *work
	started time.Time
	beat    time.Time // latest heartbeat of this attempt, or its start
	token   string    // of this attempt, once it has asked for one
	details history.Payload
	failed  []history.Attempt

	cancelled bool // asked to stop
	over      bool
}

// schedule begins an activity or a step, in its turn.
func (r *run) schedule(command *history.ScheduleActivity) {
	env := r.env
	c := &call{run: r, generation: r.generation, command: command, scheduled: env.now}
	if c.function = r.function(command); c.function == nil {
		env.fail("workflow %s calls activity %q, which is neither mocked nor registered: "+
			"workflowtest.Mock(env, definition, function), or env.Register(definition)", r.workflow, command.Activity)
		return
	}
	r.calls[command.Seq()] = c
	env.after(0, func() bool { return c.over }, c.attempt)
}

// function is what performs a call: a mock, the step's own function, or a registered activity.
func (r *run) function(command *history.ScheduleActivity) registry.Activity {
	if step := r.live.Step(command.Seq()); step != nil {
		if mocked := r.env.mocks.steps[command.Activity]; mocked != nil {
			return mocked
		}
		return func(ctx context.Context, _ history.Payload) (history.Payload, error) { return step(ctx) }
	}
	if mocked := r.env.mocks.activities[command.Activity]; mocked != nil {
		return mocked
	}
	function, _ := r.env.registered.FindActivity(command.Activity)
	return function
}

// attempt makes the next attempt.
func (c *call) attempt() {
	env := c.run.env
	c.number++
	number := c.number
	c.active, c.started, c.beat, c.token = true, env.now, env.now, ""
	info := &attempt.Attempt{
		Run: c.run.id, Generation: c.generation, Seq: c.command.Seq(), ID: c.command.Name(), Activity: c.command.Activity,
		Number: number, Scheduled: c.scheduled, Worker: "workflowtest", Details: c.details, Heartbeat: c.heartbeat,
	}
	if !c.command.Inline {
		info.Token = c.newToken
	}
	w := env.perform(info, c.function, c.command.Input)
	w.done = func() {
		if c.active && c.number == number {
			c.returned(w.result, w.err)
		}
	}
	c.work = w
	c.watch(number)
	w.resume()
}

func (c *call) heartbeat(details history.Payload) error {
	if c.work.ctx.Err() != nil {
		return c.work.ctx.Cause()
	}
	c.beat, c.details = c.run.env.now, details
	return nil
}

func (c *call) newToken() string {
	if c.token == "" {
		env := c.run.env
		c.token = fmt.Sprintf("token-%d", len(env.tokens)+1)
		env.tokens[c.token] = c
	}
	return c.token
}

// defaultAttempt is how long an attempt may take where its options do not say (activity.Options.StartToClose).
const defaultAttempt = time.Minute

// deadline is when the attempt under way has taken too long, and by which limit.
func (c *call) deadline() (at time.Time, failure *history.Failure) {
	o := c.command.Options
	sooner := func(from time.Time, limit time.Duration, which string) {
		if end := from.Add(limit); limit > 0 && (failure == nil || end.Before(at)) {
			at, failure = end, history.TimeoutFailure(which, limit)
		}
	}
	limit := o.StartToClose
	if limit == 0 {
		limit = defaultAttempt
	}
	sooner(c.started, limit, history.StartToClose)
	sooner(c.scheduled, o.ScheduleToClose, history.ScheduleToClose)
	sooner(c.beat, o.Heartbeat, history.Heartbeat)
	return
}

// watch ends the attempt at its deadline, which a heartbeat may move.
func (c *call) watch(number int) {
	at, failure := c.deadline()
	if failure == nil {
		return
	}
	env := c.run.env
	env.after(at.Sub(env.now), func() bool { return c.over || !c.active || c.number != number }, func() {
		at, failure := c.deadline()
		if at.After(env.now) {
			c.watch(number)
			return
		}
		c.active = false
		c.work.end(context.DeadlineExceeded, history.ErrTimeout)
		c.attemptFailed(failure)
	})
}

// returned takes what the attempt's function returned.
func (c *call) returned(result history.Payload, err error) {
	if errors.Is(err, activity.ErrPending) {
		c.pend()
		return
	}
	c.active = false
	var violation *scheduler.Violation
	switch {
	case errors.As(err, &violation):
		c.run.env.fail("activity or step %q of workflow %s: %w",
			c.command.Activity, c.run.workflow, violation)
	case err == nil:
		c.resolve(result, nil)
	case c.cancelled && (errors.Is(err, context.Canceled) || errors.Is(err, history.ErrCancelled)):
		c.attemptFailed(history.CancelFailure(""))
	default:
		c.attemptFailed(history.FailureOf(err))
	}
}

// pend leaves the attempt to be completed by its token.
func (c *call) pend() {
	switch {
	case c.command.Inline:
		c.active = false
		c.attemptFailed(&history.Failure{FailureKind: history.Application, Type: "pending-step", NonRetryable: true,
			Message: "a step returned activity.ErrPending: only an activity can be completed from outside"})
	case c.token == "":
		c.run.env.fail("activity %q returned activity.ErrPending and never asked for its activity.Token: nobody can complete it", c.command.Activity)
	}
}

// attemptFailed makes another attempt, or gives up.
func (c *call) attemptFailed(failure *history.Failure) {
	env := c.run.env
	again, wait := false, time.Duration(0)
	if last := failure.FailureKind == history.Timeout && failure.Type == history.ScheduleToClose; !last && !c.cancelled {
		wait, again = c.command.Options.Retry.Wait(c.number, failure)
	}
	if limit := c.command.Options.ScheduleToClose; limit > 0 && env.now.Add(wait).After(c.scheduled.Add(limit)) {
		again = false // there is no time for another one
	}
	if !again {
		c.resolve(nil, failure)
		return
	}
	if c.number >= mostAttempts {
		env.fail("activity %q of workflow %s failed %d times, and would be retried without end: limit its activity.Retry.MaxAttempts "+
			"or ScheduleToClose, mark the error with activity.NonRetryable, or have the mock succeed. It failed with: %w",
			c.command.Activity, c.run.workflow, c.number, failure)
		return
	}
	c.failed = append(c.failed, history.Attempt{Number: c.number, Started: c.started, Ended: env.now, Worker: "workflowtest", Failure: failure})
	env.after(wait, func() bool { return c.over || !c.run.waitsFor(c.generation, c.command.Seq()) }, c.attempt)
}

func (c *call) resolve(result history.Payload, failure *history.Failure) {
	c.over = true
	c.run.resolve(c.generation, &history.ActivityResolved{Seq: c.command.Seq(), Result: result, Failure: failure, Started: c.started,
		Number: c.number, Worker: "workflowtest", Attempts: c.failed[max(0, len(c.failed)-history.KeptAttempts):]})
}

// cancel asks the call to stop. One that is abandoned is not waited for; one that nobody works on stops at once.
func (c *call) cancel(abandoned bool) {
	if c.over {
		return
	}
	c.cancelled = true
	if abandoned {
		c.over = true
	}
	if c.active {
		c.work.cancel()
	} else if !abandoned {
		c.resolve(nil, history.CancelFailure(""))
	}
}

// closeCalls asks the attempts under way to stop when their generation closes, unless they were abandoned before. What has
// not begun still does: an activity that nobody awaits runs all the same.
func (r *run) closeCalls() {
	for _, seq := range slices.Sorted(maps.Keys(r.calls)) {
		if _, pending := r.live.Pending(seq); pending && r.calls[seq].active {
			r.calls[seq].cancel(true)
		}
	}
}

// Complete completes an activity that returned activity.ErrPending, by the token that activity.Token gave: with a result,
// or with an error, which counts like one that its function returned.
func Complete[I, O any](env *Env, pending *activity.Activity[I, O], token string, result O, err error) {
	env.t.Helper()
	env.enter("Complete")
	c := env.tokens[token]
	switch {
	case c == nil:
		env.t.Fatalf("workflowtest.Complete: no attempt has the token %q", token)
	case c.command.Activity != pending.Name():
		env.t.Fatalf("workflowtest.Complete: token %q is of activity %q, not of %q", token, c.command.Activity, pending.Name())
	case c.over || !c.active || c.token != token:
		env.t.Fatalf("workflowtest.Complete: the attempt of token %q is over: it was completed, cancelled, or ran out of time", token)
	case err != nil:
		c.returned(nil, err)
	default:
		c.returned(env.encode("result of activity "+pending.Name(), result), nil)
	}
}
