package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// A state stays behind when the process ends between an activity's result and the state's deletion.
func TestAStateThatWasLeftBehindIsNotShownAsUnderWay(t *testing.T) {
	n, ctx := start(t), t.Context()
	_, _, err := n.Start(ctx, engine.StartRequest{Run: "r", Workflow: "all", Input: history.Payload("1")})
	require.NoError(t, err)
	left := &port.TaskState{TaskKey: port.TaskKey{Run: "r", Generation: 1, Seq: 1000},
		Activity: "double", Attempt: 2}
	require.NoError(t, n.Tasks.SaveTask(ctx, left))

	open, err := n.ActivitiesOf(ctx, "r")
	require.NoError(t, err)
	require.NotContains(t, open, left)

	_, err = n.Signal(ctx, engine.MessageRequest{Run: "r"}, "approve", history.Payload(`"me"`))
	require.NoError(t, err)
	_, err = n.Wait(ctx, "r")
	require.NoError(t, err)
	ended, err := n.ActivitiesOf(ctx, "r")
	require.NoError(t, err)
	require.Empty(t, ended)
}
