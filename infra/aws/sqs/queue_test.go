package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
	"github.com/reprise-run/reprise/infra/aws/sqs"
)

var _ port.Queue = (*sqs.Queue)(nil)

func newQueue(s *service) *sqs.Queue {
	return sqs.New(sqs.Config{Client: s, Resumes: "resumes", Tasks: "tasks", Dead: "dead", Codec: offload.Codec{Places: offloadtest.New()}})
}

// resumed is which runs a queue has resumes of.
func resumed(t *testing.T, q *sqs.Queue, s *service) (runs []string) {
	t.Helper()
	for _, m := range s.queues["resumes"] {
		resume, err := q.DecodeResume(t.Context(), m.body)
		require.NoError(t, err)
		runs = append(runs, resume.Run)
	}
	return runs
}

// firing is a resume that carries something.
func firing(run string, delay time.Duration) port.Resume {
	event := &history.TimerFired{Seq: 7}
	return port.Resume{Run: run, Delay: delay, Carries: &port.Item{Key: event.Key(1), Event: event}}
}

func newTask(run string, input history.Payload) port.Task {
	command := &history.ScheduleActivity{Activity: "charge", Input: input}
	command.Number(3)
	return port.Task{Run: run, Generation: 1, Command: command, Attempt: 1}
}

func TestDelays(t *testing.T) {
	s := newService()
	q := newQueue(s)
	for delay, want := range map[time.Duration]int32{-time.Second: 0, 0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, 14*time.Minute + 59*time.Second + 1: 900, 900 * time.Second: 900} {
		s.queues = map[string][]sent{}
		require.NoError(t, q.SendResumes(t.Context(), firing("r", delay)))
		require.Equal(t, want, s.queues["resumes"][0].delay, "%s: a timer is never early", delay)
	}
	require.ErrorContains(t, q.SendResumes(t.Context(), firing("r", 900*time.Second+1)), "a queue delays by 15m0s at most")

	s.queues = map[string][]sent{}
	task := newTask("r", nil)
	task.Delay = time.Hour
	require.NoError(t, q.SendTasks(t.Context(), task))
	require.NoError(t, q.SendResumes(t.Context(), port.Resume{Run: "r", Delay: time.Hour}))
	require.EqualValues(t, 900, s.queues["tasks"][0].delay, "whoever receives it looks when it is due")
	require.EqualValues(t, 900, s.queues["resumes"][0].delay)
}

func TestPlainResumesAreSentOnce(t *testing.T) {
	s := newService()
	q := newQueue(s)
	require.NoError(t, q.SendResumes(t.Context()))
	require.Zero(t, s.requests, "nothing to send is no request")
	later := port.Resume{Run: "a", Delay: time.Second}
	require.NoError(t, q.SendResumes(t.Context(), port.Resume{Run: "a"}, port.Resume{Run: "b"},
		port.Resume{Run: "a"}, later, later,
		firing("a", 0), firing("a", 0), port.Resume{Run: "a", Unblocks: "b"}, port.Resume{Run: "a",
			Unblocks: "b"}))
	require.Equal(t, []string{"a", "b", "a", "a", "a", "a", "a"}, resumed(t, q, s))
	require.Equal(t, `{"v":1,"run":"a"}`, s.queues["resumes"][0].body)
}

func TestBatches(t *testing.T) {
	s := newService()
	meter := &aws.Meter{}
	q := sqs.New(sqs.Config{Client: s, Resumes: "resumes", Tasks: "tasks", Codec: offload.Codec{Places: offloadtest.New()}, Meter: meter})
	var resumes []port.Resume
	for i := range 95 {
		resumes = append(resumes, port.Resume{Run: fmt.Sprint(i)})
	}
	require.NoError(t, q.SendResumes(t.Context(), resumes...))
	require.Equal(t, 10, s.requests)
	require.Len(t, s.queues["resumes"], 95)
	require.Equal(t, aws.Usage{Requests: 10, Messages: 95}, meter.Total("", "SendMessageBatch"))
	require.Equal(t, 1, meter.Total("17", "").Messages)

	s.requests = 0
	var tasks []port.Task
	for i := range 20 {
		tasks = append(tasks, newTask(fmt.Sprint(i), history.Payload(`"`+strings.Repeat("x", 32_000)+`"`)))
	}
	require.NoError(t, q.SendTasks(t.Context(), tasks...))
	require.Equal(t, 3, s.requests, "8 of these fit into one request")
	require.Len(t, s.queues["tasks"], 20)
}

func TestBatchesAreSentTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.before = func(context.Context) error { <-time.After(10 * time.Millisecond); return nil }
		var resumes []port.Resume
		for i := range 1000 {
			resumes = append(resumes, port.Resume{Run: fmt.Sprint(i)})
		}
		begin := time.Now()
		require.NoError(t, newQueue(s).SendResumes(t.Context(), resumes...))
		require.Len(t, s.queues["resumes"], 1000)
		require.Equal(t, 8, s.most, "at once")
		require.Less(t, time.Since(begin), 200*time.Millisecond)
	})
}

func TestMessagesNotTakenAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		q := newQueue(s)
		var mu sync.Mutex
		tries := map[string]int{}
		s.refuses = func(body string) *types.BatchResultErrorEntry {
			mu.Lock()
			defer mu.Unlock()
			switch tries[body]++; {
			case strings.Contains(body, `"b"`) && tries[body] < 4:
				return failure("ServiceUnavailable", false)
			case strings.Contains(body, `"c"`) && tries[body] < 7:
				return failure("KMS.ThrottlingException", true)
			}
			return nil
		}
		s.silent = func(body string) bool { return strings.Contains(body, `"d"`) && tries[body] < 2 }
		resumes := []port.Resume{{Run: "a"}, {Run: "b"}, {Run: "c"}, {Run: "d"}}
		require.NoError(t, q.SendResumes(t.Context(), resumes...))
		require.ElementsMatch(t, []string{"a", "b", "c", "d", "d"}, resumed(t, q, s), "only what was not known to be taken is sent again")
		require.Equal(t, 7, s.requests)
	})
}

func TestMessagesNeverTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		q := newQueue(s)
		s.refuses = func(string) *types.BatchResultErrorEntry { return failure("InternalError", false) }
		err := q.SendResumes(t.Context(), port.Resume{Run: "a"}, port.Resume{Run: "b"})
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.EqualError(t, err, `unavailable: queue resumes did not take 2 of the messages: a message of run "a" was not taken: no (InternalError)`)
		require.Equal(t, 10, s.requests)

		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		begin := time.Now()
		err = q.SendResumes(ctx, port.Resume{Run: "a"})
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "InternalError")
		require.Equal(t, 100*time.Millisecond, time.Since(begin))

		s.requests = 0
		s.refuses = func(string) *types.BatchResultErrorEntry { return failure("InvalidMessageContents", true) }
		err = q.SendResumes(t.Context(), port.Resume{Run: "a"})
		require.NotErrorIs(t, err, port.ErrUnavailable, "no other attempt would do better")
		require.EqualError(t, err, `queue resumes: a message of run "a" was not taken: no (InvalidMessageContents)`)
		require.Equal(t, 1, s.requests)
	})
}

func TestRequestsThatFail(t *testing.T) {
	s := newService()
	q := newQueue(s)
	s.before = func(context.Context) error { return errors.New("out of reach") }
	var resumes []port.Resume
	for i := range 1000 {
		resumes = append(resumes, port.Resume{Run: fmt.Sprint(i)})
	}
	require.ErrorIs(t, q.SendResumes(t.Context(), resumes...), port.ErrUnavailable)
	require.LessOrEqual(t, s.requests, 16, "after an error no more is begun")
	_, _, _, err := q.Backlog(t.Context())
	require.ErrorIs(t, err, port.ErrUnavailable)
	_, err = q.Dead(t.Context())
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.ErrorIs(t, q.Retry(t.Context(), "tasks", "receipt", 1), port.ErrUnavailable)
}

