package boot

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"
)

// TestEventsOfOtherSourcesAreErrors: each source deletes the events that a function has taken without an error.
func TestEventsOfOtherSourcesAreErrors(t *testing.T) {
	handled := 0
	messages := onlyMessages(func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
		handled++
		return events.SQSEventResponse{}, nil
	}).(onMessages)
	calls := onlyCalls(func(context.Context) error {
		handled++
		return nil
	}).(func(context.Context, json.RawMessage) error)
	for event, why := range map[string]string{
		`{"Records":[{"eventSource":"aws:sqs","body":"{}"}]}`:                   "",
		`{"Records":[{"eventSource":"aws:sqs"},{"eventSource":"aws:kinesis"}]}`: `a record of "aws:kinesis"`,
		`{"Records":[{"EventSource":"aws:sns","Sns":{"Message":"hello"}}]}`:     `a record of "aws:sns"`,
		`{"httpMethod":"GET","path":"/"}`:                                       "brings no messages of a queue",
		`{}`:                                                                    "brings no messages of a queue",
	} {
		var decoded events.SQSEvent
		require.NoError(t, json.Unmarshal([]byte(event), &decoded))
		_, err := messages(t.Context(), decoded)
		if why == "" {
			require.NoError(t, err, event)
			require.Equal(t, 1, handled)
			require.ErrorContains(t, calls(t.Context(), json.RawMessage(event)), "records of a queue or stream")
			continue
		}
		require.ErrorContains(t, err, why, event)
	}
	for _, event := range []string{`{"source":"aws.events","detail-type":"Scheduled Event"}`, `{}`, `null`, `"by hand"`} {
		require.NoError(t, calls(t.Context(), json.RawMessage(event)), event)
	}
	require.Equal(t, 5, handled)
	fails := onlyCalls(func(context.Context) error {
		return errors.New("a chore failed")
	}).(func(context.Context, json.RawMessage) error)
	require.ErrorContains(t, fails(t.Context(), nil), "a chore failed",
		"so that Lambda counts an error")
}
