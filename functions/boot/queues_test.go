package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
	"github.com/reprise-run/reprise/infra/aws/sqs"
)

// The names of the queues are their URLs here.
const (
	resumesURL = "resumes"
	tasksURL   = "tasks"
	deadURL    = "dead"
)

type option = func(*awssqs.Options)

// fakeSQS keeps the messages sent and the requests made.
type fakeSQS struct {
	mu      sync.Mutex
	sent    map[string][]types.SendMessageBatchRequestEntry // by queue
	hidden  []string                                        // receipt handles of messages put off
	held    map[string]int32                                // by handle: seconds for which a message is hidden
	refuses error                                           // of every send
}

func (f *fakeSQS) SendMessageBatch(
	_ context.Context, in *awssqs.SendMessageBatchInput, _ ...option,
) (*awssqs.SendMessageBatchOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses != nil {
		return nil, f.refuses
	}
	out := &awssqs.SendMessageBatchOutput{}
	for _, entry := range in.Entries {
		f.sent[*in.QueueUrl] = append(f.sent[*in.QueueUrl], entry)
		out.Successful = append(out.Successful, types.SendMessageBatchResultEntry{Id: entry.Id})
	}
	return out, nil
}

func (f *fakeSQS) ChangeMessageVisibility(
	_ context.Context, in *awssqs.ChangeMessageVisibilityInput, _ ...option,
) (*awssqs.ChangeMessageVisibilityOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	handle := *in.QueueUrl + " " + *in.ReceiptHandle
	if f.held[handle] = in.VisibilityTimeout; in.VisibilityTimeout <= 60 { // the most that a failed message is put off
		f.hidden = append(f.hidden, handle)
	}
	return &awssqs.ChangeMessageVisibilityOutput{}, nil
}

func (f *fakeSQS) GetQueueAttributes(
	context.Context, *awssqs.GetQueueAttributesInput, ...option,
) (*awssqs.GetQueueAttributesOutput, error) {
	return nil, errors.New("no handler of messages counts them")
}

// shakyStore fails for some runs.
type shakyStore struct {
	*memory.Store
	fails map[string]error
}

// errSilent is that of a table that does not answer.
var errSilent = fmt.Errorf("%w: the table does not answer", port.ErrUnavailable)

func (s *shakyStore) Look(
	ctx context.Context, run string, known port.Position,
) (*port.View, error) {
	if err := s.fails[run]; err != nil {
		return nil, err
	}
	return s.Store.Look(ctx, run, known)
}

func (s *shakyStore) File(ctx context.Context, run string, item port.Item) (int64, bool, error) {
	if err := s.fails[run]; err != nil {
		return 0, false, err
	}
	return s.Store.File(ctx, run, item)
}

func (s *shakyStore) LoadTask(ctx context.Context, key port.TaskKey) (*port.TaskState, error) {
	if err := s.fails[key.Run]; err != nil {
		return nil, err
	}
	return s.Store.LoadTask(ctx, key)
}

// bench is a system over the fakes.
type bench struct {
	*System
	t      *testing.T
	sqs    *fakeSQS
	store  *shakyStore
	places *offloadtest.Places
}