func TestPlacesThatFail(t *testing.T) {
	s := newService()
	places := offloadtest.New()
	q := sqs.New(sqs.Config{Client: s, Resumes: "resumes", Tasks: "tasks", Codec: offload.Codec{Places: places}})
	long := newTask("r", history.Payload(`"`+strings.Repeat("x", 40_000)+`"`))
	require.NoError(t, q.SendTasks(t.Context(), long))
	places.Fails = func() error { return port.ErrUnavailable }
	require.ErrorIs(t, q.SendTasks(t.Context(), long), port.ErrUnavailable)
	_, err := q.DecodeTask(t.Context(), s.queues["tasks"][0].body)
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.NotErrorIs(t, err, history.ErrUnreadable, "it comes again, and is read")
}

func TestRetry(t *testing.T) {
	s := newService()
	q := newQueue(s)
	for received, most := range map[int]int32{0: 2, 1: 2, 2: 3, 3: 6, 6: 48, 7: 60, 1000: 60} {
		s.hidden = nil
		seen := map[int32]bool{}
		for range 200 {
			require.NoError(t, q.Retry(t.Context(), "tasks", "receipt", received))
		}
		for _, in := range s.hidden {
			require.Equal(t, "tasks", *in.QueueUrl)
			require.Equal(t, "receipt", *in.ReceiptHandle)
			require.Positive(t, in.VisibilityTimeout)
			require.LessOrEqual(t, in.VisibilityTimeout, most, "received %d times", received)
			require.GreaterOrEqual(t, in.VisibilityTimeout, most/3)
			seen[in.VisibilityTimeout] = true
		}
		require.Greater(t, len(seen), 1, "those that failed together do not come again together")
	}
}

// TestHold: a message comes again after the time that is asked for, in whole seconds, as far as SQS goes.
func TestHold(t *testing.T) {
	s := newService()
	q := newQueue(s)
	for d, seconds := range map[time.Duration]int32{75 * time.Second: 75, 1500 * time.Millisecond: 2, 24 * time.Hour: 43140} {
		s.hidden = nil
		require.NoError(t, q.Hold(t.Context(), "tasks", "receipt", d))
		require.Len(t, s.hidden, 1)
		require.Equal(t, []string{"tasks", "receipt"}, []string{*s.hidden[0].QueueUrl, *s.hidden[0].ReceiptHandle})
		require.Equal(t, seconds, s.hidden[0].VisibilityTimeout)
	}
	s.before = func(context.Context) error { return errors.New("out of reach") }
	require.ErrorIs(t, q.Hold(t.Context(), "tasks", "receipt", time.Minute), port.ErrUnavailable)
}

func TestBacklog(t *testing.T) {
	s := newService()
	q := newQueue(s)
	s.attributes = map[string]map[string]string{
		"resumes": {"ApproximateNumberOfMessages": "3", "ApproximateNumberOfMessagesDelayed": "20", "ApproximateNumberOfMessagesNotVisible": "7"},
		"tasks":   {"ApproximateNumberOfMessages": "4", "ApproximateNumberOfMessagesDelayed": "30", "ApproximateNumberOfMessagesNotVisible": "8"},
		"dead":    {"ApproximateNumberOfMessages": "2", "ApproximateNumberOfMessagesDelayed": "0", "ApproximateNumberOfMessagesNotVisible": "1"},
	}
	ready, delayed, inFlight, err := q.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{7, 50, 15}, []int{ready, delayed, inFlight})
	dead, err := q.Dead(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, dead)
	dead, err = sqs.New(sqs.Config{Client: s}).Dead(t.Context())
	require.NoError(t, err)
	require.Zero(t, dead)
}
