package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Task executes one attempt of an activity: functions/task. nil: the message may be acknowledged, since the result is filed
// and the run resumed, or the next attempt is sent (PROTOCOL.md rules 1 and 9).
//
// The deadline is that of the invocation: an attempt that would go on longer has failed, and is tried again. Zero: there is none.
func (e *Engine) Task(ctx context.Context, deadline time.Time, t port.Task) error {
	if t.Expire {
		return e.expire(ctx, t)
	}
	if left := t.Sent.Sub(e.Clock.Now()); t.Attempt > 1 && left > 0 { // its wait is longer than a queue's delay
		return e.sendTask(ctx, t, left)
	}
	under := e.attempts.begin(t.Key()) // before its state is read: see cancelActivity
	defer e.attempts.end(t.Key(), under)
	state, err := e.loadTask(ctx, t)
	if err != nil {
		return err
	}
	if state != nil && state.Cancelled {
		return e.resolve(ctx, t, &history.ActivityResolved{Failure: history.CancelFailure("cancelled before it began"), Number: t.Attempt}, true)
	}
	a := e.newAttempt(t.Key(), t.Command, t.Attempt, t.Scheduled, e.newBudget(deadline))
	a.origin = cmp.Or(t.Origin, t.Generation)
	a.checkStart(t, state)
	if a.failure == nil {
		if err := e.attempt(ctx, a, t, state, under); err != nil {
			return err
		}
	}
	held := copiesOfResult * int64(len(a.result))
	e.config.Memory.Add(held)
	defer e.config.Memory.Give(held)
	switch {
	case a.pending:
		if err := a.kept.Load(); err != nil && *err != nil { // its token opens nothing: the message comes again
			return *err
		}
		return e.await(ctx, t, a)
	case a.failure == nil:
		return e.resolve(ctx, t, a.resolved(t), tracked(t) || a.named.Load())
	}
	if wait, again := a.retry(ctx); again {
		return e.againAnyway(ctx, t, a, wait, under)
	}
	return e.resolve(ctx, t, a.resolved(t), tracked(t) || a.named.Load())
}

// copiesOfResult is how many bytes an attempt holds for each byte of its result, until that is
// filed: the result itself, and the item on its way to the store.
const copiesOfResult = 2

// tracked says whether an activity's state is kept in the table from its first attempt on: it
// heartbeats, or runs long, or must begin in time.
func tracked(t port.Task) bool {
	o := t.Command.Options
	return t.Attempt > 1 || o.Heartbeat > 0 || o.ScheduleToStart > 0 || o.StartToClose < 0 ||
		o.StartToClose > port.StartToClose
}

func (e *Engine) loadTask(ctx context.Context, t port.Task) (*port.TaskState, error) {
	if !tracked(t) {
		return nil, nil
	}
	return e.Tasks.LoadTask(ctx, t.Key())
}

// checkStart fails an attempt that waited for a worker for too long. One that has a state has begun
// before, in an invocation that ended or that received the same message.
func (t *try) checkStart(task port.Task, state *port.TaskState) {
	limit := t.command.Options.ScheduleToStart
	if state != nil {
		return
	}
	if limit > 0 && t.number == 1 && t.started.Sub(task.Sent) > limit {
		t.failure = history.TimeoutFailure(history.ScheduleToStart, limit)
		t.failure.NonRetryable = true
	}
}

// attempt runs the author's function, with what a task has beyond a step: a state that others see, a token.
func (e *Engine) attempt(
	ctx context.Context, a *try, t port.Task, state *port.TaskState, under *underway,
) error {
	mine := &port.TaskState{TaskKey: t.Key(), Activity: t.Command.Activity, Attempt: t.Attempt,
		Started: a.started}
	if state != nil {
		mine.Details, mine.Failure = state.Details, state.Failure
		a.details = state.Details
	}
	mine.Failed = t.Failed
	if tracked(t) {
		if err := e.Tasks.SaveTask(ctx, mine); err != nil {
			return err
		}
	}
	a.token = func() string {
		a.named.Store(true)
		err := e.Tasks.SaveTask(ctx, mine) // by it the attempt is found to be still waiting
		a.kept.Store(&err)
		return e.token(mine.TaskKey, mine.Attempt, a.started.Add(a.patience()))
	}
	a.perform(ctx, under, e.activity(t.Command), func(details history.Payload) error {
		return e.beat(ctx, mine, details)
	})
	return nil
}

// beat records a heartbeat. Its error says that the run asked the activity to stop.
func (e *Engine) beat(ctx context.Context, mine *port.TaskState, details history.Payload) error {
	there, err := e.Tasks.LoadTask(ctx, mine.TaskKey)
	if err != nil {
		return nil //nolint:nilerr // the attempt is alive, and its result counts: the next beat may get through
	}
	if there != nil && there.Cancelled {
		e.attempts.cancel(mine.TaskKey)
		return history.ErrCancelled
	}
	latest := *mine // an activity may heartbeat from several goroutines
	latest.Beat, latest.Details = e.Clock.Now(), details
	if err := e.Tasks.SaveTask(ctx, &latest); err != nil {
		e.warn(ctx, "a heartbeat was not stored", "run", mine.Run, "activity", mine.Activity, "error", err)
	}
	return nil
}

