//go:build localstack

package localstack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/sqs"
	"github.com/reprise-run/reprise/infra/system"
)

// scenario is a run whose calls are of interest: those of some functions.
type scenario struct {
	name      string
	functions []string
	// drive starts the run, and does all that it needs of others. What a caller gets no answer to, the client repeats.
	drive func(ctx context.Context, run string, w *watch) error
	ends  history.Status
	gives string // the result, in JSON; empty: any
}

var scenarios = []scenario{
	{"life", []string{"api", "activate", "task"}, driveLife, history.Completed, `"noted one two, bye 4 one"`},
	{"flow", []string{"activate", "task"}, driveFlow, history.Completed, allKindsResult},
	{"long payload", []string{"activate", "task"}, drivePayload, history.Completed, `40000`},
	{"long timer", []string{"timer"}, driveTimer, history.Completed, ""},
	{"dead task", []string{"deadletter"}, driveDeadTask, history.Failed, ""},
	{"dead resume", []string{"deadletter"}, driveDeadResume, history.Completed, `"bye: 1"`},
}

func begin(ctx context.Context, run, workflow string, input history.Payload) error {
	_, err := trial.client.Start(ctx, engine.StartRequest{Run: run, Workflow: workflow, Input: input})
	return err
}

func driveLife(ctx context.Context, run string, _ *watch) error {
	if err := begin(ctx, run, "life", []byte(`""`)); err != nil {
		return err
	}
	fired := func(rec *history.Record) bool {
		for _, event := range rec.Events {
			if _, ok := event.(*history.TimerFired); ok {
				return true
			}
		}
		return false
	}
	if _, err := awaitRecord(ctx, run, fired); err != nil {
		return err
	}
	_, err := trial.client.Signal(ctx, engine.MessageRequest{Run: run}, "close", []byte(`"bye"`))
	return err
}

func drivePayload(ctx context.Context, run string, _ *watch) error {
	return begin(ctx, run, "fan", []byte(`{"Width":1,"Bytes":40000}`))
}

// schedule is held by whom the calls of functions/timer are counted for.
var schedule sync.Mutex

// driveTimer has the schedule's function called twice: the first call may be killed, and the next minute's would follow.
func driveTimer(ctx context.Context, run string, w *watch) error {
	if err := begin(ctx, run, "nap", []byte(`960`)); err != nil {
		return err
	}
	timer, err := awaitTimer(ctx, run)
	if err != nil {
		return err
	}
	schedule.Lock()
	defer schedule.Unlock()
	trial.proxy.watchTimer(w)
	defer trial.proxy.watchTimer(nil)
	moved := timer
	moved.At = time.Now().Add(time.Second)
	if err := trial.store.PutDue(ctx, moved); err != nil {
		return err
	}
	if err := trial.store.DeleteDue(ctx, []port.DueTimer{timer}); err != nil {
		return err
	}
	for range 2 {
		if err := invoke(ctx, "timer"); err != nil {
			return err
		}
	}
	return nil
}

// awaitTimer waits until a run's long timer lies in a bucket.
func awaitTimer(ctx context.Context, run string) (timer port.DueTimer, err error) {
	return timer, comesTrue(ctx, func() (bool, error) {
		due, err := trial.store.DueBefore(ctx, time.Now().Add(time.Hour))
		for _, timer = range due {
			if timer.Run == run {
				return true, nil
			}
		}
		return false, err
	})
}

// driveDeadTask has a task received too often whose activity does not come to an end otherwise.
func driveDeadTask(ctx context.Context, run string, _ *watch) error {
	if err := begin(ctx, run, "doomed", []byte(`{}`)); err != nil {
		return err
	}
	var command *history.ScheduleActivity
	rec, err := awaitRecord(ctx, run, func(rec *history.Record) bool {
		for _, c := range rec.Commands {
			command, _ = c.(*history.ScheduleActivity)
		}
		return command != nil
	})
	if err != nil {
		return err
	}
	return dead("TasksDead").SendTasks(ctx, port.Task{Run: run, Generation: 1, Command: command, Scheduled: rec.Time, Sent: rec.Time, Attempt: 1})
}

// driveDeadResume has a resume received too often that carries a signal: the run is blocked with it, and is unblocked by whoever
// waits for its end.
func driveDeadResume(ctx context.Context, run string, _ *watch) error {
	if err := begin(ctx, run, "account", []byte(`1`)); err != nil {
		return err
	}
	if _, err := awaitRecord(ctx, run, func(*history.Record) bool { return true }); err != nil {
		return err
	}
	summary, err := trial.store.Summary(ctx, run)
	if err != nil {
		return err
	}
	signal := history.NewSignal("bye", "close", []byte(`"bye"`))
	history.File(signal, system.NewID()[:12])
	key := fmt.Sprintf("%s#%s", signal.Key(1), strconv.FormatInt(summary.Started.UnixNano(), 36)) // the mail of this run, and not of one before
	item := &port.Item{Key: key, Event: signal, Stamp: time.Now().UnixNano(), Durable: true}
	return dead("ResumesDead").SendResumes(ctx, port.Resume{Run: run, Carries: item})
}

// dead sends to a queue of dead letters, as SQS itself does.
func dead(queue string) *sqs.Queue {
	return sqs.New(sqs.Config{Client: trial.sqs, Resumes: trial.queues[queue], Tasks: trial.queues[queue], Codec: offload.Codec{}})
}

// invoke calls a function as the schedule does, and waits for its end, however it ends.
func invoke(ctx context.Context, function string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint()+"/2015-03-31/functions/"+stack+"-"+function+"/invocations", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("functions/%s was not invoked: %s %s %w", function, response.Status, text, err)
	}
	return nil
}

// awaitRecord waits until a run's first generation has a record such as this, and gives it. Where many die at a time, the messages of
// others come too often, too: then it unblocks the run.
func awaitRecord(ctx context.Context, run string, such func(*history.Record) bool) (found *history.Record, err error) {
	return found, comesTrue(ctx, func() (bool, error) {
		summary, err := trial.store.Summary(ctx, run)
		if err != nil {
			return false, err
		}
		if err := unblock(ctx, summary.Run, summary.Workflow, (*wire.Block)(summary.Blocked)); err != nil {
			return false, err
		}
		records, err := trial.store.Records(ctx, run, 1, 0)
		for _, rec := range records {
			if such(rec) {
				found = rec
				return true, nil
			}
		}
		return false, err
	})
}

// comesTrue looks every other second, past the API, whose calls are counted: many do at a time, and LocalStack is slow.
func comesTrue(ctx context.Context, isSo func() (bool, error)) error {
	for {
		if so, err := isSo(); so || err != nil {
			return err
		}
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
