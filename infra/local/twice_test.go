package local_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
)

// untidied is a store. While dies is set, its process dies before it deletes items of an inbox.
type untidied struct {
	*memory.Store
	dies bool
}

func (u *untidied) Delete(ctx context.Context, run string, keys []string) error {
	if u.dies {
		return port.ErrUnavailable
	}
	return u.Store.Delete(ctx, run, keys)
}

// An activity that was running when the process died runs once in the next process, not twice at a
// time: its task comes from the rebuild, and not also from the author that finishes the work of the
// dead one.
func TestARunningActivityRunsOnceAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		call := activity.New("call", func(ctx context.Context, _ struct{}) (int, error) {
			ran.Add(1)
			<-ctx.Done()
			return 0, ctx.Err()
		})
		calls := workflow.New("calls", func(ctx workflow.Context, _ struct{}) (int, error) {
			return workflow.Execute(ctx, call, struct{}{})
		})
		store := &untidied{memory.New(), true}
		for life := range int32(3) {
			node, err := local.Start(t.Context(),
				local.Config{Store: store, Definitions: []workflow.Definition{calls, call},
					TokenKey: []byte("0123456789abcdef0123456789abcdef")})
			require.NoError(t, err)
			_, created, err := node.Start(t.Context(),
				engine.StartRequest{Run: "r", Workflow: "calls"})
			require.NoError(t, err)
			require.Equal(t, life == 0, created)
			synctest.Wait()
			require.Equal(t, life+1, ran.Load(), "once in each life of the process")
			require.NoError(t, node.Close())
			store.dies = false
		}
	})
}
