package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
)

// Each function takes the events of one kind of source, and answers any other with an error. Without an error, the source
// would hold the event for handled, and delete it.

// errNotHTTP is the answer of functions/api to events of SQS, EventBridge and others.
var errNotHTTP = errors.New("the event is not an HTTP request of API Gateway: " +
	"it names no method and path; functions/api serves API Gateway only, remove other event sources")

// checkMessages refuses events that are not messages of an SQS queue.
func checkMessages(event events.SQSEvent) error {
	const remedy = "functions/activate, task and deadletter take messages of SQS only, " +
		"remove other event sources"
	if len(event.Records) == 0 {
		return errors.New("the event brings no messages of a queue; " + remedy)
	}
	for _, message := range event.Records {
		if message.EventSource != "aws:sqs" {
			return fmt.Errorf("the event brings a record of %q, not of a queue; %s", message.EventSource, remedy)
		}
	}
	return nil
}

// onMessages takes a batch of messages, and names those that failed.
type onMessages = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// onlyMessages is a handler that refuses events of other sources.
func onlyMessages(handle onMessages) any {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		if err := checkMessages(event); err != nil {
			return events.SQSEventResponse{}, err
		}
		return handle(ctx, event)
	}
}

// onlyCalls is a handler of calls that bring nothing: those of a schedule, or by hand. It refuses records of a queue or
// stream, which would be lost.
func onlyCalls(handle func(context.Context) error) any {
	return func(ctx context.Context, payload json.RawMessage) error {
		var event struct{ Records []json.RawMessage }
		if json.Unmarshal(payload, &event) == nil && len(event.Records) > 0 {
			return errors.New("the event brings records of a queue or stream; " +
				"functions/timer takes calls of its schedule only, remove other event sources")
		}
		return handle(ctx)
	}
}
