package local_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
)

// TestReplayEach: code that decides differently on replay blocks its run in its first activation,
// and not where a cold start happens to replay it. Code that decides the same is not affected.
func TestReplayEach(t *testing.T) {
	calls := 0
	fickle := workflow.New("fickle", func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		calls++
		return workflow.None{}, workflow.Sleep(ctx, time.Duration(calls)*time.Millisecond)
	})
	for _, each := range []bool{false, true} {
		calls = 0
		n, err := local.Start(t.Context(), local.Config{Store: memory.New(), Definitions: []workflow.Definition{double, flaky, child, all, loop, fickle}, ReplayEach: each})
		require.NoError(t, err)
		for name, input := range map[string]string{"all": "4", "loop": "3", "fickle": "null"} {
			_, _, err = n.Start(t.Context(), engine.StartRequest{Run: name, Workflow: name, Input: history.Payload(input)})
			require.NoError(t, err)
		}
		_, err = n.Signal(t.Context(), engine.MessageRequest{Run: "all"}, "approve", history.Payload(`"me"`))
		require.NoError(t, err)
		for _, name := range []string{"all", "loop"} {
			summary, err := n.Wait(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, history.Completed, summary.Status)
		}
		blocked, err := n.WaitUntil(t.Context(), "fickle", func(s *port.Summary) bool {
			return s.Status.Closed() || s.Blocked != nil
		})
		require.NoError(t, err)
		if !each {
			require.Nil(t, blocked.Blocked)
		} else {
			require.NotNil(t, blocked.Blocked)
			require.Equal(t, port.ReasonNondeterminism, blocked.Blocked.Reason)
			require.Contains(t, blocked.Blocked.Message, "replay_test.go:")
			log, err := n.History(t.Context(), "fickle", 1, 0)
			require.NoError(t, err)
			require.Empty(t, log, "what the code decided first is not recorded")
		}
		require.NoError(t, n.Close())
	}
}
