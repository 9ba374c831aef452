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
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

func startOn(t *testing.T, file string) *local.Node {
	t.Helper()
	store, err := sqlite.Open(file, sqlite.Options{})
	require.NoError(t, err)
	n, err := local.Start(t.Context(), local.Config{Store: store, Definitions: []workflow.Definition{double, flaky, child, all, loop}})
	require.NoError(t, err)
	return n
}

// A run that cannot be read is blocked, and says so wherever it shows; the others go on, and so does the server, at each start.
func TestARunThatCannotBeReadIsBlockedAlone(t *testing.T) {
	for name, damage := range map[string]string{
		"a record":    "UPDATE record SET record = x'00' WHERE key = (SELECT max(key) FROM record r, run WHERE run.run = 'bad' AND key >> 24 = stream)",
		"an item":     "UPDATE inbox SET event = x'00' WHERE run = (SELECT number FROM run WHERE run = 'bad')",
		"its summary": "UPDATE run SET summary = x'00' WHERE run = 'bad'",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "reprise.db")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			waiting(ctx, t, file)
			change(ctx, t, file, damage)
			for range 2 {
				n := startOn(t, file)
				_, err := n.Signal(ctx, engine.MailRequest{Run: "good"}, "approve", history.Payload(`"me"`))
				if engine.CodeOf(err) != engine.Closed {
					require.NoError(t, err)
				}
				summary, err := n.Wait(ctx, "good")
				require.NoError(t, err)
				require.Equal(t, history.Completed, summary.Status)

				asked := time.Now()
				require.Eventually(t, func() bool { return n.Unblock(ctx, "bad") == nil }, time.Minute, time.Millisecond) // the start tries it, too
				var listed []*engine.Summary
				require.Eventually(t, func() bool { // tried again, it is found unreadable again
					listed, _, err = n.List(ctx, engine.ListQuery{Blocked: true})
					return err == nil && len(listed) == 1 && listed[0].Blocked.Since.After(asked)
				}, time.Minute, time.Millisecond)
				got, err := n.Get(ctx, "bad")
				require.NoError(t, err)
				for _, summary := range []*engine.Summary{got, listed[0]} {
					require.Equal(t, "bad", summary.Run)
					require.Equal(t, "all", summary.Workflow)
					require.Equal(t, history.Running, summary.Status)
					require.NotNil(t, summary.Blocked)
					require.Equal(t, engine.ReasonUnreadable, summary.Blocked.Reason)
				}
				require.NoError(t, n.Close())
			}
		})
	}
}

// waiting leaves two runs that wait; one has mail that nobody has looked at.
func waiting(ctx context.Context, t *testing.T, file string) {
	t.Helper()
	n := startOn(t, file)
	for _, run := range []string{"good", "bad"} {
		_, _, err := n.Start(ctx, engine.StartRequest{Run: run, Workflow: "all", Input: history.Payload("4")})
		require.NoError(t, err)
		_, err = n.WaitUntil(ctx, run, func(s *engine.Summary) bool { return s.State != nil })
		require.NoError(t, err)
	}
	require.NoError(t, n.Close())
	store, err := sqlite.Open(file, sqlite.Options{})
	require.NoError(t, err)
	event := history.NewSignal("m", "approve", history.Payload(`"me"`))
	history.File(event, "f")
	_, err = store.File(ctx, "bad", engine.Item{Key: event.Key(1), Event: event, Durable: true})
	require.NoError(t, err)
	require.NoError(t, store.Close())
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
