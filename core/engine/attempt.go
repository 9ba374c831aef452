package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/attempt"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/port"
)

// try is one attempt of an activity, by task or inline.
type try struct {
	e         *Engine
	key       port.TaskKey
	origin    int // generation whose log has the command
	command   *history.ScheduleActivity
	number    int
	scheduled time.Time
	started   time.Time
	limit     time.Duration // of this attempt; negative: none
	which     string        // the timeout that the limit is of
	budget    budget        // of the invocation that runs it
	details   history.Payload
	token     func() string
	named     atomic.Bool           // its token was asked for: there is a state of it
	kept      atomic.Pointer[error] // what came of storing that state

	result  history.Payload
	failure *history.Failure
	pending bool // it will be completed from outside
	// violation: the function called a function of core/workflow.
	violation *scheduler.Violation
}

// newAttempt makes an attempt within an invocation's time; one that is out of time before it begins has failed already.
func (e *Engine) newAttempt(
	key port.TaskKey, command *history.ScheduleActivity, number int, scheduled time.Time, b budget,
) *try {
	return e.attemptAt(e.Clock.Now(), key, command, number, scheduled, b)
}

// attemptAt is newAttempt for an attempt that began at a time.
func (e *Engine) attemptAt(started time.Time, key port.TaskKey, command *history.ScheduleActivity, number int, scheduled time.Time, b budget) *try {
	t := &try{e: e, key: key, origin: key.Generation, command: command, number: number, scheduled: scheduled, started: started, budget: b,
		limit: command.Options.StartToClose, which: history.StartToClose}
	if t.limit == 0 {
		t.limit = port.StartToClose
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

// errInvocation is why an attempt is cancelled that outlasts the Lambda function which runs it.
var errInvocation = errors.New("its invocation is about to end")

// outlasted is the failure of such an attempt. A step that had all of its invocation's time would never have more.
func (t *try) outlasted() *history.Failure {
	had := t.budget.end().Sub(t.started).Round(time.Millisecond)
	failure := history.TimeoutFailure(history.StartToClose, had)
	if t.command.Inline {
		failure.NonRetryable = t.budget.whole(t.started)
		failure.Message = fmt.Sprintf("the step had not ended after %s, when its function was about to be ended: make it an activity that is not inline, "+
			"or give functions/activate a longer timeout", had)
		return failure
	}
	failure.Message = fmt.Sprintf("the activity had not ended after %s, when its function was about to be ended: give functions/task a longer timeout, "+
		"have the activity heartbeat and go on from there, or leave its completion to others (activity.ErrPending)", had)
	return failure
}

// errBeat is why an attempt is cancelled that did not heartbeat in time.
var errBeat = errors.New("no heartbeat in time")

// perform runs the author's function. When its time is over the attempt has failed, whether the function has returned or
// not; when the run asks it to stop, its context ends, and its answer counts.
func (t *try) perform(invocation context.Context, of *underway, perform registry.Activity, beat func(history.Payload) error) {
	a := &attempt.Attempt{Run: t.key.Run, Generation: t.key.Generation, Origin: t.origin, Seq: t.key.Seq, ID: t.command.ID, Activity: t.command.Activity,
		Number: t.number, Scheduled: t.scheduled, Worker: t.e.config.Worker, Details: t.details, Token: t.token,
		DataFolder: t.e.config.DataFolder}
	ended := make(chan outcome, 1) // by whatever comes first
	deadline, late := time.Time{}, history.ErrTimeout
	if t.limit >= 0 {
		deadline = t.started.Add(t.limit)
	}
	if last := t.budget.end(); !last.IsZero() && (deadline.IsZero() || last.Before(deadline)) {
		deadline, late = last, errInvocation
	}
	if !deadline.IsZero() {
		left := deadline.Sub(t.e.Clock.Now())
		if left <= 0 { // a slow store had its time
			t.failure = t.overtime(late)
			return
		}
		stop := t.e.Clock.AfterFunc(left, func() { end(ended, outcome{cause: late}) })
		defer stop()
	}
	beats, stop := t.watchBeats(ended)
	defer stop()
	ctx := attempt.NewContext(invocation, a, deadline)
	defer ctx.End(context.Canceled, nil)
	if beat != nil {
		a.Heartbeat = func(details history.Payload) error {
			if ctx.Err() != nil {
				return ctx.Cause()
			}
			beats()
			return beat(details)
		}
	}
	of.enter(ctx)
	t.e.goroutines.run(func() { call(ctx, perform, t.command.Input, ended) })
	out := <-ended
	if out.cause == nil {
		t.end(ctx, out)
		return
	}
	t.failure = t.overtime(out.cause)
	ctx.End(context.DeadlineExceeded, out.cause)
}

// overtime is the failure of an attempt that has no time left, by the cause.
func (t *try) overtime(cause error) *history.Failure {
	switch {
	case errors.Is(cause, errBeat):
		return history.TimeoutFailure(history.Heartbeat, t.command.Options.Heartbeat)
	case errors.Is(cause, errInvocation):
		return t.outlasted()
	default:
		return history.TimeoutFailure(t.which, t.allowed())
	}
}

// outcome is what the author's function gave, or why nobody waits for it any more.
type outcome struct {
	result  history.Payload
	err     error
	failure *history.Failure // of a panic
	cause   error            // its time is over: history.ErrTimeout, errBeat or errInvocation
}

// end reports an outcome; the first one counts.
func end(ended chan<- outcome, out outcome) {
	select {
	case ended <- out:
	default:
	}
}

func call(ctx *attempt.Context, perform registry.Activity, input history.Payload, ended chan<- outcome) {
	out := outcome{failure: &history.Failure{FailureKind: history.Application, Type: "goexit", Message: "the activity called runtime.Goexit"}}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *scheduler.Violation:
			out.failure, out.err = nil, p
		default:
			out.failure = scheduler.PanicFailure(p, debug.Stack())
		}
		end(ended, out)
	}()
	scheduler.Attempt(func() {
		result, err := perform(ctx, input)
		out = outcome{result: result, err: err}
	})
}