var (
	greet = activity.New("greet", func(_ context.Context, name string) (string, error) {
		return "hello " + name, nil
	}).With(activity.Options{Heartbeat: time.Minute}) // so a task reads the table before it runs
	hello = workflow.New("hello", func(ctx workflow.Context, name string) (string, error) {
		return workflow.Execute(ctx, greet, name)
	})
)

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		t:      t,
		sqs:    &fakeSQS{sent: map[string][]types.SendMessageBatchRequestEntry{}, held: map[string]int32{}},
		store:  &shakyStore{memory.New(), map[string]error{}},
		places: offloadtest.New(),
	}
	queue := sqs.New(sqs.Config{Client: b.sqs, Resumes: resumesURL, Tasks: tasksURL, Dead: deadURL,
		Codec: offload.Codec{Places: b.places}})
	var err error
	b.System, err = New(Parts{Store: b.store, Queue: queue, Resumes: resumesURL, Tasks: tasksURL,
		Definitions: []workflow.Definition{hello, greet}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(b.Engine.Close)
	return b
}

// take takes all that is in a queue, as messages received so many times; their ids are the runs'
// names.
func (b *bench) take(queue string, received int) (messages []events.SQSMessage) {
	b.t.Helper()
	for _, entry := range b.sqs.sent[queue] {
		resume, noResume := b.Queue.DecodeResume(b.t.Context(), *entry.MessageBody)
		if noResume != nil {
			task, err := b.Queue.DecodeTask(b.t.Context(), *entry.MessageBody)
			require.NoError(b.t, err)
			resume.Run = task.Run
		}
		messages = append(messages, message(resume.Run, *entry.MessageBody, received))
	}
	b.sqs.sent[queue] = nil
	return messages
}

func message(id, body string, received int) events.SQSMessage {
	return events.SQSMessage{MessageId: id, ReceiptHandle: "handle of " + id, Body: body,
		Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(received)}}
}

// started starts runs, and gives their first resumes.
func (b *bench) started(received int, runs ...string) []events.SQSMessage {
	b.t.Helper()
	for _, run := range runs {
		b.start(run, run)
	}
	return b.take(resumesURL, received)
}

func (b *bench) start(run, name string) {
	b.t.Helper()
	request := engine.StartRequest{Run: run, Workflow: "hello", Input: []byte(strconv.Quote(name))}
	_, _, err := b.Engine.Start(b.t.Context(), request)
	require.NoError(b.t, err)
}

// failed are the messages that a function's answer names, which SQS delivers again. SQS deletes all
// others.
func failed(t *testing.T, response events.SQSEventResponse, err error) (ids []string) {
	t.Helper()
	require.NoError(t, err)
	for _, item := range response.BatchItemFailures {
		ids = append(ids, item.ItemIdentifier)
	}
	slices.Sort(ids)
	return ids
}

// TestAnAnswerNamesTheMessagesThatFailed: those alone, wherever in the batch messages cannot be
// read.
func TestAnAnswerNamesTheMessagesThatFailed(t *testing.T) {
	b := newBench(t)
	resumes := b.started(1, "a", "b", "c", "d")
	b.store.fails["c"] = errSilent
	batch := slices.Insert(resumes, 1, message("poison 1", "not JSON", 1), message("poison 2", `{"v":1}`, 1))
	response, err := b.HandleResumes(t.Context(), events.SQSEvent{Records: batch})
	require.Equal(t, []string{"c", "poison 1", "poison 2"}, failed(t, response, err))
	slices.Sort(b.sqs.hidden)
	hidden := []string{"resumes handle of c", "resumes handle of poison 1", "resumes handle of poison 2"}
	require.Equal(t, hidden, b.sqs.hidden, "these come again after a short while, and no others")

	b.sqs.hidden = nil
	tasks := b.take(tasksURL, 1)
	require.Len(t, tasks, 3, "a, b and d have work")
	b.store.fails["b"] = errSilent
	batch = slices.Insert(tasks, 0, message("poison", `{"v":1,"run":"a"}`, 1))
	response, err = b.HandleTasks(t.Context(), events.SQSEvent{Records: batch})
	require.Equal(t, []string{"b", "poison"}, failed(t, response, err))
	slices.Sort(b.sqs.hidden)
	require.Equal(t, []string{"tasks handle of b", "tasks handle of poison"}, b.sqs.hidden)
}

