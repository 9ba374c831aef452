package workflow

import (
	"context"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Execute calls an activity and waits for its result. Its failure comes after the last attempt: see [FailureType]. If the
// scope is cancelled meanwhile, the activity is asked to stop, and its answer awaited (activity.Options.OnCancel); if it
// stopped, the error is the scope's: [ErrCancelled], or [ErrTimeout] in one that ran out of time.
func Execute[I, O any](ctx Context, call *activity.Activity[I, O], input I) (O, error) {
	return start(ctx.enter("Execute"), ctx, call, input).Await(ctx)
}

// Start calls an activity and does not wait.
func Start[I, O any](ctx Context, call *activity.Activity[I, O], input I) Future[O] {
	return start(ctx.enter("Start"), ctx, call, input)
}

func start[I, O any](
	u *scheduler.Unit, ctx Context, call *activity.Activity[I, O], input I,
) Future[O] {
	payload, err := history.Encode(input)
	if err != nil {
		return failedFuture[O](encoding("input of activity "+call.Name(), err))
	}
	options := call.Options()
	if err := refused(u, "workflow.Start of activity "+call.Name(), options); err != nil {
		return failedFuture[O](err)
	}
	return operation[O](u, ctx.scope, &history.ScheduleActivity{ID: options.ID, Activity: call.Name(), Input: payload,
		Inline: options.Inline, Options: options.Recorded()})
}

// Step runs a function with side effects and waits for its result: inline, within the invocation that decides on it, so
// that it costs one write and no message. It is the answer to "call something short". Like an activity, it runs at least
// once, is retried when it fails, and may take a minute.
//
// The function must not touch variables that workflow code changes: give it values, and take its
// result. Nor may it call a function of this package: such a call blocks the run, with the cause,
// until fixed code is deployed.
func Step[T any](ctx Context, name string, run func(context.Context) (T, error)) (T, error) {
	return startStep(ctx.enter("Step"), ctx, name, activity.Options{}, run).Await(ctx)
}

// StartStep is Step with options, and does not wait. Steps started together run at the same time.
func StartStep[T any](ctx Context, name string, options activity.Options, run func(context.Context) (T, error)) Future[T] {
	return startStep(ctx.enter("StartStep"), ctx, name, options, run)
}

func startStep[T any](u *scheduler.Unit, ctx Context, name string, options activity.Options, run func(context.Context) (T, error)) Future[T] {
	if err := refused(u, "workflow.StartStep of "+name, options); err != nil {
		return failedFuture[T](err)
	}
	op := &machine.Operation{Step: func(ctx context.Context) (history.Payload, error) {
		value, err := run(ctx)
		if err != nil {
			return nil, err
		}
		result, err := history.Encode(value)
		if err != nil {
			return nil, encoding("result of step "+name, err)
		}
		return result, nil
	}}
	u.Schedule(&history.ScheduleActivity{ID: options.ID, Activity: name, Inline: true, Options: options.Recorded()}, ctx.scope, op)
	return Future[T]{promise: &op.Promise, scope: ctx.scope, on: op}
}

// refused says why options cannot be right, before there is a command. Logs of behavior version 0 have
// commands with such options.
func refused(u *scheduler.Unit, call string, options activity.Options) error {
	if err := options.Validate(); err != nil && u.Run().Since(1) {
		return invalid(call, err.Error())
	}
	return nil
}

func invalid(call, text string) error {
	return &history.Failure{FailureKind: history.Application, Type: "invalid-option", NonRetryable: true,
		Message: call + ": option " + text}
}
