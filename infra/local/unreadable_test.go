package local_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

var (
	patient = workflow.New("patient", func(ctx workflow.Context, _ struct{}) (string, error) { return workflow.AwaitSignal(ctx, approve) })
	mother  = workflow.New("mother", func(ctx workflow.Context, _ struct{}) (string, error) {
		return workflow.ExecuteChild(ctx, patient.With(workflow.ChildOptions{ID: "kid"}), struct{}{})
	})
)

func startOn(t *testing.T, file string) *local.Node {
	t.Helper()
	store, err := sqlite.Open(file, sqlite.Options{})
	require.NoError(t, err)
	n, err := local.Start(t.Context(), local.Config{Store: store, Definitions: []workflow.Definition{double, flaky, child, all, loop, patient, mother}})
	require.NoError(t, err)
	return n
}

// A run whose summary cannot be read is shown by what the columns beside it say, and blocked; it takes mail; the others go on, and
// so does the server, at each start. (The suite of all stores has records and items that cannot be read.)
func TestARunWithoutAReadableSummaryIsBlockedAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reprise.db")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := startOn(t, file)
	for _, run := range []string{"good", "bad"} {
		_, _, err := n.Start(ctx, engine.StartRequest{Run: run, Workflow: "all", Input: history.Payload("4")})
		require.NoError(t, err)
		_, err = n.WaitUntil(ctx, run, func(s *port.Summary) bool { return s.State != nil })
		require.NoError(t, err)
	}
	require.NoError(t, n.Close())
	change(ctx, t, file, "UPDATE run SET summary = x'00' WHERE run = 'bad'")
	for range 2 {
		n := startOn(t, file)
		_, err := n.Signal(ctx, engine.MessageRequest{Run: "good"}, "approve", history.Payload(`"me"`))
		if port.CodeOf(err) != port.Closed {
			require.NoError(t, err)
		}
		summary, err := n.Wait(ctx, "good")
		require.NoError(t, err)
		require.Equal(t, history.Completed, summary.Status)

		_, err = n.Signal(ctx, engine.MessageRequest{Run: "bad", ID: "m"}, "approve", history.Payload(`"me"`))
		require.NoError(t, err)
		asked := time.Now()
		require.NoError(t, n.Unblock(ctx, "bad"))
		var listed []*port.Summary
		require.Eventually(t, func() bool { // tried again, it is found unreadable again
			listed, _, err = n.List(ctx, port.ListQuery{Blocked: true})
			return err == nil && len(listed) == 1 && listed[0].Blocked.Since.After(asked)
		}, time.Minute, time.Millisecond)
		got, err := n.Get(ctx, "bad")
		require.NoError(t, err)
		for _, summary := range []*port.Summary{got, listed[0]} {
			require.Equal(t, "bad", summary.Run)
			require.Equal(t, "all", summary.Workflow)
			require.Equal(t, history.Running, summary.Status)
			require.NotNil(t, summary.Blocked)
			require.Equal(t, port.ReasonUnreadable, summary.Blocked.Reason)
		}
		require.NoError(t, n.Close())
	}
}

// What is left of a summary says where a run stands, which is all that its child needs. It says nothing of whose child a run is: its
// parent must not be told that its id is somebody else's.
func TestParentAndChildWhereOneSummaryCannotBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reprise.db")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := startOn(t, file)
	_, _, err := n.Start(ctx, engine.StartRequest{Run: "m", Workflow: "mother"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := n.Get(ctx, "kid")
		return err == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, n.Close())

	change(ctx, t, file, "UPDATE run SET summary = substr(summary, 2) WHERE run = 'm'")
	n = startOn(t, file)
	waiting, err := n.Get(ctx, "kid")
	require.NoError(t, err)
	require.Nil(t, waiting.Blocked, "it has nothing to do with it")
	require.NoError(t, n.Close())
	change(ctx, t, file, "UPDATE run SET summary = CAST('{' || summary AS BLOB) WHERE run = 'm'")

	change(ctx, t, file, "UPDATE run SET summary = substr(summary, 2) WHERE run = 'kid'")
	n = startOn(t, file)
	waiting, err = n.Get(ctx, "m")
	require.NoError(t, err)
	require.Equal(t, history.Running, waiting.Status, "%v", waiting.Failure)
	require.NotNil(t, waiting.Blocked)
	require.Contains(t, waiting.Blocked.Message, `summary of run "kid"`)
	require.NoError(t, n.Close())

	change(ctx, t, file, "UPDATE run SET summary = CAST('{' || summary AS BLOB) WHERE run = 'kid'")
	n = startOn(t, file)
	_, err = n.Signal(ctx, engine.MessageRequest{Run: "kid"}, "approve", history.Payload(`"yes"`))
	require.NoError(t, err)
	ended, err := n.Wait(ctx, "m")
	require.NoError(t, err)
	require.Equal(t, history.Completed, ended.Status, "%v", ended.Blocked)
	require.Equal(t, `"yes"`, string(ended.Result))
	require.NoError(t, n.Close())
}

func change(ctx context.Context, t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	result, err := db.ExecContext(ctx, statement)
	require.NoError(t, err)
	changed, err := result.RowsAffected()
	require.NoError(t, err)
	require.Positive(t, changed)
}
