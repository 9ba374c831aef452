package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
	"github.com/reprise-run/reprise/workflows/audit"
)

func TestAnAuditOnALocalNode(t *testing.T) {
	m := newTea(t)
	m.write(t, folder+"tea.go", "package tea\n\nconst Minutes = 5\n")
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	require.NoError(t, err)
	n, err := local.Start(t.Context(), local.Config{Store: store, Definitions: audit.Definitions()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	input, err := history.Encode(m.input())
	require.NoError(t, err)

	_, _, err = n.Start(ctx, engine.StartRequest{Run: "a", Workflow: audit.Workflow.Name(), Input: input})
	require.NoError(t, err)
	summary, err := n.Wait(ctx, "a")

	require.NoError(t, err)
	report, err := history.Decode[audit.Report](summary.Result)
	require.NoError(t, err)
	require.Equal(t, audit.Modified, report.Verdict, "%+v", summary)
	require.Equal(t, 1, report.Failed)
}
