//go:build localstack

package localstack

import (
	"context"
	"fmt"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

func TestMessages(t *testing.T) {
	run := start(t, "account", 100)
	ctx := within(t, patience)
	answer, err := trial.client.Update(ctx, engine.MessageRequest{Run: run}, "deposit", payload(t, 50))
	require.NoError(t, err)
	require.JSONEq(t, "150", string(answer.Result))
	answer, err = trial.client.Update(ctx, engine.MessageRequest{Run: run}, "deposit", payload(t, -1))
	require.NoError(t, err)
	require.Equal(t, history.UpdateRejected, answer.Phase)
	require.ErrorContains(t, answer.Failure, "a deposit is more than nothing")
	balance, err := trial.client.Query(ctx, run, "balance", nil)
	require.NoError(t, err)
	require.JSONEq(t, "150", string(balance))
	_, err = trial.client.Signal(ctx, engine.MessageRequest{Run: run}, "close", payload(t, "bye"))
	require.NoError(t, err)
	gives(t, run, "bye: 150")
	checkLog(t, run)
}

func TestCancel(t *testing.T) {
	run := start(t, "account", 1)
	_, err := trial.client.Cancel(within(t, patience), engine.MessageRequest{Run: run}, "enough")
	require.NoError(t, err)
	require.Equal(t, history.Cancelled, ends(t, run).Status)
	page, err := trial.client.History(within(t, patience), run, 0, 0)
	require.NoError(t, err)
	require.Contains(t, fmt.Sprintf("%s", page.Records), "noted cancelled", "what is shielded was done all the same")
}

// TestAnyID: an id may have any text, and comes through API Gateway as it is.
func TestAnyID(t *testing.T) {
	for i, id := range []string{"with space", "100%25", "ä ü+&=?", "a'b\"c;--"} {
		id = fmt.Sprint(id, "-", i)
		startAs(t, id, "count", 0)
		gives(t, id, "generation 1")
	}
}

func TestChildren(t *testing.T) {
	run := start(t, "family", 3)
	gives(t, run, 3)
	checkLog(t, run)
}

func TestContinueAsNew(t *testing.T) {
	run := start(t, "count", 5)
	gives(t, run, "generation 6")
	require.Equal(t, 6, ends(t, run).Generation)
}

func TestShortTimer(t *testing.T) {
	run := start(t, "nap", 2)
	summary := ends(t, run)
	require.GreaterOrEqual(t, summary.Closed.Sub(summary.Started), 2*time.Second)
	require.Less(t, summary.Closed.Sub(summary.Started), 15*time.Second)
}

// TestLongTimer: 16 minutes are more than a queue delays. The timer lies in a bucket, from which the schedule takes it; here
// its time is moved to the present.
func TestLongTimer(t *testing.T) {
	t.Parallel() // it waits for the next minute
	run := start(t, "nap", 16*60)
	var mine port.DueTimer
	eventually(t, "the timer lies in a bucket", func(ctx context.Context) bool {
		timers, err := trial.store.DueBefore(ctx, time.Now().Add(time.Hour))
		require.NoError(t, err)
		for _, timer := range timers {
			if timer.Run == run {
				mine = timer
			}
		}
		return mine.Run == run
	})
	require.WithinDuration(t, time.Now().Add(16*time.Minute), mine.At, time.Minute)
	moved := mine
	moved.At = time.Now().Add(time.Second)
	require.NoError(t, trial.store.PutDue(t.Context(), moved))
	require.NoError(t, trial.store.DeleteDue(t.Context(), []port.DueTimer{mine}))
	require.Equal(t, history.Completed, ends(t, run).Status)
}

// TestFanOut: a hundred answers of 100 KB each are ten megabytes in one activation, which neither an item nor a message holds.
func TestFanOut(t *testing.T) {
	run := start(t, "fan", map[string]int{"Width": 100, "Bytes": 100_000})
	gives(t, run, 10_000_000)
	checkLog(t, run)
}

// TestTaskThatKillsItsFunction: its activity fails, and says so to the workflow.
func TestTaskThatKillsItsFunction(t *testing.T) {
	t.Parallel() // it waits for visibility timeouts
	run := start(t, "crash", struct{}{})
	summary := ends(t, run)
	require.Contains(t, string(summary.Result), "begun too often without an answer")
}

// TestActivityThatFailsForEver: everybody sees it, and the run can be ended.
func TestActivityThatFailsForEver(t *testing.T) {
	run := start(t, "doomed", struct{}{})
	eventually(t, "the third attempt is under way", func(ctx context.Context) bool {
		states, err := trial.client.Activities(ctx, run)
		require.NoError(t, err)
		return len(states) == 1 && states[0].Attempt >= 3 && states[0].Failure == "not today"
	})
	_, err := trial.client.Cancel(within(t, patience), engine.MessageRequest{Run: run}, "enough")
	require.NoError(t, err)
	require.Equal(t, history.Cancelled, ends(t, run).Status)
}

// TestPoisonedMessage: it fails nobody else, is kept, and seen by doctor.
func TestPoisonedMessage(t *testing.T) {
	t.Parallel() // it waits for visibility timeouts
	for _, queue := range []string{trial.queues["Resumes"], trial.queues["Tasks"]} {
		body := `{"v":1,"poison":true}`
		_, err := trial.sqs.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body})
		require.NoError(t, err)
	}
	run := start(t, "chain", 1)
	gives(t, run, 2)
	eventually(t, "both are among the dead", func(ctx context.Context) bool {
		diagnosis, err := trial.client.Diagnose(ctx)
		require.NoError(t, err)
		return diagnosis.Queues != nil && diagnosis.Queues.Dead >= 2
	})
}

// TestRebuild: what was in the queues is lost, and comes back from the log.
func TestRebuild(t *testing.T) {
	asleep := start(t, "nap", 5)
	busy := t.Name() + ".doomed"
	startAs(t, busy, "doomed", struct{}{})
	eventually(t, "both wait for a message", func(ctx context.Context) bool {
		states, err := trial.client.Activities(ctx, busy)
		require.NoError(t, err)
		page, err := trial.client.History(ctx, asleep, 0, 0)
		require.NoError(t, err)
		return len(states) == 1 && states[0].Attempt >= 2 && len(page.Records) > 0
	})
	for _, queue := range []string{trial.queues["Resumes"], trial.queues["Tasks"]} {
		_, err := trial.sqs.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: &queue})
		require.NoError(t, err)
	}
	out := reprise(t, 0, "rebuild")
	require.Contains(t, out, "sent")
	gives(t, asleep, ends(t, asleep).Result)
	before, err := trial.client.Activities(within(t, patience), busy)
	require.NoError(t, err)
	eventually(t, "attempts go on", func(ctx context.Context) bool {
		states, err := trial.client.Activities(ctx, busy)
		require.NoError(t, err)
		return len(states) == 1 && len(before) == 1 && states[0].Attempt > before[0].Attempt
	})
	_, err = trial.client.Terminate(within(t, patience), engine.MessageRequest{Run: busy}, "seen")
	require.NoError(t, err)
}
