package local_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
)

// Whoever asks a run that is about to begin, or to continue as new, is to ask again, which clients do by themselves.
func TestARunThatIsAboutToBeginIsAskedAgain(t *testing.T) {
	store := memory.New()
	n, err := local.Start(t.Context(), local.Config{Store: store, Definitions: []workflow.Definition{loop}})
	require.NoError(t, err)
	defer func() { require.NoError(t, n.Close()) }()
	started := &history.Started{Generation: 1, Workflow: "loop", Input: history.Payload("0")}
	history.File(started, "f")
	summary := &port.Summary{Run: "r", Workflow: "loop", Generation: 1, Status: history.Running,
		Started: time.Now()}
	require.NoError(t, store.Create(t.Context(), summary,
		port.Item{Key: started.Key(1), Event: started, Durable: true}))
	_, err = n.Query(t.Context(), "r", "total", nil)
	require.Equal(t, port.Unavailable, port.CodeOf(err), "%v", err)
}
