package porttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// WriteEverywhere has the store hold a text wherever a value, or words, of an author's or a caller's can be: in the run
// "everywhere", which has ended and is blocked. Whoever keeps such values from being read finds out whether it is there.
func WriteEverywhere(t *testing.T, s Stores, text string) {
	t.Helper()
	ctx := t.Context()
	value := history.Payload(`{"v":"` + text + `"}`)
	summary := newSummary("everywhere")
	summary.Input = value
	start := port.Item{Key: "start#1", Event: &history.Started{Generation: 1, Workflow: "order",
		Input: value}, Durable: true}
	require.NoError(t, s.Runs.Create(ctx, summary, start))
	for i, event := range eventsWith(text) {
		item := port.Item{Key: event.Key(1), Event: event, Stamp: int64(i), Durable: true}
		_, _, err := s.Runs.File(ctx, summary.Run, item)
		require.NoError(t, err)
	}
	ended := *summary
	ended.Status, ended.Closed = history.Failed, summary.Started.Add(time.Hour)
	ended.Result, ended.State, ended.Failure = value, value, failureWith(text)
	next := port.Item{Key: "start#2", Event: &history.Started{Generation: 2, Workflow: "order",
		Input: value}, Durable: true}
	require.NoError(t, s.Runs.Put(ctx, &port.Commit{Run: summary.Run, Generation: 1,
		Summary: &ended, Next: &next,
		Record: &history.Record{Number: 1, Time: epoch, Events: eventsWith(text),
			Commands: commandsWith(text),
			Tried: []history.Tried{{Seq: 1,
				Attempts: []history.Attempt{{Number: 1, Failure: failureWith(text)}}}},
			Checkpoint: checkpointWith(value)}}))
	require.NoError(t, s.Runs.Block(ctx, summary.Run,
		&port.Block{Since: epoch, Reason: port.ReasonNondeterminism, Message: text}))
	require.NoError(t, s.Tasks.SaveTask(ctx,
		&port.TaskState{TaskKey: port.TaskKey{Run: summary.Run, Generation: 1, Seq: 1},
			Activity: "charge",
			Details:  value,
			Failure:  text,
			Failed:   []history.Attempt{{Number: 1, Failure: failureWith(text)}},
			Pending:  true}))
}

func checkpointWith(value history.Payload) *history.Checkpoint {
	activity := &history.ScheduleActivity{Activity: "charge", Input: value}
	activity.Number(7)
	return &history.Checkpoint{Pending: []history.Pending{{Command: activity, Time: epoch,
		Generation: 1}}}
}

func failureWith(text string) *history.Failure {
	value := history.Payload(`["` + text + `"]`)
	return &history.Failure{FailureKind: history.Panic, Type: "refused", Message: text, Stack: text, Details: value,
		Cause: &history.Failure{FailureKind: history.Application, Message: text, Details: value}}
}

func eventsWith(text string) []history.Event {
	value := history.Payload(`{"v":"` + text + `"}`)
	return []history.Event{
		&history.ActivityResolved{Seq: 1, Result: value},
		&history.ActivityResolved{Seq: 2, Failure: failureWith(text), Attempts: []history.Attempt{{Number: 1, Failure: failureWith(text)}}},
		&history.ChildResolved{Seq: 3, Result: value}, &history.ChildResolved{Seq: 4, Failure: failureWith(text)},
		history.NewSignal("m1", "approve", value), history.NewUpdate("m2", "change", value),
		history.NewCancel("m3", text), history.NewTerminate("m4", text), history.NewReset("m5", 1, 1, text),
	}
}

func commandsWith(text string) []history.Command {
	value := history.Payload(`{"v":"` + text + `"}`)
	return []history.Command{
		&history.ScheduleActivity{Activity: "charge", Input: value}, &history.StartChild{Workflow: "ship", Input: value},
		&history.RespondUpdate{ID: "m2", Result: value}, &history.RespondUpdate{ID: "m3", Failure: failureWith(text)},
		&history.ContinueAsNew{Workflow: "order", Input: value}, &history.CompleteRun{Result: value}, &history.FailRun{Failure: failureWith(text)},
	}
}