func (t *try) resolved(task port.Task) *history.ActivityResolved {
	return &history.ActivityResolved{Result: t.result, Failure: t.failure, Started: t.started, Number: t.number,
		Worker: t.e.config.Worker, Attempts: task.Failed}
}

// resolve files the answer of an activity, then resumes its run. The activity has run, and is not to run
// again because the table does not take the answer now: then a resume carries it (rule 1).
func (e *Engine) resolve(
	ctx context.Context, t port.Task, event *history.ActivityResolved, tracked bool,
) error {
	event.Seq = t.Command.Seq()
	item := e.newItem(event, t.Generation, false)
	err := e.fileAnswer(ctx, t, item, tracked)
	if e.Together || !errors.Is(err, port.ErrUnavailable) {
		return err
	}
	e.warn(ctx, "an answer was not stored, and is sent instead", "run", t.Run, "activity",
		t.Command.Activity, "error", err)
	return e.Queue.SendResumes(ctx,
		port.Resume{Run: t.Run, Carries: &item, Delay: spread(event.Seq)})
}

// halfTime leaves half of the time for another way, where there is one.
func (e *Engine) halfTime(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited || e.Together {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, deadline.Sub(e.Clock.Now())/2)
}

// fileAnswer files an answer, resumes the run, and deletes what is known of the activity.
func (e *Engine) fileAnswer(ctx context.Context, t port.Task, item port.Item, tracked bool) error {
	ctx, cancel := e.halfTime(ctx)
	defer cancel()
	if _, _, err := e.Runs.File(ctx, t.Run, item); err != nil && !errors.Is(err, port.ErrNoRun) {
		return err
	}
	// "there already" is as good, and is followed by a resume all the same
	if err := e.Queue.SendResumes(ctx, port.Resume{Run: t.Run}); err != nil {
		return err
	}
	if !tracked {
		return nil
	}
	return e.Tasks.DeleteTask(ctx, t.Key())
}

// spread delays what one partition of the table did not take at once, by 1 to 20 seconds: what many
// activities of one run answer at one time is taken over that time.
func spread(seq int64) time.Duration {
	const most = 20
	return time.Duration(1+seq%most) * time.Second
}

// again sends the next attempt; then this one may be acknowledged.
func (e *Engine) again(
	ctx context.Context, t port.Task, a *try, wait time.Duration, under *underway,
) error {
	state, err := e.Tasks.LoadTask(ctx, t.Key())
	if err != nil {
		return err
	}
	cancelled := state != nil && state.Cancelled
	next := e.nextAttempt(t, a, wait)
	if !cancelled {
		known := port.TaskState{TaskKey: t.Key(), Activity: t.Command.Activity,
			Attempt: next.Attempt,
			Failure: a.failure.Error(), Next: next.Sent, Failed: next.Failed}
		if state != nil {
			known.Details = state.Details
		}
		if err := e.Tasks.SaveTask(ctx, &known); err != nil {
			return err
		}
		cancelled = under.cancelled() // in between
	}
	if cancelled {
		return e.resolve(ctx, t, &history.ActivityResolved{Failure: history.CancelFailure("cancelled between two attempts"), Number: t.Attempt,
			Started: a.started, Attempts: next.Failed}, true)
	}
	e.watch.changed(t.Run)
	return e.sendTask(ctx, next, wait)
}

// nextAttempt gives the task of the next attempt, which is due after a wait.
func (e *Engine) nextAttempt(t port.Task, a *try, wait time.Duration) port.Task {
	t.Attempt, t.Failed, t.Sent = t.Attempt+1, keep(t.Failed, a.failed()), e.Clock.Now().Add(wait)
	return t
}

// againAnyway is again for an attempt that has run here, and is not to run again because the table does
// not take what is known of it. The next attempt reads whether it is cancelled before it runs.
func (e *Engine) againAnyway(
	ctx context.Context, t port.Task, a *try, wait time.Duration, under *underway,
) error {
	half, cancel := e.halfTime(ctx)
	defer cancel()
	err := e.again(half, t, a, wait, under)
	if e.Together || !errors.Is(err, port.ErrUnavailable) {
		return err
	}
	e.warn(ctx, "an attempt was not noted", "run", t.Run, "activity", t.Command.Activity, "error", err)
	return e.sendTask(ctx, e.nextAttempt(t, a, wait), wait)
}

// sendTask sends a task after a wait, or as long before as a queue can delay it: then it is sent again.
func (e *Engine) sendTask(ctx context.Context, t port.Task, wait time.Duration) error {
	t.Delay = delayable(wait)
	return e.Queue.SendTasks(ctx, t)
}

// cancelActivity asks an activity to stop: at once if it runs here, else when it heartbeats or is to be tried again. An attempt here
// that loaded its state before the mark was there had begun by then: it is told after.
func (e *Engine) cancelActivity(ctx context.Context, key port.TaskKey) error {
	if err := e.Tasks.CancelTask(ctx, key); err != nil {
		return err
	}
	e.attempts.cancel(key)
	return nil
}
