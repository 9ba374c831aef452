// Package sqs sends resumes and tasks through two SQS standard queues: engine.Queue. It also reads the messages that
// functions receive, says how many wait, and has one that failed come again.
package sqs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/offload"
)

// Client is what is called of the service.
type Client interface {
	SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, options ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
	ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput, options ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
	GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput, options ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Config of [New].
type Config struct {
	Client Client
	// Resumes and Tasks are the URLs of the queues.
	Resumes, Tasks string
	// Dead is the URL of the queue of what nobody could read. It may be empty: see [Queue.Dead].
	Dead  string
	Codec offload.Codec
	// Meter may be nil.
	Meter *aws.Meter
}

// Queue implements engine.Queue. It is safe for concurrent use.
type Queue struct {
	client               Client
	resumes, tasks, dead string
	codec                offload.Codec
	meter                *aws.Meter
}

// New sends to queues that are there.
func New(config Config) *Queue {
	return &Queue{client: config.Client, resumes: config.Resumes, tasks: config.Tasks, dead: config.Dead, codec: config.Codec, meter: config.Meter}
}

// longestDelay is the most that SQS delays a message by: 15 minutes.
const longestDelay = 900 * time.Second

// SendResumes implements engine.Queue. A plain resume is sent once, however often its run is named: another one with the same
// delay would say the same.
func (q *Queue) SendResumes(ctx context.Context, messages ...port.Resume) error {
	sent := make([]message, 0, len(messages))
	type look struct {
		run   string
		delay int32
	}
	seen := map[look]bool{}
	for _, m := range messages {
		delay := seconds(m.Delay)
		switch plain := m.Carries == nil && m.Unblocks == ""; {
		case plain && seen[look{m.Run, delay}]:
			continue
		case plain:
			seen[look{m.Run, delay}] = true
		case m.Delay > longestDelay: // a plain one may be early: whoever looks too early sends another one
			return fmt.Errorf("a resume of run %q is to wait %s, a queue delays by %s at most", m.Run, m.Delay, longestDelay)
		}
		body, err := q.encodeResume(ctx, m)
		if err != nil {
			return err
		}
		sent = append(sent, message{m.Run, body, delay})
	}
	return q.send(ctx, q.resumes, sent)
}

// SendTasks implements engine.Queue. One that is to wait longer than a queue delays comes early: it says when it is due.
func (q *Queue) SendTasks(ctx context.Context, messages ...port.Task) error {
	sent := make([]message, len(messages))
	for i, m := range messages {
		body, err := q.encodeTask(ctx, m)
		if err != nil {
			return err
		}
		sent[i] = message{m.Run, body, seconds(m.Delay)}
	}
	return q.send(ctx, q.tasks, sent)
}

// seconds rounds up, since a timer is never early: SQS counts in whole seconds.
func seconds(delay time.Duration) int32 {
	delay = min(max(delay, 0), longestDelay)
	return int32((delay + time.Second - 1) / time.Second)
}

const (
	firstRetry   = time.Second
	longestRetry = time.Minute
)

// Retry has a message that failed come again: 1 second after it was received for the first time, then twice as long each
// time, 60 seconds at most, give or take a half. Without it, it would come again after the queue's visibility timeout, which is
// made for functions that die. The queue is given by its URL; received is how often the message was received, this time
// included. The function's answer must say all the same that it failed.
func (q *Queue) Retry(ctx context.Context, queue, receiptHandle string, received int) error {
	whole := min(firstRetry<<min(max(received, 1)-1, 10), longestRetry)
	timeout := seconds(min(whole/2+rand.N(whole), longestRetry))
	return q.hide(ctx, queue, receiptHandle, timeout, "did not put off a message that failed")
}

// Hold has a message that was received come again after d, if its function dies: an attempt that
// takes a minute need not wait for a queue's visibility timeout, which is made for the longest. The
// queue is given by its URL. SQS counts in whole seconds, twelve hours at most.
func (q *Queue) Hold(ctx context.Context, queue, receiptHandle string, d time.Duration) error {
	return q.hide(ctx, queue, receiptHandle, int32(min(d+time.Second-1, longestHold)/time.Second), "was not told when a message is to come again")
}

// longestHold is the most that SQS hides a message for.
const longestHold = 12*time.Hour - time.Minute // from when it was received

func (q *Queue) hide(ctx context.Context, queue, receiptHandle string, timeout int32, refused string) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &queue,
		ReceiptHandle: &receiptHandle, VisibilityTimeout: timeout})
	if err != nil {
		return unavailable(queue, refused, err)
	}
	q.meter.Count("", "ChangeMessageVisibility", 0, 0)
	return nil
}

// Backlog is how many messages of both queues could be received now, how many wait for their time,
// and how many are in flight: a function handles them, or died with them. SQS counts approximately.
func (q *Queue) Backlog(ctx context.Context) (ready, delayed, inFlight int, err error) {
	for _, queue := range []string{q.resumes, q.tasks} {
		counts, err := q.count(ctx, queue, types.QueueAttributeNameApproximateNumberOfMessages,
			types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
			types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)
		if err != nil {
			return 0, 0, 0, err
		}
		ready, delayed, inFlight = ready+counts[0], delayed+counts[1], inFlight+counts[2]
	}
	return ready, delayed, inFlight, nil
}

// Dead is how many messages lie in the queue of what nobody could read. SQS counts approximately. Without such a queue, none.
func (q *Queue) Dead(ctx context.Context) (int, error) {
	if q.dead == "" {
		return 0, nil
	}
	counts, err := q.count(ctx, q.dead, types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible)
	if err != nil {
		return 0, err
	}
	return counts[0] + counts[1], nil
}

func (q *Queue) count(ctx context.Context, queue string, names ...types.QueueAttributeName) ([]int, error) {
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: names})
	if err != nil {
		return nil, unavailable(queue, "did not count its messages", err)
	}
	q.meter.Count("", "GetQueueAttributes", 0, 0)
	counts := make([]int, len(names))
	for i, name := range names {
		if counts[i], err = strconv.Atoi(out.Attributes[string(name)]); err != nil {
			return nil, unavailable(queue, "did not count its messages", fmt.Errorf("its %s is not a number: %w", name, err))
		}
	}
	return counts, nil
}

func unavailable(queue, what string, err error) error {
	return fmt.Errorf("%w: queue %s %s: %w", port.ErrUnavailable, queue, what, err)
}

// Bury keeps a body that nobody could read in the queue of the dead.
func (q *Queue) Bury(ctx context.Context, body string) error {
	if q.dead == "" {
		return errors.New("a message that nobody can read has nowhere to go: no queue of the dead is configured")
	}
	return q.send(ctx, q.dead, []message{{body: body}})
}
