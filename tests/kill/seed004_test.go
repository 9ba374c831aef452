//go:build kill

package kill

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/tests/process"
	"github.com/reprise-run/reprise/tests/seed004"
)

// An existing client and an existing worker of seed 004 (S4.35, S4.14): the server is killed
// between the steps of the demonstration, and while the client polls. The client sees the same
// results as on a server that lives. The worker registers once.
func TestExistingClientsSurviveKills(t *testing.T) {
	seed := number(t, "KILL_SEED", uint64(time.Now().UnixNano())%1_000_000)
	t.Logf("KILL_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	server := process.New(t, process.Build(t))
	starts := func() {
		server.Start()
		server.Await(t.Context(), server.Client())
	}
	starts()
	kill := func() {
		server.Live(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
		server.Kill()
		starts()
	}
	c := &seed004.Client{T: t, Base: "http://" + server.Address + "/api", Pace: 5 * time.Millisecond, Patience: longestStep}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	url, _ := c.Worker("w1", "")
	c.Beat("w1", url)
	kill()
	c.Demonstrate(kill)

	task := c.Start(c.Flow("asking", seed004.Asking), "")
	polled := make(chan seed004.Task)
	go func() { polled <- c.Poll(task) }()
	for range 3 {
		kill()
	}
	c.Signal(task, "ok", "true")
	kill()
	ended := <-polled
	require.Equal(t, []any{"completed", `{"ok":true}`, "approved"}, []any{ended.Status, ended.SharedJSON, ended.LastAction})

	killed := time.Now()
	kill()
	require.Eventually(t, func() bool { return heartbeat(c) > killed.Unix() }, longestStep, poll, "the worker's heartbeats count")
	t.Logf("%d starts of the server", server.Starts)
}

// heartbeat is the last one of the worker, which is online.
func heartbeat(c *seed004.Client) int64 {
	c.Helper()
	var listed []struct {
		ID, Status    string
		Services      []string
		LastHeartbeat int64
	}
	_, text := c.Send(http.MethodGet, "/list?service=sum", "")
	require.NoError(c, json.Unmarshal([]byte(text), &listed), text)
	require.Len(c, listed, 1, "it is still registered")
	require.Equal(c, []any{"w1", "online", []string{"transform", "sum", "route"}}, []any{listed[0].ID, listed[0].Status, listed[0].Services})
	return listed[0].LastHeartbeat
}
