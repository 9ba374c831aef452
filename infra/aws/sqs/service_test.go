package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// service is SQS, as far as it is used here: it takes what the real one takes, unless a test says otherwise.
type service struct {
	mu       sync.Mutex
	queues   map[string][]sent
	requests int
	atOnce   int // requests under way
	most     int // of them, so far

	// before is asked before each request; its error is the request's.
	before func(ctx context.Context) error
	// refuses is asked of each message: nil takes it.
	refuses func(body string) *types.BatchResultErrorEntry
	// silent about each message: taken or not, the answer does not name it.
	silent func(body string) bool

	attributes map[string]map[string]string
	hidden     []sqs.ChangeMessageVisibilityInput
}

type sent struct {
	body  string
	delay int32
}

func newService() *service { return &service{queues: map[string][]sent{}} }

func (s *service) begin(ctx context.Context) error {
	s.mu.Lock()
	s.requests++
	s.atOnce++
	s.most = max(s.most, s.atOnce)
	before := s.before
	s.mu.Unlock()
	if before != nil {
		return before(ctx)
	}
	return ctx.Err()
}

func (s *service) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atOnce--
}

func (s *service) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	defer s.end()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if len(in.Entries) == 0 || len(in.Entries) > 10 {
		return nil, fmt.Errorf("TooManyEntriesInBatchRequest: %d", len(in.Entries))
	}
	size, ids := 0, map[string]bool{}
	for _, entry := range in.Entries {
		size += len(*entry.MessageBody)
		ids[*entry.Id] = true
	}
	if size > 256<<10 {
		return nil, fmt.Errorf("BatchRequestTooLong: %d", size)
	}
	if len(ids) != len(in.Entries) {
		return nil, errors.New("BatchEntryIdsNotDistinct")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &sqs.SendMessageBatchOutput{}
	for _, entry := range in.Entries {
		failure := s.check(*entry.MessageBody, entry.DelaySeconds)
		if failure == nil {
			s.queues[*in.QueueUrl] = append(s.queues[*in.QueueUrl], sent{*entry.MessageBody, entry.DelaySeconds})
		}
		switch {
		case s.silent != nil && s.silent(*entry.MessageBody):
		case failure == nil:
			out.Successful = append(out.Successful, types.SendMessageBatchResultEntry{Id: entry.Id})
		default:
			failure.Id = entry.Id
			out.Failed = append(out.Failed, *failure)
		}
	}
	return out, nil
}

func (s *service) check(body string, delay int32) *types.BatchResultErrorEntry {
	if !utf8.ValidString(body) || body == "" || strings.ContainsFunc(body, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	}) {
		return failure("InvalidMessageContents", true)
	}
	if delay < 0 || delay > 900 {
		return failure("InvalidParameterValue", true)
	}
	if s.refuses != nil {
		return s.refuses(body)
	}
	return nil
}

func failure(code string, sender bool) *types.BatchResultErrorEntry {
	message := "no"
	return &types.BatchResultErrorEntry{Code: &code, Message: &message, SenderFault: sender}
}

func (s *service) ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	defer s.end()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = append(s.hidden, *in)
	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func (s *service) GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	defer s.end()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	out := &sqs.GetQueueAttributesOutput{Attributes: map[string]string{}}
	for _, name := range in.AttributeNames {
		out.Attributes[string(name)] = s.attributes[*in.QueueUrl][string(name)]
	}
	return out, nil
}
