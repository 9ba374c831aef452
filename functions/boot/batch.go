package boot

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reprise-run/reprise/core/port"
)

// A batch of messages is handled one by one, all at the same time, and only those are to come again that failed: one bad
// message never fails its batch.

// batch collects what is to come again. It is safe for concurrent use.
type batch struct {
	logger *slog.Logger
	// retry has a message come again soon. Nil: when the queue's visibility timeout is over.
	retry  func(ctx context.Context, receiptHandle string, received int) error
	mu     sync.Mutex
	failed []events.SQSBatchItemFailure
}

const (
	// patient is how often a message may come again because a store or a queue did not answer, before it is sent anew: by its
	// own count of receives it would soon be dead, though nothing is wrong with it.
	patient = 3
	// outage is how long it is put off then.
	outage = 30 * time.Second
)

// ends says how the handling of a message ended. One that failed comes again: soon at first, then later and later. Left alone, it would
// be seen only when the visibility timeout is over, which is made for functions that died.
func (b *batch) ends(ctx context.Context, message events.SQSMessage, err error, anew func(context.Context, time.Duration) error) {
	if err == nil {
		return
	}
	received, _ := strconv.Atoi(message.Attributes["ApproximateReceiveCount"]) // SQS's own: a number
	b.logger.WarnContext(ctx, "a message comes again", "message", message.MessageId, "received", received, "error", err)
	if errors.Is(err, port.ErrUnavailable) && received >= patient && anew != nil {
		if err = anew(ctx, outage); err == nil {
			return
		}
		b.logger.WarnContext(ctx, "a message was not sent anew", "message", message.MessageId, "error", err)
	}
	if b.retry != nil {
		if err := b.retry(ctx, message.ReceiptHandle, received); err != nil {
			b.logger.WarnContext(ctx, "a message comes again only when its visibility timeout is over", "message", message.MessageId, "error", err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = append(b.failed, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
}

func (b *batch) response() events.SQSEventResponse {
	return events.SQSEventResponse{BatchItemFailures: b.failed}
}

// together does the same with all messages, and waits.
func together(messages []events.SQSMessage, do func(events.SQSMessage)) {
	var busy sync.WaitGroup
	for _, message := range messages {
		busy.Go(func() { do(message) })
	}
	busy.Wait()
}
