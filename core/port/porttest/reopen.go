package porttest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

var reopenCases = []namedCase{
	{"everything is there again", func(s *subject) {
		summary := s.create("r")
		s.put("r", 1, upTo(5)...)
		s.file("r", mail("a"))
		s.file("r", mail("b"))
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", []string{"mail#b#signal#approve", "start#1"}))
		block := &port.Block{Since: epoch, Reason: port.ReasonStuck}
		require.NoError(s.t, s.Runs.Block(s.t.Context(), "r", block))
		s.appoint(epoch, "r", 1)
		s.appoint(epoch, "r", 2)
		require.NoError(s.t,
			s.Due.DeleteDue(s.t.Context(),
				[]port.DueTimer{{At: epoch, Run: "r", Generation: 1, Seq: 1}}))
		require.NoError(s.t, s.Tasks.SaveTask(s.t.Context(), fullTask("r", 1, 1)))
		require.NoError(s.t,
			s.Tasks.SaveTask(s.t.Context(),
				&port.TaskState{TaskKey: port.TaskKey{Run: "r", Generation: 1, Seq: 2}}))
		s.note("r", port.Note{Key: "mail#b", Taken: port.Position{Generation: 1, Record: 2}})
		s.reopen()
		require.Equal(s.t, port.Position{Generation: 1, Record: 2}, s.noted("r", "mail#b"))
		view := s.look("r", port.Position{})
		summary.Blocked = block
		sameSummary(s.t, summary, view.Summary)
		require.Equal(s.t, []string{"mail#a#signal#approve"}, keys(view.Inbox))
		sameItem(s.t, mail("a"), view.Inbox[0])
		require.Equal(s.t, upTo(5), numbers(view.Records))
		require.Equal(s.t, []int64{2}, s.due(epoch.Add(time.Hour)))
		require.Equal(s.t, []port.TaskKey{{Run: "r", Generation: 1, Seq: 1},
			{Run: "r", Generation: 1, Seq: 2}}, s.tasks("r"))
		require.Equal(s.t, []string{"r"}, s.unfinished())
	}},
	{"conditions still hold", func(s *subject) {
		summary := s.create("r")
		s.put("r", 1, 1)
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 2)))
		s.file("r", mail("a"))
		s.reopen()
		require.ErrorIs(s.t, s.Runs.Create(s.t.Context(), summary, startItem(1)), port.ErrTaken)
		require.ErrorIs(s.t, s.Runs.Put(s.t.Context(), next(summary, 0)), port.ErrTaken)
		require.ErrorIs(s.t,
			s.Runs.Put(s.t.Context(),
				&port.Commit{Run: "r", Generation: 1, Record: record(1)}), port.ErrTaken)
		again := mail("a")
		again.Stamp++
		stamp, _, err := s.Runs.File(s.t.Context(), "r", again)
		require.NoError(s.t, err)
		require.Equal(s.t, again.Stamp-1, stamp)
		s.put("r", 2, 1)
		s.create("new")
		s.put("new", 1, 1)
		require.Equal(s.t, upTo(2), numbers(s.log("r", 1, 0)))
		require.Equal(s.t, upTo(1), numbers(s.log("r", 2, 0)))
	}},
	{"what is not durable may be forgotten", func(s *subject) {
		s.create("r")
		s.file("r", fired(1))
		s.reopen()
		want := []string{"fired#1#1", "start#1"}
		if s.can.Forgets {
			want = want[1:]
		}
		require.Equal(s.t, want, keys(s.look("r", port.Position{}).Inbox))
	}},
	{"lists are the same", func(s *subject) {
		want := s.population()
		blocked := s.list(port.ListQuery{Blocked: true})
		_, cursor, err := s.Directory.List(s.t.Context(), port.ListQuery{Limit: 5})
		require.NoError(s.t, err)
		s.reopen()
		require.Equal(s.t, want, s.list(port.ListQuery{}))
		require.Equal(s.t, want[5:], s.list(port.ListQuery{Cursor: cursor}),
			"a cursor outlives the store")
		require.Equal(s.t, blocked, s.list(port.ListQuery{Blocked: true}))
		require.Len(s.t, s.list(port.ListQuery{Status: history.Completed}), 9)
	}},
}
