//go:build localstack

package localstack

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

// TestKilledFunctions kills the processes of functions at random while 200 runs are under way: all end, and nothing is double
// in any log.
func TestKilledFunctions(t *testing.T) {
	if len(pids("activate"))+len(pids("task")) == 0 {
		t.Skip("functions run in containers here")
	}
	const (
		runs   = 200
		length = 3 // steps and activities of each
		kills  = 50
	)
	ctx := within(t, 10*time.Minute)
	var killer sync.WaitGroup
	killer.Go(func() {
		for killed := 0; killed < kills; {
			select {
			case <-time.After(500*time.Millisecond + rand.N(time.Second)):
			case <-ctx.Done():
				return
			}
			all := append(pids("activate"), pids("task")...)
			if len(all) > 0 && syscall.Kill(all[rand.N(len(all))], syscall.SIGKILL) == nil {
				killed++
			}
		}
	})
	var starters sync.WaitGroup
	ids := make(chan string)
	for range 4 {
		starters.Go(func() {
			for id := range ids {
				_, err := trial.client.Start(ctx, engine.StartRequest{Run: id, Workflow: "chain", Input: payload(t, length)})
				assert.NoError(t, err)
			}
		})
	}
	for i := range runs {
		ids <- fmt.Sprint("killed-", i)
	}
	close(ids)
	starters.Wait()
	killer.Wait()
	for i := range runs {
		id := fmt.Sprint("killed-", i)
		summary, err := trial.client.Wait(ctx, id)
		require.NoError(t, err)
		require.Equal(t, history.Completed, summary.Status, "%s: %+v %+v", id, summary.Failure, summary.Blocked)
		require.JSONEq(t, fmt.Sprint(2*length), string(summary.Result))
		checkLog(t, id)
	}
}
