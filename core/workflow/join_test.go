package workflow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// watched counts how often its future is asked whether it has settled.
type watched struct {
	Awaitable
	asked *int
}

func (w watched) settled() bool {
	*w.asked++
	return w.Awaitable.settled()
}

// TestWaitingForAllIsLinear: each of many timers fires in an activation of its own. The work of a
// wait for all of them is in proportion to their number: 50,000 timers must not take a minute.
func TestWaitingForAllIsLinear(t *testing.T) {
	const timers = 1000
	asked := 0
	waits := New("waits", func(ctx Context, _ struct{}) (int, error) {
		futures := make([]Awaitable, timers)
		for i := range futures {
			futures[i] = watched{Timer(ctx, time.Hour), &asked}
		}
		return asked, allOf(ctx, futures)
	})
	known, err := registry.New(waits)
	require.NoError(t, err)
	entry, _ := known.FindWorkflow("waits")
	run := scheduler.New(scheduler.Identity{Run: "r", Generation: 1, Workflow: "waits"}, entry)
	defer run.Close()
	var event history.Event = &history.Started{Generation: 1, Workflow: "waits", Input: history.Payload("{}")}
	var done scheduler.Completion
	for number := range timers + 1 {
		done, err = run.Activate(scheduler.Activation{Record: number + 1,
			Events: []history.Event{event}})
		require.NoError(t, err)
		event = &history.TimerFired{Seq: int64(number)}
	}
	require.NotNil(t, done.Closes)
	require.LessOrEqual(t, asked, 3*timers)
}
