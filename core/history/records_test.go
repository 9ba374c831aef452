package history_test

import (
	"math"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

var at = time.Date(2030, 1, 2, 3, 4, 5, 678_900_000, time.UTC)

// failure is one with every field.
func failure() *history.Failure {
	return &history.Failure{FailureKind: history.ActivityKind, Type: "charge", Message: "declined: \"no\"\n<b>", NonRetryable: true,
		RetryAfter: 90 * time.Second, Details: history.Payload(`{"code":51}`), Stack: "main.go:7",
		Cause: &history.Failure{FailureKind: history.Application, Type: "card-declined", Message: "déclinée"}}
}

func numbered[C history.Sequenced](seq int64, command C) C {
	command.Number(seq)
	return command
}

func emitted[C history.Command](unit string, command C) C {
	command.Emitter(unit)
	return command
}

func filed[E history.Event](filing string, event E) E {
	history.File(event, filing)
	return event
}

// events has every kind, with every field.
func events() []history.Event {
	update := history.NewUpdate("u-1", "add", history.Payload(`5`))
	update.Accepted = true
	return []history.Event{
		filed("f1", &history.Started{Generation: 3, Workflow: "order", Input: history.Payload(`{"a":[1,2]}`), Seed: math.MaxUint64,
			Behavior:   1,
			Parent:     &history.Parent{Run: "mother", Generation: 2, Seq: 7},
			Attributes: history.Attributes{"tier": history.Payload(`"gold"`), "gone": nil},
			Signals:    []*history.SignalReceived{history.NewSignal("s-0", "note", nil), history.NewSignal("s-1", "note", history.Payload(`"x"`))},
			Mail:       []string{"s-0", "s-1"}, Base: &history.Base{Generation: 2, Record: 9},
			Letters: []history.Mail{filed("f0", history.NewSignal("s-2", "note", history.Payload(`"y"`))), update}, Reset: chosen(history.NewReset("r", 2, 9, "again"))}),
		&history.ActivityResolved{Seq: 1, Result: history.Payload(`[1.5e3, "\u00e9"]`), Started: at, Number: 3, Worker: "w-1", Attempts: []history.Attempt{
			{Number: 1, Started: at, Ended: at.Add(time.Second), Worker: "w-0", Failure: failure()}, {Number: 2}}},
		filed("f2", &history.ActivityResolved{Seq: 2, Failure: failure()}),
		&history.TimerFired{Seq: math.MaxInt64},
		&history.ChildResolved{Seq: 4, Result: history.Payload(`true`)}, &history.ChildResolved{Seq: 5, Failure: failure()},
		filed("f3", history.NewSignal("s-2", "note", nil)), history.NewSignal("s-3", "nöte", history.Payload(`{}`)),
		update, history.NewUpdate("", "", nil),
		history.NewCancel("c", "no need"), history.NewCancel("c2", ""), history.NewTerminate("t", "enough"), history.NewReset("r", 2, 9, "again"),
		chosen(history.NewSignal("a", "note", nil)), chosen(history.NewUpdate("a", "add", nil)), chosen(history.NewCancel("a", "")),
		chosen(history.NewTerminate("a", "")), chosen(history.NewReset("a", 1, 1, "")),
	}
}

// chosen is a message whose id its sender chose.
func chosen[M history.Mail](message M) M {
	message.Choose()
	return message
}

// checkpoint has every kind of command that can be pending.
func checkpoint() *history.Checkpoint {
	cancel := numbered(2, &history.CancelActivity{})
	return &history.Checkpoint{Pending: []history.Pending{
		{Command: numbered(1, &history.StartTimer{Duration: time.Hour}), Time: at, Generation: 1},
		{Command: emitted("p0.p1",
			numbered(2, &history.ScheduleActivity{Activity: "charge",
				Input: history.Payload(`{"to":1}`)})), Time: at,
			Generation: 2, Cancel: cancel},
		{Command: numbered(3, &history.StartChild{Workflow: "ship", Input: history.Payload(`[7]`)}),
			Generation: 2},
	}}
}

// commands has every kind, with every field.
func commands() []history.Command {
	return []history.Command{
		emitted("p1.p0", numbered(0, &history.ScheduleActivity{ID: "mine", Activity: "charge", Input: history.Payload(`{"to":"<x>"}`), Inline: true,
			Options: history.ActivityOptions{ScheduleToStart: time.Second, StartToClose: -1, ScheduleToClose: time.Hour, Heartbeat: time.Millisecond,
				Cancellation: history.TryCancel, Retry: history.RetryPolicy{InitialInterval: time.Second, MaxInterval: time.Minute, BackoffCoefficient: 1.25,
					MaxAttempts: 4, NonRetryable: []string{"card-declined", "x"}}}})),
		numbered(1, &history.ScheduleActivity{Activity: "plain"}),
		numbered(1, &history.CancelActivity{Abandoned: true}),
		emitted("h2.a0", numbered(2, &history.StartTimer{Duration: 1500 * time.Millisecond})), numbered(2, &history.CancelTimer{}),
		numbered(3, &history.StartChild{Run: "daughter", Workflow: "ship", Input: history.Payload(`1`), ParentClosePolicy: history.AbandonChildren,
			Attributes: history.Attributes{"b": history.Payload(`2`), "a": history.Payload(`"1"`)}}),
		numbered(3, &history.CancelChild{}),
		&history.MarkPatch{ID: "new", Deprecated: true},
		&history.UpsertAttributes{Attributes: history.Attributes{"é\n": history.Payload(`[]`)}},
		&history.RespondUpdate{ID: "u-1", Phase: history.UpdateAccepted},
		&history.RespondUpdate{ID: "u-1", Phase: history.UpdateCompleted, Result: history.Payload(`6`), Failure: failure()},
		&history.ContinueAsNew{Workflow: "order", Input: history.Payload(`{}`)},
		&history.CompleteRun{Result: history.Payload(`"done"`)}, &history.FailRun{Failure: failure()}, &history.CancelRun{Failure: failure()},
		&history.TerminateRun{Failure: failure()}, &history.ResetRun{},
	}
}

func record() *history.Record {
	return &history.Record{Number: 12, Time: at, Author: "node/7", Until: at.Add(time.Minute), Again: []history.Item{{Key: "fired#1#2", Filing: "f"}},
		Resumes: []int64{0, 5}, Events: events(), Commands: commands()}
}
