package order_test

import (
	"context"
	"os"
	"path/filepath"
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
	return nodeIn(t, t.TempDir())
}

// nodeIn is a node whose data folder this is.
func nodeIn(t *testing.T, data string) *local.Node {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	require.NoError(t, err)
	n, err := local.Start(t.Context(), local.Config{Store: store, Definitions: order.Definitions(), DataFolder: data})
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
	require.Equal(t, everything, effective(t, books(t)))
	summary, err := n.Get(ctx, "shipped")
	require.NoError(t, err)
	receipt, err := history.Decode[order.Receipt](summary.Result)
	require.NoError(t, err)
	require.Equal(t, "Grace", receipt.ApprovedBy)
}

// TestAnOrderWritesOnlyWhereTheOperatorAllows tries to leave the folder of ledgers, which is in the data folder by default.
func TestAnOrderWritesOnlyWhereTheOperatorAllows(t *testing.T) {
	for name, folder := range map[string]string{"elsewhere": "../elsewhere", "an absolute path": "/", "a symbolic link": "link", "beside the keys": ".."} {
		t.Run(name, func(t *testing.T) {
			_, input := shop(t)
			t.Setenv(order.Folder, "")
			data := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(data, "token.key"), []byte("secret"), 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(data, "orders"), 0o700))
			require.NoError(t, os.Symlink(data, filepath.Join(data, "orders", "link")))
			n := nodeIn(t, data)
			input.Ledger = folder
			_, _, err := n.Start(t.Context(), engine.StartRequest{Run: "a", Workflow: order.Workflow.Name(), Input: encode(t, input)})
			require.NoError(t, err)
			summary, err := n.Wait(t.Context(), "a")

			require.NoError(t, err)
			require.Equal(t, history.Failed, summary.Status)
			require.Contains(t, summary.Failure.Error(), "within the one that the operator allows")
			entries, err := os.ReadDir(data)
			require.NoError(t, err)
			for _, entry := range entries {
				require.NotContains(t, entry.Name(), "reservation")
			}
		})
	}
}

// TestALedgerIsInTheDataFolder starts an order that names no folder.
func TestALedgerIsInTheDataFolder(t *testing.T) {
	_, input := shop(t)
	t.Setenv(order.Folder, "")
	input.Ledger, input.Faults.DeclineCard = "", true
	data := t.TempDir()
	n := nodeIn(t, data)
	_, _, err := n.Start(t.Context(), engine.StartRequest{Run: "a", Workflow: order.Workflow.Name(), Input: encode(t, input)})
	require.NoError(t, err)
	_, err = n.Wait(t.Context(), "a")
	require.NoError(t, err)

	ledger, err := order.OpenLedger(filepath.Join(data, "orders"), "")
	require.NoError(t, err)
	defer ledger.Close()
	require.Equal(t, 1, done(t, ledger, order.Reservations))
}
