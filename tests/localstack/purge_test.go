//go:build localstack

package localstack

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/tests/ledger"
)

// TestQueuesLostUnderLoad: both queues are purged while 50 runs are under way, with messages that wait, that are delayed and that
// are being handled. After a rebuild all end, and nothing is double in any log.
func TestQueuesLostUnderLoad(t *testing.T) {
	const runs = 50
	kinds := []struct{ workflow, input, result string }{{"chain", "3", "6"}, {"family", "2", "2"}, {"count", "3", `"generation 4"`}}
	id := func(i int) string { return fmt.Sprint("purged-", i) }
	var callers errgroup.Group
	callers.SetLimit(4)
	for i := range runs {
		callers.Go(func() error {
			kind := kinds[i%len(kinds)]
			_, err := trial.client.Start(within(t, patience), engine.StartRequest{Run: id(i), Workflow: kind.workflow, Input: []byte(kind.input)})
			return err
		})
	}
	require.NoError(t, callers.Wait())
	eventually(t, "messages are being handled", func(ctx context.Context) bool { return messages(t, ctx).handled > 0 })
	lost := messages(t, t.Context())
	for _, queue := range []string{"Resumes", "Tasks"} {
		url := trial.queues[queue]
		_, err := trial.sqs.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &url})
		require.NoError(t, err)
	}
	left := messages(t, t.Context())
	out := reprise(t, 0, "rebuild")
	t.Logf("of messages, there were %+v, and after the purge %+v; %s", lost, left, out)
	for i := range runs {
		summary := ends(t, id(i))
		require.Equal(t, history.Completed, summary.Status, "%+v", summary.Failure)
		require.JSONEq(t, kinds[i%len(kinds)].result, string(summary.Result))
		_, err := ledger.Check(t.Context(), trial.store, id(i))
		require.NoError(t, err)
	}
}

// count of messages of both queues: those that could be received, those that wait for their time, and those that are being handled.
type count struct{ ready, delayed, handled int }

func messages(t *testing.T, ctx context.Context) (all count) { //nolint:revive // it is called with contexts that are not the test's
	t.Helper()
	for _, queue := range []string{"Resumes", "Tasks"} {
		url := trial.queues[queue]
		out, err := trial.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
		require.NoError(t, err)
		for name, of := range map[types.QueueAttributeName]*int{
			types.QueueAttributeNameApproximateNumberOfMessages:           &all.ready,
			types.QueueAttributeNameApproximateNumberOfMessagesDelayed:    &all.delayed,
			types.QueueAttributeNameApproximateNumberOfMessagesNotVisible: &all.handled,
		} {
			n, err := strconv.Atoi(out.Attributes[string(name)])
			require.NoError(t, err)
			*of += n
		}
	}
	return all
}
