//go:build localstack

package localstack

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/tests/ledger"
)

func answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint()+"/_localstack/health", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// within gives a context for what may take a while.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func payload(t *testing.T, value any) history.Payload {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

// start starts a run named after its test.
func start(t *testing.T, workflow string, input any) string {
	t.Helper()
	id := strings.NewReplacer("/", ".", "#", "").Replace(t.Name())
	startAs(t, id, workflow, input)
	return id
}

func startAs(t *testing.T, id, workflow string, input any) {
	t.Helper()
	_, err := trial.client.Start(within(t, patience), engine.StartRequest{Run: id, Workflow: workflow, Input: payload(t, input)})
	require.NoError(t, err)
}

// ends waits for a run's end and gives its summary.
func ends(t *testing.T, run string) *wire.Summary {
	t.Helper()
	summary, err := trial.client.Wait(within(t, patience), run)
	require.NoError(t, err)
	require.True(t, summary.Status.Closed(), "run %s is %s, blocked: %+v", run, summary.Status, summary.Blocked)
	return summary
}

// gives waits for a run's result.
func gives(t *testing.T, run string, want any) {
	t.Helper()
	summary := ends(t, run)
	require.Equal(t, history.Completed, summary.Status, "%+v", summary.Failure)
	require.JSONEq(t, string(payload(t, want)), string(summary.Result))
}

// eventually looks again and again, until it is so.
func eventually(t *testing.T, what string, isSo func(ctx context.Context) bool) {
	t.Helper()
	ctx := within(t, patience)
	for !isSo(ctx) {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			require.FailNow(t, "it did not come to this: "+what)
		}
	}
}

// checkLog reads a run's log, and sees that nothing in it is double or missing.
func checkLog(t *testing.T, run string) {
	t.Helper()
	checked := &ledger.Ledger{}
	for text, err := range trial.client.Records(within(t, patience), run, 0) {
		require.NoError(t, err)
		rec, err := history.DecodeRecord(text)
		require.NoError(t, err)
		require.NoError(t, checked.Add(rec), "run %s", run)
	}
}
