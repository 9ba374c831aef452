package local_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
)

// between does something once, right after the state of an activity was loaded for the first time.
type between struct {
	*memory.Store
	done atomic.Bool
	do   func()
}

func (b *between) LoadTask(ctx context.Context, key port.TaskKey) (*port.TaskState, error) {
	state, err := b.Store.LoadTask(ctx, key)
	if !b.done.Swap(true) {
		b.do()
	}
	return state, err
}

// An activity is asked to stop while its first attempt is about to begin, and has found nothing that says so.
func TestAnActivityThatIsAskedToStopAsItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		obedient := activity.New("obedient", func(ctx context.Context, _ int) (int, error) {
			for activity.Heartbeat(ctx, nil) == nil {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
			return 0, ctx.Err()
		}).With(activity.Options{Heartbeat: time.Minute, StartToClose: activity.Unlimited})
		main := workflow.New("main", func(ctx workflow.Context, n int) (int, error) { return workflow.Execute(ctx, obedient, n) })
		var n *local.Node
		store := &between{Store: memory.New()}
		store.do = func() {
			_, err := n.Cancel(context.Background(), engine.MessageRequest{Run: "r"}, "enough")
			require.NoError(t, err)
			<-time.After(time.Second) // until all that follows has been done
		}
		n, err := local.Start(t.Context(), local.Config{Store: store, Definitions: []workflow.Definition{obedient, main}})
		require.NoError(t, err)
		defer func() { require.NoError(t, n.Close()) }()
		_, _, err = n.Start(t.Context(), engine.StartRequest{Run: "r", Workflow: "main", Input: history.Payload("1")})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		summary, err := n.Wait(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, history.Cancelled, summary.Status)
	})
}
