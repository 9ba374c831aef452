package enginetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

var reopenCases = []namedCase{
	{"everything is there again", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		s.put(t, "r", 1, upTo(5)...)
		s.file(t, "r", mail("a"))
		s.file(t, "r", mail("b"))
		require.NoError(t, s.Runs.Delete(t.Context(), "r", []string{"mail#b", "start#1"}))
		block := &engine.Block{Since: epoch, Reason: engine.ReasonStuck}
		require.NoError(t, s.Runs.Block(t.Context(), "r", block))
		s.appoint(t, epoch, "r", 1)
		s.appoint(t, epoch, "r", 2)
		require.NoError(t, s.Due.DeleteDue(t.Context(), []engine.DueTimer{{At: epoch, Run: "r", Generation: 1, Seq: 1}}))
		require.NoError(t, s.Tasks.SaveTask(t.Context(), fullTask("r", 1, 1)))
		require.NoError(t, s.Tasks.SaveTask(t.Context(), &engine.TaskState{TaskKey: engine.TaskKey{Run: "r", Generation: 1, Seq: 2}}))
		s.reopen(t)
		view := s.look(t, "r", engine.Position{})
		summary.Blocked = block
		sameSummary(t, summary, view.Summary)
		require.Equal(t, []string{"mail#a"}, keys(view.Inbox))
		sameItem(t, mail("a"), view.Inbox[0])
		require.Equal(t, upTo(5), numbers(view.Records))
		require.Equal(t, []int64{2}, s.due(t, epoch.Add(time.Hour)))
		require.Equal(t, []engine.TaskKey{{Run: "r", Generation: 1, Seq: 1}, {Run: "r", Generation: 1, Seq: 2}}, s.tasks(t, "r"))
		require.Equal(t, []string{"r"}, s.unfinished(t))
	}},
	{"conditions still hold", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		s.put(t, "r", 1, 1)
		require.NoError(t, s.Runs.Put(t.Context(), next(summary, 2)))
		s.file(t, "r", mail("a"))
		s.reopen(t)
		require.ErrorIs(t, s.Runs.Create(t.Context(), summary, startItem(1)), engine.ErrTaken)
		require.ErrorIs(t, s.Runs.Put(t.Context(), next(summary, 0)), engine.ErrTaken)
		require.ErrorIs(t, s.Runs.Put(t.Context(), &engine.Commit{Run: "r", Generation: 1, Record: record(1)}), engine.ErrTaken)
		there, err := s.Runs.File(t.Context(), "r", mail("a"))
		require.NoError(t, err)
		require.True(t, there)
		s.put(t, "r", 2, 1)
		s.create(t, "new")
		s.put(t, "new", 1, 1)
		require.Equal(t, upTo(2), numbers(s.log(t, "r", 1, 0)))
		require.Equal(t, upTo(1), numbers(s.log(t, "r", 2, 0)))
	}},
	{"what is not durable may be forgotten", func(t *testing.T, s *subject) {
		s.create(t, "r")
		s.file(t, "r", fired(1, 1))
		s.reopen(t)
		want := []string{"fired#1#1", "start#1"}
		if s.can.Forgets {
			want = want[1:]
		}
		require.Equal(t, want, keys(s.look(t, "r", engine.Position{}).Inbox))
	}},
	{"lists are the same", func(t *testing.T, s *subject) {
		want := s.population(t)
		blocked := s.list(t, engine.ListQuery{Blocked: true})
		_, cursor, err := s.Directory.List(t.Context(), engine.ListQuery{Limit: 5})
		require.NoError(t, err)
		s.reopen(t)
		require.Equal(t, want, s.list(t, engine.ListQuery{}))
		require.Equal(t, want[5:], s.list(t, engine.ListQuery{Cursor: cursor}), "a cursor outlives the store")
		require.Equal(t, blocked, s.list(t, engine.ListQuery{Blocked: true}))
		require.Len(t, s.list(t, engine.ListQuery{Status: history.Completed}), 9)
	}},
}