func (t *try) end(ctx *attempt.Context, out outcome) {
	switch {
	case out.failure != nil:
		t.failure = out.failure
	case out.err == nil:
		t.result = out.result
	case errors.Is(out.err, activity.ErrPending):
		if t.failure = t.unreachable(); t.failure == nil {
			t.pending = true
		}
	case ctx.Err() != nil && (errors.Is(out.err, context.Canceled) || errors.Is(out.err, history.ErrCancelled)):
		t.failure = history.CancelFailure("cancelled")
	case errors.As(out.err, &t.violation):
		t.failure = &history.Failure{FailureKind: history.Application, Type: port.ReasonViolation,
			Message: t.violation.Error(), NonRetryable: true}
	default:
		t.failure = history.FailureOf(out.err)
	}
}

// unreachable is the failure of an attempt that left its completion to others, and gave nobody the key to it.
func (t *try) unreachable() *history.Failure {
	message := ""
	switch {
	case t.token == nil:
		message = "a step cannot be completed from outside: call the activity without Inline"
	case !t.named.Load():
		message = "the activity returned activity.ErrPending and had not asked for its activity.Token: nobody could complete it"
	default:
		return nil
	}
	return &history.Failure{FailureKind: history.Application, Type: "no-token", Message: message, NonRetryable: true}
}

// allowed is the timeout that was given, for the message.
func (t *try) allowed() time.Duration {
	if t.which == history.ScheduleToClose {
		return t.command.Options.ScheduleToClose
	}
	return t.limit
}

// watchBeats ends an attempt that must heartbeat and has not done so in time.
func (t *try) watchBeats(ended chan<- outcome) (beat func(), stop func()) {
	every := t.command.Options.Heartbeat
	if every <= 0 {
		return func() {}, func() {}
	}
	w := &beatWatch{clock: t.e.Clock, every: every, last: t.started, ended: ended}
	w.arm(every)
	return w.beat, w.stop
}

type beatWatch struct {
	clock   port.Clock
	every   time.Duration
	ended   chan<- outcome
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
	end(w.ended, outcome{cause: errBeat})
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

// retry decides whether another attempt follows the failed one, and after what wait. It logs the
// failure: the log of the run shows it only once the activity has its answer.
func (t *try) retry(ctx context.Context) (wait time.Duration, again bool) {
	wait, again = t.another()
	if t.failure.FailureKind == history.Cancel { // the run asked for it
		return wait, again
	}
	what, next := "activity", "none"
	if t.command.Inline {
		what = "step"
	}
	if again {
		next = "in " + wait.String()
	}
	t.e.warn(ctx, "an attempt failed", "run", t.key.Run, "generation", t.key.Generation, "seq", t.key.Seq,
		what, t.command.Activity, "attempt", t.number, "error", t.failure, "next", next)
	return wait, again
}

func (t *try) another() (wait time.Duration, again bool) {
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
func (e *Engine) activity(command *history.ScheduleActivity) registry.Activity {
	name := command.Activity
	if perform, ok := e.registry.FindActivity(name); ok {
		return perform
	}
	if perform := e.performed(command); perform != nil {
		return perform
	}
	return func(context.Context, history.Payload) (history.Payload, error) {
		return nil, &history.Failure{FailureKind: history.Unregistered, Type: "unknown-activity",
			Message: fmt.Sprintf("activity %q is not registered here; registered: %s", name, named(e.Activities()))}
	}
}

// attempts are those under way in this process, so that a run's request to stop reaches them at once.
type attempts struct {
	mu    sync.Mutex
	byKey map[port.TaskKey]*underway
}

// underway is one activity here, from its first attempt to its last.
type underway struct {
	asked chan struct{} // closed once it was asked to stop
	mu    sync.Mutex
	ctx   *attempt.Context // of the attempt now running
}

func (a *attempts) begin(key port.TaskKey) *underway {
	u := &underway{asked: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey == nil {
		a.byKey = map[port.TaskKey]*underway{}
	}
	a.byKey[key] = u
	return u
}

func (a *attempts) end(key port.TaskKey, u *underway) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey[key] == u {
		delete(a.byKey, key)
	}
}

// enter says which attempt is running.
func (u *underway) enter(ctx *attempt.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ctx = ctx
	if u.cancelled() {
		ctx.End(context.Canceled, history.ErrCancelled)
	}
}

func (u *underway) cancelled() bool {
	select {
	case <-u.asked:
		return true
	default:
		return false
	}
}

func (u *underway) cancel() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.cancelled() {
		return
	}
	close(u.asked)
	if u.ctx != nil {
		u.ctx.End(context.Canceled, history.ErrCancelled)
	}
}

// cancel asks an activity to stop, if it is under way here.
func (a *attempts) cancel(key port.TaskKey) {
	a.mu.Lock()
	u := a.byKey[key]
	a.mu.Unlock()
	if u != nil {
		u.cancel()
	}
}
