// Package activity is what authors of activities import: work with side effects, called by workflows.
//
// An activity is a plain function with a context, a name that runs remember, and options. It runs at least once: a crash
// between its end and the recording of its result runs it again, so give side effects the key in [Info].IdempotencyKey.
package activity

import (
	"cmp"
	"context"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
)

// Activity is an activity that takes an I and gives an O. Make it once, as a package variable: workflows call it by this
// value, and a program registers it.
type Activity[I, O any] struct {
	name    string
	options Options
	run     func(context.Context, I) (O, error)
}

// New makes an activity. The name is what runs remember: it stays when the function is renamed or moved.
func New[I, O any](name string, run func(context.Context, I) (O, error)) *Activity[I, O] {
	return &Activity[I, O]{name: name, run: run}
}

// Declare makes an activity whose code is elsewhere: workflows can call it, and the program that has the code, or what the
// code needs, registers [Activity.Implement].
func Declare[I, O any](name string) *Activity[I, O] { return &Activity[I, O]{name: name} }

// Implement gives a declared activity its code.
func (a *Activity[I, O]) Implement(run func(context.Context, I) (O, error)) *Activity[I, O] {
	b := *a
	b.run = run
	return &b
}

// With gives the same activity with these options. What they leave zero keeps the activity's own value: each field for itself,
// those of Retry, too. [Unlimited] takes a timeout away.
func (a *Activity[I, O]) With(options Options) *Activity[I, O] {
	b := *a
	b.options = options.or(a.options)
	return &b
}

// Inline gives the same activity run as a step: within the invocation that decides on it, without a message. That is the
// fastest way for something short. See workflow.Step.
func (a *Activity[I, O]) Inline() *Activity[I, O] {
	b := *a
	b.options.Inline = true
	return &b
}

// Name is what runs remember the activity by.
func (a *Activity[I, O]) Name() string { return a.name }

// Options are the activity's own.
func (a *Activity[I, O]) Options() Options { return a.options }

// Define registers the activity.
func (a *Activity[I, O]) Define(into *registry.Registry) {
	if a.run == nil {
		into.Activity(a.name, nil, nil)
		return
	}
	into.Activity(a.name, func(ctx context.Context, input history.Payload) (history.Payload, error) {
		in, err := history.Decode[I](input)
		if err != nil {
			return nil, encoding("input of activity "+a.name, err)
		}
		out, err := a.run(ctx, in)
		if err != nil {
			return nil, err
		}
		result, err := history.Encode(out)
		if err != nil {
			return nil, encoding("result of activity "+a.name, err)
		}
		return result, nil
	}, registry.TypeOf[O]())
}

func encoding(what string, err error) *history.Failure {
	return &history.Failure{FailureKind: history.Encoding, Message: what + ": " + err.Error(), NonRetryable: true}
}

// Options of a call. The zero value: an attempt may take a minute, and is retried without end.
type Options struct {
	// ID names the call in the run's history; empty: made of its number.
	ID string
	// Inline runs the activity as a step.
	Inline bool
	// ScheduleToStart is how long the first attempt may wait for a worker. Zero: without limit. A
	// reset that keeps the call starts this limit and ScheduleToClose again. Steps ignore it.
	ScheduleToStart time.Duration
	// StartToClose is how long one attempt may take: then its context is cancelled, and it counts as failed. Zero: a
	// minute. Unlimited: no limit.
	StartToClose time.Duration
	// ScheduleToClose is how long all attempts together may take, the waits between them included. Zero: without limit.
	ScheduleToClose time.Duration
	// Heartbeat is how long an attempt may go on without calling [Heartbeat]. Zero: it need not.
	Heartbeat time.Duration
	Retry     Retry
	// OnCancel says what the cancellation of the workflow's scope does. Zero: ask it to stop, and wait for its answer.
	OnCancel Cancellation
}

// Unlimited as a timeout: none.
const Unlimited = time.Duration(-1)

// Retry says when a failed attempt is followed by another one. The zero value: without end, 1 s after the first attempt,
// twice as long after each further one, at most 100 s apart.
type Retry struct {
	InitialInterval    time.Duration // before the second attempt; zero: 1 s
	MaxInterval        time.Duration // between attempts; zero: 100 × InitialInterval
	BackoffCoefficient float64       // growth from wait to wait; zero: 2
	MaxAttempts        int           // zero: no limit; 1: no retries
	// NonRetryable lists types of failure that another attempt would not help: see [Fail].
	NonRetryable []string
}

// Cancellation says what a cancelled scope does with an activity under way.
type Cancellation int

const (
	Wait    Cancellation = iota // ask it to stop, and wait for its answer
	Try                         // ask it to stop, and do not wait
	Abandon                     // let it go on, and do not wait
)

// or gives the options, with other ones in the place of zero values.
func (o Options) or(other Options) Options {
	retry := o.Retry
	o.Retry = Retry{
		InitialInterval:    cmp.Or(retry.InitialInterval, other.Retry.InitialInterval),
		MaxInterval:        cmp.Or(retry.MaxInterval, other.Retry.MaxInterval),
		BackoffCoefficient: cmp.Or(retry.BackoffCoefficient, other.Retry.BackoffCoefficient),
		MaxAttempts:        cmp.Or(retry.MaxAttempts, other.Retry.MaxAttempts),
		NonRetryable:       retry.NonRetryable,
	}
	if retry.NonRetryable == nil {
		o.Retry.NonRetryable = other.Retry.NonRetryable
	}
	o.ID = cmp.Or(o.ID, other.ID)
	o.Inline = o.Inline || other.Inline
	o.ScheduleToStart = cmp.Or(o.ScheduleToStart, other.ScheduleToStart)
	o.StartToClose = cmp.Or(o.StartToClose, other.StartToClose)
	o.ScheduleToClose = cmp.Or(o.ScheduleToClose, other.ScheduleToClose)
	o.Heartbeat = cmp.Or(o.Heartbeat, other.Heartbeat)
	o.OnCancel = cmp.Or(o.OnCancel, other.OnCancel)
	return o
}

// Recorded gives the options in their stored form.
func (o Options) Recorded() history.ActivityOptions {
	return history.ActivityOptions{
		ScheduleToStart: o.ScheduleToStart, StartToClose: o.StartToClose, ScheduleToClose: o.ScheduleToClose, Heartbeat: o.Heartbeat,
		Retry:        history.RetryPolicy(o.Retry),
		Cancellation: [...]history.CancellationType{history.WaitCancelled, history.TryCancel, history.Abandon}[o.OnCancel],
	}
}
