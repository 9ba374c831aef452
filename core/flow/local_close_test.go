package flow_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
)

// S4.2 S4.28: a server that is closed in the middle of each call makes the call again when it is
// opened, and a flow without retries completes.
func TestClosedInEachCall(t *testing.T) {
	var mu sync.Mutex
	begun, called := map[string]bool{}, make(chan string, 100)
	interrupted := func(name string, do func(int, flow.Call) (any, error)) workflow.Definition {
		return activity.New("http:"+name,
			func(ctx context.Context, call flow.Call) (flow.Answer, error) {
				id := activity.InfoOf(ctx).ID
				mu.Lock()
				again := begun[id]
				begun[id] = true
				mu.Unlock()
				if !again {
					called <- id
					<-ctx.Done()
					return flow.Answer{}, ctx.Err()
				}
				result, err := do(0, call)
				require.NoError(t, err)
				text, err := json.Marshal(result)
				return flow.Answer{Result: text}, err
			})
	}
	folder := t.TempDir()
	open := func() *local.Node {
		return openNode(t, folder,
			mustFlow(allKinds), interrupted("sum", sum), interrupted("transform", transform))
	}
	n := open()
	defer func() { require.NoError(t, n.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, _, err := n.Start(ctx, engine.StartRequest{Run: "r", Workflow: "test-flow",
		Input: history.Payload(`{"list": [1, 2, 3]}`)})
	require.NoError(t, err)
	_, err = n.Signal(ctx, engine.MessageRequest{Run: "r"}, flow.Set.Name(),
		history.Payload(`{"key": "go", "value": true}`))
	require.NoError(t, err)
	ended := make(chan struct{}, 100)
	closes := 0
	for done := false; !done; {
		select {
		case <-called:
			require.NoError(t, n.Close())
			n = open()
			closes++
			go func(n *local.Node) {
				if _, err := n.Wait(ctx, "r"); err == nil {
					ended <- struct{}{}
				}
			}(n)
		case <-ended:
			done = true
		case <-ctx.Done():
			t.Fatal("the run does not end")
		}
	}
	summary, err := n.Get(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, history.Completed, summary.Status, "%v", summary.Failure)
	require.JSONEq(t, `{"total": 6, "both": [6, 6], "each": [10, 20, 30], "sub": {"s": 60}, "go": true}`, string(summary.Result))
	require.GreaterOrEqual(t, closes, 6)
}