// TestAMessageOutlastsAnOutage: from its third receive on, it is sent again instead, so that it
// never counts as undeliverable. It is acknowledged only once the queue has taken the new one.
func TestAMessageOutlastsAnOutage(t *testing.T) {
	for _, queue := range []string{resumesURL, tasksURL} {
		t.Run(queue, func(t *testing.T) {
			b := newBench(t)
			messages, handle := b.started(1, "a"), b.HandleResumes
			if queue == tasksURL {
				response, err := b.HandleResumes(t.Context(), events.SQSEvent{Records: messages})
				require.Empty(t, failed(t, response, err))
				messages, handle = b.take(tasksURL, 1), b.HandleTasks
			}
			require.Len(t, messages, 1)
			b.store.fails["a"] = errSilent
			deliver := func(received int) []string {
				t.Helper()
				b.sqs.hidden = nil
				again := []events.SQSMessage{message("a", messages[0].Body, received)}
				response, err := handle(t.Context(), events.SQSEvent{Records: again})
				return failed(t, response, err)
			}
			require.Equal(t, []string{"a"}, deliver(2), "it may be over soon")
			require.NotEmpty(t, b.sqs.hidden)
			require.Empty(t, b.sqs.sent[queue])

			b.sqs.refuses = errors.New("the queue does not answer")
			require.Equal(t, []string{"a"}, deliver(3), "no new message was taken: SQS must keep this one")
			require.NotEmpty(t, b.sqs.hidden)

			b.sqs.refuses = nil
			require.Empty(t, deliver(3))
			require.Empty(t, b.sqs.hidden)
			require.Len(t, b.sqs.sent[queue], 1)
			again := b.sqs.sent[queue][0]
			require.JSONEq(t, messages[0].Body, *again.MessageBody, "it says the same")
			require.EqualValues(t, 30, again.DelaySeconds)

			delete(b.store.fails, "a")
			require.Empty(t, deliver(1))
		})
	}
}

// TestATaskComesAgainAfterItsOwnTimeout: a function that dies costs the timeout of its attempt, not
// the visibility timeout of the queue. Lambda deletes the messages of a batch together, so all are
// held for the longest attempt.
func TestATaskComesAgainAfterItsOwnTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		timeouts []time.Duration // of the attempts of one batch
		lifetime time.Duration   // of the invocation; zero: it is not limited
		held     time.Duration   // zero: for as long as the queue has it
	}{
		"by default":        {[]time.Duration{0}, 15 * time.Minute, time.Minute},
		"long":              {[]time.Duration{10 * time.Minute}, 15 * time.Minute, 10 * time.Minute},
		"longer than lives": {[]time.Duration{10 * time.Minute}, 2 * time.Minute, 2 * time.Minute},
		"a batch":           {[]time.Duration{5 * time.Minute, time.Second}, 15 * time.Minute, 5 * time.Minute},
		"no timeout":        {[]time.Duration{-1}, 15 * time.Minute, 15 * time.Minute},
		"no limit at all":   {[]time.Duration{-1}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				ctx := t.Context()
				if c.lifetime > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, c.lifetime)
					defer stop()
				}
				for i, timeout := range c.timeouts {
					run := fmt.Sprint("r", i)
					task := port.Task{Run: run, Generation: 1, Attempt: 1,
						Command: &history.ScheduleActivity{Activity: "greet",
							Input:   history.Payload(`"Ada"`),
							Options: history.ActivityOptions{StartToClose: timeout}}}
					require.NoError(t, b.Queue.SendTasks(ctx, task))
				}
				batch := b.take(tasksURL, 1)
				response, err := b.HandleTasks(ctx, events.SQSEvent{Records: batch})
				require.Empty(t, failed(t, response, err))
				for _, m := range batch {
					held, is := b.sqs.held["tasks "+m.ReceiptHandle]
					require.Equal(t, c.held > 0, is)
					if is { // the invocation keeps a second for its answer
						require.InDelta(t, (c.held + answering).Seconds(), held, 1)
					}
				}
			})
		})
	}
}

// TestOnlyAnOutageHasAMessageSentAgain: all else that fails again and again is to become a dead
// letter.
func TestOnlyAnOutageHasAMessageSentAgain(t *testing.T) {
	b := newBench(t)
	resumes := b.started(4, "a")
	b.store.fails["a"] = errors.New("the table refuses the request")
	response, err := b.HandleResumes(t.Context(), events.SQSEvent{Records: resumes})
	require.Equal(t, []string{"a"}, failed(t, response, err))
	require.Empty(t, b.sqs.sent[resumesURL])
}

