package sqs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/reprise-run/reprise/infra/aws"
)

// Limits of SQS for one batch. By now it takes more bytes in some places; what it takes everywhere is counted on.
const (
	mostEntries = 10
	mostBytes   = 256 << 10
)

const (
	batchesAtOnce = 8
	mostAttempts  = 10
)

// message is ready to be sent.
type message struct {
	run   string
	body  string
	delay int32 // seconds
}

// send sends messages in batches, several at a time. After an error no further batch is begun.
func (q *Queue) send(ctx context.Context, queue string, messages []message) error {
	var (
		places = make(chan struct{}, batchesAtOnce)
		busy   sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	for _, batch := range cut(messages) {
		places <- struct{}{}
		mu.Lock()
		over := failed != nil
		mu.Unlock()
		if over {
			break
		}
		busy.Go(func() {
			defer func() { <-places }()
			if err := q.sendBatch(ctx, queue, batch); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	busy.Wait()
	return failed
}

// cut makes batches that SQS takes.
func cut(messages []message) (batches [][]message) {
	start, size := 0, 0
	for i, m := range messages {
		if size += len(m.body); i > start && (i-start == mostEntries || size > mostBytes) {
			batches = append(batches, messages[start:i])
			start, size = i, len(m.body)
		}
	}
	if start < len(messages) {
		batches = append(batches, messages[start:])
	}
	return batches
}

// sendBatch sends one batch, then what SQS did not take of it: until it has taken all, 10 times at most, or the context ends.
func (q *Queue) sendBatch(ctx context.Context, queue string, batch []message) error {
	for attempt := 1; ; attempt++ {
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &queue, Entries: entries(batch)})
		if err != nil {
			return unavailable(queue, fmt.Sprintf("did not take %d of the messages", len(batch)), err) // the client has tried again already
		}
		left, reason, err := q.left(batch, out)
		if err != nil {
			return fmt.Errorf("queue %s: %w", queue, err)
		}
		if len(left) == 0 {
			return nil
		}
		if attempt == mostAttempts {
			return unavailable(queue, fmt.Sprintf("did not take %d of the messages", len(left)), reason)
		}
		if err := aws.Pause(ctx, attempt); err != nil {
			return unavailable(queue, fmt.Sprintf("did not take %d of the messages in time", len(left)), fmt.Errorf("%w; %w", reason, err))
		}
		batch = left
	}
}

func entries(batch []message) []types.SendMessageBatchRequestEntry {
	entries := make([]types.SendMessageBatchRequestEntry, len(batch))
	for i := range batch {
		id := strconv.Itoa(i)
		entries[i] = types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &batch[i].body, DelaySeconds: batch[i].delay}
	}
	return entries
}

// left gives what SQS did not take of a batch, and the reason that it gave for the first of these. What it will never take is
// an error.
func (q *Queue) left(batch []message, out *sqs.SendMessageBatchOutput) (left []message, reason, err error) {
	taken := map[string]bool{}
	for _, entry := range out.Successful {
		taken[sdk.ToString(entry.Id)] = true
	}
	failures := map[string]types.BatchResultErrorEntry{}
	for _, entry := range out.Failed {
		failures[sdk.ToString(entry.Id)] = entry
	}
	var sent []string
	for i, m := range batch {
		id := strconv.Itoa(i)
		if taken[id] {
			sent = append(sent, m.run)
			continue
		}
		failure, answered := failures[id]
		why := fmt.Errorf("a message of run %q was not taken: %s (%s)", m.run, sdk.ToString(failure.Message), sdk.ToString(failure.Code))
		if !answered {
			why = fmt.Errorf("a message of run %q was not answered for", m.run)
		}
		if failure.SenderFault && !throttled(sdk.ToString(failure.Code)) && err == nil {
			err = why
		}
		if left = append(left, m); reason == nil {
			reason = why
		}
	}
	q.meter.Messages("SendMessageBatch", sent...)
	return left, reason, err
}

// throttled says whether a code means that there were too many requests, which SQS calls the sender's fault, too.
func throttled(code string) bool { return strings.Contains(code, "Throttl") }
