package order_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
	"github.com/reprise-run/reprise/workflows/order"
)

// node is a whole system over a store on disk.
func node(t *testing.T) *local.Node {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	require.NoError(t, err)
	n, err := local.Start(t.Context(), local.Config{Store: store, Definitions: order.Definitions()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

func encode(t *testing.T, value any) history.Payload {
	t.Helper()
	payload, err := history.Encode(value)
	require.NoError(t, err)
	return payload
}

func TestOrdersOnALocalNode(t *testing.T) {
	_, input := shop(t)
	input.Faults = order.Faults{Fail: 1, Slow: order.Duration(5 * time.Millisecond)}
	n := node(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, run := range []string{"shipped", "cancelled", "declined"} {
		asked := input
		asked.Faults.DeclineCard = run == "declined"
		_, _, err := n.Start(ctx, engine.StartRequest{Run: run, Workflow: order.Workflow.Name(), Input: encode(t, asked)})
		require.NoError(t, err)
	}
	_, err := n.Signal(ctx, engine.MessageRequest{Run: "shipped"}, order.Approval.Name(), encode(t, order.Decision{Approved: true, By: "Grace"}))
	require.NoError(t, err)
	_, err = n.Cancel(ctx, engine.MessageRequest{Run: "cancelled"}, "changed my mind")
	require.NoError(t, err)

	for run, status := range map[string]history.Status{"shipped": history.Completed, "cancelled": history.Cancelled, "declined": history.Failed} {
		summary, err := n.Wait(ctx, run)
		require.NoError(t, err)
		require.Equal(t, status, summary.Status, "%s: %v", run, summary.Failure)
	}
	require.Equal(t, everything, effective(t, input.Ledger))
	summary, err := n.Get(ctx, "shipped")
	require.NoError(t, err)
	receipt, err := history.Decode[order.Receipt](summary.Result)
	require.NoError(t, err)
	require.Equal(t, "Grace", receipt.ApprovedBy)
}