// TestADeadLetterWaitsForItsPayload: it can be read, only not now.
func TestADeadLetterWaitsForItsPayload(t *testing.T) {
	b := newBench(t)
	b.start("a", strings.Repeat("x", 100_000))
	dead := b.take(resumesURL, 6)
	b.places.Fails = func() error {
		return fmt.Errorf("%w: the bucket does not answer", port.ErrUnavailable)
	}
	response, err := b.HandleDead(t.Context(), events.SQSEvent{Records: dead})
	require.Len(t, failed(t, response, err), 1)
	require.Empty(t, b.sqs.sent[deadURL])
}

// TestAMessageThatCannotBeReadIsNotSentAgain: it is to become a dead letter.
func TestAMessageThatCannotBeReadIsNotSentAgain(t *testing.T) {
	b := newBench(t)
	for handled, handle := range map[string]onMessages{resumesURL: b.HandleResumes, tasksURL: b.HandleTasks} {
		poison := []events.SQSMessage{message("poison", "{}", 4)}
		response, err := handle(t.Context(), events.SQSEvent{Records: poison})
		require.Equal(t, []string{"poison"}, failed(t, response, err), handled)
		require.Empty(t, b.sqs.sent, handled)
	}
}

// TestDeadLetters: a task fails its activity, a resume blocks its run, and what cannot be read is
// kept. Each is acknowledged only then.
func TestDeadLetters(t *testing.T) {
	b := newBench(t)
	resumes := b.started(6, "a", "b")
	response, err := b.HandleResumes(t.Context(), events.SQSEvent{Records: resumes[:1]})
	require.Empty(t, failed(t, response, err))
	dead := append(b.take(tasksURL, 6), resumes[1], message("poison", "not JSON", 6))
	require.Len(t, dead, 3)

	b.store.fails["a"], b.store.fails["b"], b.sqs.refuses = errSilent, errSilent, errors.New("the queue does not answer")
	response, err = b.HandleDead(t.Context(), events.SQSEvent{Records: dead})
	require.Equal(t, []string{"a", "b", "poison"}, failed(t, response, err), "nothing was done, so everything comes again")
	require.Empty(t, b.sqs.hidden, "these come again after the visibility timeout")

	clear(b.store.fails)
	b.sqs.refuses = nil
	response, err = b.HandleDead(t.Context(), events.SQSEvent{Records: dead})
	require.Empty(t, failed(t, response, err))
	require.Len(t, b.sqs.sent[deadURL], 1)
	require.Equal(t, "not JSON", *b.sqs.sent[deadURL][0].MessageBody)
	blocked, err := b.store.Summary(t.Context(), "b")
	require.NoError(t, err)
	require.NotNil(t, blocked.Blocked)
	require.Equal(t, port.ReasonUndeliverable, blocked.Blocked.Reason)
	response, err = b.HandleResumes(t.Context(), events.SQSEvent{Records: b.take(resumesURL, 1)})
	require.Empty(t, failed(t, response, err))
	ended, err := b.store.Summary(t.Context(), "a")
	require.NoError(t, err)
	require.ErrorContains(t, ended.Failure, "begun too often without an answer")
}

// TestARunOverQueues: a run ends, and its messages are acknowledged, each time.
func TestARunOverQueues(t *testing.T) {
	b := newBench(t)
	messages := b.started(1, "Ada")
	handle := map[string]onMessages{resumesURL: b.HandleResumes, tasksURL: b.HandleTasks}
	for _, queue := range []string{resumesURL, tasksURL, resumesURL} {
		require.Len(t, messages, 1, queue)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		response, err := handle[queue](ctx, events.SQSEvent{Records: messages})
		cancel()
		require.Empty(t, failed(t, response, err))
		messages = slices.Concat(b.take(tasksURL, 1), b.take(resumesURL, 1))
	}
	summary, err := b.store.Summary(t.Context(), "Ada")
	require.NoError(t, err)
	require.JSONEq(t, `"hello Ada"`, string(summary.Result))
}
