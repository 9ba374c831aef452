package local_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
)

// guarded ends at once, within limits that it does not come near, and leaves a timer behind.
var guarded = workflow.New("guarded", func(ctx workflow.Context, leave bool) (int, error) {
	for _, limit := range []time.Duration{10 * time.Minute, 24 * time.Hour} {
		limited, cancel := workflow.WithTimeout(ctx, limit)
		if err := workflow.Sleep(limited, time.Second); err != nil {
			return 0, err
		}
		cancel()
		if leave {
			workflow.Timer(ctx, limit)
		}
	}
	return 1, workflow.Sleep(ctx, time.Second)
})

func TestTimersThatNobodyWaitsForAreForgotten(t *testing.T) {
	for name, leave := range map[string]string{"cancelled": "false", "left by a run that ended": "true"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				n, err := local.Start(t.Context(), local.Config{Store: store, Definitions: []workflow.Definition{guarded}})
				require.NoError(t, err)
				defer func() { require.NoError(t, n.Close()) }()
				_, _, err = n.Start(t.Context(), engine.StartRequest{Run: "r", Workflow: guarded.Name(), Input: history.Payload(leave)})
				require.NoError(t, err)
				summary, err := n.Wait(t.Context(), "r")
				require.NoError(t, err)
				require.Equal(t, "1", string(summary.Result), "%v", summary.Failure)
				synctest.Wait()
				_, delayed, _ := n.Backlog()
				require.Zero(t, delayed)
				due, err := store.DueBefore(context.Background(), time.Now().AddDate(1, 0, 0))
				require.NoError(t, err)
				require.Empty(t, due)
			})
		})
	}
}
