//go:build localstack

package localstack

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
)

// TestChangedCode: a run under way meets code that does not agree with its log. It is blocked with the reason, loses nothing,
// and goes on by itself once the code is right again.
func TestChangedCode(t *testing.T) {
	run := start(t, "change", struct{}{})
	eventually(t, "the first note is taken", func(ctx context.Context) bool {
		page, err := trial.client.History(ctx, run, 0, 0)
		require.NoError(t, err)
		return len(page.Records) == 2
	})
	trial.rewrite(t, "trials/trials.go", `const word = "first"`, `const word = "changed"`)
	require.NoError(t, trial.deploy(t.Context()))
	_, err := trial.client.Signal(within(t, patience), engine.MessageRequest{Run: run}, "close", payload(t, "bye"))
	require.NoError(t, err)
	eventually(t, "the run is blocked", func(ctx context.Context) bool {
		summary, err := trial.client.Get(ctx, run)
		require.NoError(t, err)
		if summary.Blocked == nil {
			return false
		}
		require.Equal(t, port.ReasonNondeterminism, summary.Blocked.Reason)
		require.Contains(t, summary.Blocked.Message, "changed", "what the code does now")
		require.Contains(t, summary.Blocked.Message, "first", "what the log has")
		return true
	})
	require.Contains(t, reprise(t, 1, "doctor"), run)

	trial.rewrite(t, "trials/trials.go", `const word = "changed"`, `const word = "first"`)
	require.NoError(t, trial.deploy(t.Context()))
	eventually(t, "the schedule has it tried again", func(ctx context.Context) bool {
		summary, err := trial.client.Get(ctx, run)
		require.NoError(t, err)
		return summary.Status.Closed()
	})
	gives(t, run, "noted first bye")
}

// TestLogOfLocalStack: where it does not know a resource it says so, and puts nothing in its place. One is known.
func TestLogOfLocalStack(t *testing.T) {
	text, err := os.ReadFile(logFile())
	if os.IsNotExist(err) {
		t.Skip("LocalStack runs in Docker, and keeps its own log")
	}
	require.NoError(t, err)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "Unsupported resource type") || strings.Contains(line, "not supported") && strings.Contains(line, "AWS::") {
			require.Contains(t, line, "AWS::CloudWatch::Dashboard")
		}
	}
}
