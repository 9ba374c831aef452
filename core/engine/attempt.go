package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/attempt"
	"github.com/reprise-run/reprise/core/internal/executor"
	"github.com/reprise-run/reprise/core/internal/registry"
)

// startToClose is how long an attempt may take where its call does not say.
const startToClose = time.Minute

// try is one attempt of an activity, by task or inline.
type try struct {
	e         *Engine
	key       TaskKey
	command   *history.ScheduleActivity
	number    int
	scheduled time.Time
	started   time.Time
	limit     time.Duration // of this attempt; negative: none
	which     string        // the timeout that the limit is of
	details   history.Payload
	token     func() string

	result  history.Payload
	failure *history.Failure
	pending bool // it will be completed from outside
}

// newAttempt makes an attempt; one that is out of time before it begins has failed already.
func (e *Engine) newAttempt(key TaskKey, command *history.ScheduleActivity, number int, scheduled time.Time) *try {
	t := &try{e: e, key: key, command: command, number: number, scheduled: scheduled, started: e.Clock.Now(),
		limit: command.Options.StartToClose, which: history.StartToClose}
	if t.limit == 0 {
		t.limit = startToClose
	}
	if whole := command.Options.ScheduleToClose; whole > 0 {
		left := scheduled.Add(whole).Sub(t.started)
		if left <= 0 {
			t.failure = history.TimeoutFailure(history.ScheduleToClose, whole)
			t.failure.NonRetryable = true
		}
		if t.limit < 0 || left < t.limit {
			t.limit, t.which = left, history.ScheduleToClose
		}
	}
	return t
}

// errBeat is why an attempt is cancelled that did not heartbeat in time.
var errBeat = errors.New("no heartbeat in time")

// perform runs the author's function. When its time is over the attempt has failed, whether the function has returned or
// not; when the run asks it to stop, its context is cancelled, and its answer counts.
func (t *try) perform(ctx context.Context, perform registry.Activity, beat func(history.Payload) error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var late <-chan struct{}
	if t.limit >= 0 {
		var stop func() bool
		late, stop = t.e.after(t.limit)
		defer stop()
	}
	missed, beats, stop := t.watchBeats()
	defer stop()
	a := &attempt.Attempt{Run: t.key.Run, Generation: t.key.Generation, Seq: t.key.Seq, ID: t.command.Name(), Activity: t.command.Activity,
		Number: t.number, Scheduled: t.scheduled, Worker: t.e.config.Worker, Details: t.details, Token: t.token}
	if beat != nil {
		a.Heartbeat = func(details history.Payload) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			beats()
			return beat(details)
		}
	}
	returned := make(chan outcome, 1)
	go call(attempt.With(ctx, a), perform, t.command.Input, returned)
	select {
	case out := <-returned:
		t.end(ctx, out)
	case <-late:
		cancel(history.ErrTimeout)
		t.fail(history.TimeoutFailure(t.which, t.allowed()))
	case <-missed:
		cancel(errBeat)
		t.fail(history.TimeoutFailure(history.Heartbeat, t.command.Options.Heartbeat))
	}
}

// outcome is what the author's function gave.
type outcome struct {
	result  history.Payload
	err     error
	failure *history.Failure // of a panic
}

func call(ctx context.Context, perform registry.Activity, input history.Payload, returned chan<- outcome) {
	out := outcome{failure: &history.Failure{FailureKind: history.Application, Type: "goexit", Message: "the activity called runtime.Goexit"}}
	defer func() {
		if p := recover(); p != nil {
			out.failure = executor.PanicFailure(p, debug.Stack())
		}
		returned <- out
	}()
	result, err := perform(ctx, input)
	out = outcome{result: result, err: err}
}

func (t *try) end(ctx context.Context, out outcome) {
	switch {
	case out.failure != nil:
		t.fail(out.failure)
	case out.err == nil:
		t.result = out.result
	case errors.Is(out.err, activity.ErrPending):
		t.pending = true
	case ctx.Err() != nil && errors.Is(out.err, context.Canceled):
		t.fail(history.CancelFailure("cancelled"))
	default:
		t.fail(history.FailureOf(out.err))
	}
}

func (t *try) fail(failure *history.Failure) { t.failure = failure }

// allowed is the timeout that was given, for the message.
func (t *try) allowed() time.Duration {
	if t.which == history.ScheduleToClose {
		return t.command.Options.ScheduleToClose
	}
	return t.limit
}

// watchBeats gives a channel that closes when an attempt that must heartbeat has not done so in time.
func (t *try) watchBeats() (missed <-chan struct{}, beat func(), stop func()) {
	every := t.command.Options.Heartbeat
	if every <= 0 {
		return nil, func() {}, func() {}
	}
	w := &beatWatch{clock: t.e.Clock, every: every, last: t.started, missed: make(chan struct{})}
	w.arm(every)
	return w.missed, w.beat, w.stop
}

type beatWatch struct {
	clock   Clock
	every   time.Duration
	missed  chan struct{}
	mu      sync.Mutex
	last    time.Time
	stopped bool
	disarm  func() bool
}

func (w *beatWatch) arm(d time.Duration) { w.disarm = w.clock.AfterFunc(d, w.look) }

func (w *beatWatch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if left := w.last.Add(w.every).Sub(w.clock.Now()); left > 0 {
		w.arm(left)
		return
	}
	w.stopped = true
	close(w.missed)
}

func (w *beatWatch) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = w.clock.Now()
}

func (w *beatWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.disarm()
}

// retry says whether another attempt is to follow, and after what wait.
func (t *try) retry() (wait time.Duration, again bool) {
	options := t.command.Options
	if wait, again = options.Retry.Wait(t.number, t.failure); !again {
		return 0, false
	}
	if whole := options.ScheduleToClose; whole > 0 && t.e.Clock.Now().Add(wait).After(t.scheduled.Add(whole)) {
		return 0, false
	}
	return wait, true
}

// failed is how the run's history shows the attempt.
func (t *try) failed() history.Attempt {
	return history.Attempt{Number: t.number, Started: t.started, Ended: t.e.Clock.Now(), Worker: t.e.config.Worker, Failure: t.failure}
}

// activity finds the function; where there is none it gives one that says so, as an error that a deployment can mend.
func (e *Engine) activity(name string) registry.Activity {
	if perform, ok := e.registry.FindActivity(name); ok {
		return perform
	}
	return func(context.Context, history.Payload) (history.Payload, error) {
		return nil, &history.Failure{FailureKind: history.Unregistered, Type: "unknown-activity",
			Message: fmt.Sprintf("activity %q is not registered here; registered: %s", name, named(e.Activities()))}
	}
}

// attempts are those under way in this process, so that a run's request to stop reaches them at once.
type attempts struct {
	mu      sync.Mutex
	cancels map[TaskKey]context.CancelCauseFunc
}

func (a *attempts) begin(ctx context.Context, key TaskKey) (inner context.Context, leave func()) {
	inner, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancels == nil {
		a.cancels = map[TaskKey]context.CancelCauseFunc{}
	}
	a.cancels[key] = cancel
	return inner, func() {
		a.mu.Lock()
		delete(a.cancels, key)
		a.mu.Unlock()
		cancel(nil)
	}
}

// cancel asks an attempt to stop. It says whether it is under way here.
func (a *attempts) cancel(key TaskKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	cancel := a.cancels[key]
	if cancel != nil {
		cancel(history.ErrCancelled)
	}
	return cancel != nil
}
