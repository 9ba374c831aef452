package sqlite_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// FuzzCursor: a cursor that somebody made up is invalid, or shows a page of runs.
func FuzzCursor(f *testing.F) {
	s := open(f, f.TempDir(), sqlite.Options{})
	for i := range 5 {
		run := fmt.Sprint("r", i)
		start := &history.Started{Generation: 1, Workflow: "w"}
		require.NoError(f, s.Create(f.Context(),
			&port.Summary{Run: run, Workflow: "w", Generation: 1, Status: history.Running,
				Started: time.Unix(int64(i), 5)},
			port.Item{Key: start.Key(1), Event: start, Durable: true}))
	}
	_, cursor, err := s.List(f.Context(), port.ListQuery{Limit: 2})
	require.NoError(f, err)
	for _, seed := range []string{cursor, "inbox 3", "memory", "running 5.2", "reset"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		page, _, err := s.List(t.Context(), port.ListQuery{Cursor: cursor})
		requireInvalid(t, err)
		require.LessOrEqual(t, len(page), 5)
		runs, _, err := s.Unfinished(context.WithoutCancel(t.Context()), cursor)
		requireInvalid(t, err)
		require.LessOrEqual(t, len(runs), 5)
	})
}

func requireInvalid(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		require.Equal(t, port.Invalid, port.CodeOf(err), "%v", err)
	}
}
