//go:build localstack

package localstack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/tests/mutation"
)

// Lambda stops a chain of messages in which a function ran 16 times, unless told otherwise. These
// runs need more.
const (
	inARow  = 60
	retries = 20
)

func TestManyActivitiesInARow(t *testing.T) {
	run := start(t, "chain", inARow)
	gives(t, run, 2*inARow)
	checkLog(t, run)
}

func TestManyRetries(t *testing.T) {
	t.Parallel() // the queue delays each attempt
	gives(t, start(t, "stubborn", retries), retries+1)
}

// TestLoopDetection deploys the system as it was when it took part in Lambda's loop detection: a
// long run stops. Under the template of that time, the functions of today finish such a run.
// Today's template continues the stopped one.
func TestLoopDetection(t *testing.T) {
	if trial.proxy == nil {
		t.Skip("functions run in containers here, without the plugin that counts invocations")
	}
	const allows = "    RecursiveLoop: Allow\n"
	trial.rewrite(t, "template.yaml", allows, "")
	part := mutation.Mutation{Rule: "requests carry no lineage", File: "infra/aws/config.go",
		Old: "	loaded.APIOptions = append(loaded.APIOptions, withoutLineage)\n"}
	trial.flags = part.Overlay(t, root)
	require.NoError(t, trial.deploy(t.Context()))
	stopped := t.Name() + ".stopped"
	startAs(t, stopped, "chain", inARow)
	startAs(t, t.Name()+".retries", "stubborn", retries)
	for _, function := range []string{"activate", "task"} {
		eventually(t, "Lambda stops the chain of functions/"+function, func(context.Context) bool {
			return logged(t, function, "invoked in a recursive loop")
		})
	}

	trial.flags = ""
	require.NoError(t, trial.deploy(t.Context()))
	gives(t, start(t, "chain", inARow), 2*inARow)

	trial.rewrite(t, "template.yaml", "    Architectures: ", allows+"    Architectures: ")
	require.NoError(t, trial.deploy(t.Context()))
	eventually(t, "the stopped run finishes, unblocked where its message was refused too often", func(ctx context.Context) bool {
		summary, err := trial.client.Get(ctx, stopped)
		require.NoError(t, err)
		require.NoError(t, unblock(ctx, summary.Run, summary.Workflow, summary.Blocked))
		return summary.Status.Closed()
	})
	gives(t, stopped, 2*inARow)
	checkLog(t, stopped)
}

// logged says whether an environment of a function has logged such a line.
func logged(t *testing.T, function, part string) bool {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(state(), "logs", stack+"-"+function+"-*.log"))
	require.NoError(t, err)
	for _, log := range logs {
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		if strings.Contains(string(text), part) {
			return true
		}
	}
	return false
}
