package cloud

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// handler is a function that takes messages.
type handler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// source says how a queue's messages reach a function: what template.yaml says of its event source.
type source struct {
	handler    handler
	batch      int           // messages at most in one event
	atOnce     int           // invocations at one time
	timeout    time.Duration // of the function
	visibility time.Duration // until a message comes again whose function has not answered
	receives   int           // until a message goes to the dead letter queue
	dead       string        // URL of that
}

// queues behave like SQS's, with Lambda's pollers behind them.
type queues struct {
	mu     sync.Mutex
	queues map[string]*queue
	busy   sync.WaitGroup
	ctx    context.Context //nolint:containedctx // ends all handlers
	number int
}

type queue struct {
	source   source
	messages map[string]*message // by receipt handle
	running  int
	most     int // that were running at one time
	usage    QueueUsage
}

// QueueUsage counts what a queue and its function were asked. Each but the messages is a request with a price, a batch is one.
type QueueUsage struct{ Messages, Sends, Receives, Deletes, Changes int }

type message struct {
	id, body string
	visible  time.Time
	received int
}

func newQueues(ctx context.Context) *queues { return &queues{queues: map[string]*queue{}, ctx: ctx} }

func (q *queues) add(url string, source source) {
	q.queues[url] = &queue{source: source, messages: map[string]*message{}}
}

// sendMessageBatch keeps messages, each until its delay is over.
func (q *queues) sendMessageBatch(in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	const most = 10
	if len(in.Entries) == 0 || len(in.Entries) > most {
		return nil, fmt.Errorf("a batch of %d messages", len(in.Entries))
	}
	to, out := q.queues[*in.QueueUrl], &sqs.SendMessageBatchOutput{}
	to.usage.Sends++
	for _, entry := range in.Entries {
		id := q.put(to, *entry.MessageBody, time.Duration(entry.DelaySeconds)*time.Second)
		to.usage.Messages++
		out.Successful = append(out.Successful, types.SendMessageBatchResultEntry{Id: entry.Id, MessageId: &id, MD5OfMessageBody: digest(*entry.MessageBody)})
	}
	return out, nil
}

// latency is what passes between sending and receiving, as half of all messages on AWS have it.
const latency = 16 * time.Millisecond

// put adds a message, and gives its id. The lock is held.
func (q *queues) put(to *queue, body string, delay time.Duration) (id string) {
	delay += latency
	q.number++
	id = strconv.Itoa(q.number)
	to.messages[id] = &message{id: id, body: body, visible: time.Now().Add(delay)}
	q.look(to, delay)
	return id
}

// look has the queue polled after a while.
func (q *queues) look(at *queue, after time.Duration) {
	time.AfterFunc(after, func() { q.poll(at) })
}

// poll begins invocations for what is visible. As with Lambda's pollers, a batch is what is there, and nobody waits for more.
func (q *queues) poll(of *queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for of.source.handler != nil && of.running < of.source.atOnce && q.ctx.Err() == nil {
		batch := q.receive(of)
		if len(batch) == 0 {
			return
		}
		of.running++
		of.most = max(of.most, of.running)
		q.busy.Go(func() { q.invoke(of, batch) })
	}
}

// receive takes a batch. The lock is held.
func (q *queues) receive(of *queue) (batch []events.SQSMessage) {
	now := time.Now()
	for handle, m := range of.messages {
		if m.visible.After(now) {
			continue
		}
		if m.received++; m.received > of.source.receives && of.source.dead != "" {
			delete(of.messages, handle)
			q.put(q.queues[of.source.dead], m.body, 0)
			continue
		}
		m.visible = now.Add(of.source.visibility)
		q.look(of, of.source.visibility)
		batch = append(batch, events.SQSMessage{MessageId: m.id, ReceiptHandle: handle, Body: m.body,
			Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.received)}})
		if len(batch) == of.source.batch {
			break
		}
	}
	return batch
}

// invoke calls the function, and deletes what it has not named as failed.
func (q *queues) invoke(of *queue, batch []events.SQSMessage) {
	ctx, cancel := context.WithTimeout(q.ctx, of.source.timeout)
	defer cancel()
	response, err := of.source.handler(ctx, events.SQSEvent{Records: batch})
	failed := map[string]bool{}
	for _, item := range response.BatchItemFailures {
		failed[item.ItemIdentifier] = true
	}
	q.mu.Lock()
	of.usage.Receives++
	of.usage.Deletes++
	for _, m := range batch {
		if err == nil && !failed[m.MessageId] {
			delete(of.messages, m.ReceiptHandle)
		}
	}
	of.running--
	q.mu.Unlock()
	q.poll(of)
}

// changeMessageVisibility has a message come again at another time.
func (q *queues) changeMessageVisibility(in *sqs.ChangeMessageVisibilityInput) (*sqs.ChangeMessageVisibilityOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.queues[*in.QueueUrl]
	of.usage.Changes++
	if m := of.messages[*in.ReceiptHandle]; m != nil {
		after := time.Duration(in.VisibilityTimeout) * time.Second
		m.visible = time.Now().Add(after)
		q.look(of, after)
	}
	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

// getQueueAttributes counts.
func (q *queues) getQueueAttributes(in *sqs.GetQueueAttributesInput) (*sqs.GetQueueAttributesOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ready, delayed := 0, 0
	for _, m := range q.queues[*in.QueueUrl].messages {
		if m.visible.After(time.Now()) {
			delayed++
		} else {
			ready++
		}
	}
	return &sqs.GetQueueAttributesOutput{Attributes: map[string]string{
		string(types.QueueAttributeNameApproximateNumberOfMessages):           strconv.Itoa(ready),
		string(types.QueueAttributeNameApproximateNumberOfMessagesDelayed):    strconv.Itoa(delayed),
		string(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible): "0",
	}}, nil
}

// quiet says whether nothing is visible, and nothing being handled.
func (q *queues) quiet() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, of := range q.queues {
		for _, m := range of.messages {
			if !m.visible.After(time.Now()) {
				return false
			}
		}
		if of.running > 0 {
			return false
		}
	}
	return true
}
