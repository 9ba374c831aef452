//go:build localstack

package localstack

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
)

// reprise runs the command line against the deployment, and gives what it prints.
func reprise(t *testing.T, code int, args ...string) string {
	t.Helper()
	// LocalStack does not look at signatures, but takes requests that are signed.
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	var out, errs bytes.Buffer
	args = append([]string{"reprise", "--address", trial.address, "--sign=us-east-1"}, args...)
	require.Equal(t, code, program.Run(within(t, patience), args, strings.NewReader(""), &out, &errs), "%v\n%s%s", args, &out, &errs)
	return out.String() + errs.String()
}

// TestCommandLine: every verb that talks to a server does so with a deployment.
func TestCommandLine(t *testing.T) {
	reprise(t, 0, "start", "account", "--run", "cli", "--input", "7")
	eventually(t, "its first record is there, and has the start alone", func(ctx context.Context) bool {
		page, err := trial.client.History(ctx, "cli", 0, 0)
		require.NoError(t, err)
		return len(page.Records) == 1
	})
	reprise(t, 0, "update", "cli", "deposit", "3")
	require.Contains(t, reprise(t, 0, "query", "cli", "balance"), "10")
	require.Contains(t, reprise(t, 0, "list", "--workflow", "account"), "cli")
	require.Contains(t, reprise(t, 0, "get", "cli"), "running")
	require.Contains(t, reprise(t, 0, "history", "cli"), "deposit")
	reprise(t, 0, "signal", "cli", "close", `"done"`)
	require.Contains(t, reprise(t, 0, "wait", "cli"), "done: 10")

	exported := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, os.WriteFile(exported, []byte(reprise(t, 0, "history", "cli", "--json")), 0o600))
	require.Contains(t, reprise(t, 0, "reset", "cli", "--to", "1"), "continues")
	require.Contains(t, reprise(t, 0, "wait", "cli"), "done: 7", "the deposit is forgotten, the signal comes again")
	reprise(t, 0, "start", "account", "--run", "cli-3", "--input", "1")
	require.Contains(t, reprise(t, 0, "cancel", "cli-3"), "asked to stop")
	reprise(t, 1, "wait", "cli-3")

	reprise(t, 0, "start", "account", "--run", "cli-2", "--input", "1")
	reprise(t, 0, "terminate", "cli-2", "--reason", "enough")
	require.Contains(t, reprise(t, 0, "get", "cli-2"), "terminated")
}
