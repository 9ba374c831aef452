package aws_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/aws"
)

// listener answers each request as SQS does, and keeps the headers.
type listener struct{ heard []http.Header }

func (l *listener) Do(r *http.Request) (*http.Response, error) {
	l.heard = append(l.heard, r.Header)
	return (&service{}).Do(r)
}

// TestMessagesCarryNoLineage: in Lambda's environment, a message carries what X-Ray needs, and no
// count of invocations. Lambda would otherwise stop a run's chain of messages after about 16
// invocations.
func TestMessagesCarryNoLineage(t *testing.T) {
	environment(t, "http://127.0.0.1")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "reprise-activate")
	for trace, want := range map[string]string{
		"Root=1-5e1b4151-43a0913a12345678;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a87bd80c:15|68fd508a:5": "Root=1-5e1b4151-43a0913a12345678;Parent=53995c3f42cd8ad8;Sampled=1",
		"Lineage=a87bd80c:1;Root=1-5e1b4151-43a0913a12345678; lineage=x":                                    "Root=1-5e1b4151-43a0913a12345678",
		"Root=1-5e1b4151-43a0913a12345678":                                                                  "Root=1-5e1b4151-43a0913a12345678",
		"Lineage=a87bd80c:1":                                                                                "",
	} {
		t.Setenv("_X_AMZN_TRACE_ID", trace)
		l := &listener{}
		loaded, err := aws.Load(t.Context(), config.WithHTTPClient(l))
		require.NoError(t, err)
		queue, id, body := "http://127.0.0.1/queue", "0", "{}"
		_, err = sqs.NewFromConfig(loaded).SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &queue,
			Entries: []types.SendMessageBatchRequestEntry{{Id: &id, MessageBody: &body}}})
		require.NoError(t, err)
		require.Len(t, l.heard, 1)
		require.Equal(t, want, l.heard[0].Get("X-Amzn-Trace-Id"), trace)
	}
}
