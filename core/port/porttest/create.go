package porttest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

var createCases = []namedCase{
	{"a created run shows its summary and its start", func(s *subject) {
		summary := s.create("r")
		view := s.look("r", port.Position{})
		sameSummary(s.t, summary, view.Summary)
		require.Len(s.t, view.Inbox, 1)
		sameItem(s.t, startItem(1), view.Inbox[0])
		require.Empty(s.t, view.Records)
		require.False(s.t, view.More)
	}},
	{"a second run of an id is taken, and changes nothing", func(s *subject) {
		summary := s.create("r")
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", []string{"start#1"}))
		other := newSummary("r")
		other.Workflow = "other"
		require.ErrorIs(s.t, s.Runs.Create(s.t.Context(), other, startItem(1)), port.ErrTaken)
		view := s.look("r", port.Position{})
		sameSummary(s.t, summary, view.Summary)
		require.Empty(s.t, view.Inbox)
	}},
	{"a run that is not there", func(s *subject) {
		_, err := s.Runs.Look(s.t.Context(), "r", port.Position{})
		require.ErrorIs(s.t, err, port.ErrNoRun)
		_, err = s.Runs.Summary(s.t.Context(), "r")
		require.ErrorIs(s.t, err, port.ErrNoRun)
		require.ErrorIs(s.t,
			s.Runs.Block(s.t.Context(), "r", &port.Block{Reason: port.ReasonStuck}), port.ErrNoRun)
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", []string{"mail#a#signal#approve"}))
		if s.can.Refuses {
			_, _, err = s.Runs.File(s.t.Context(), "r", mail("a"))
			require.ErrorIs(s.t, err, port.ErrNoRun)
			require.ErrorIs(s.t,
				s.Runs.Put(s.t.Context(),
					&port.Commit{Run: "r", Generation: 1, Record: record(1)}), port.ErrNoRun)
		}
		s.create("r")
	}},
	{"ids are any text", func(s *subject) {
		ids := []string{"r", "R", "r ", "r/1", "r#1", "überweisung-Ä", "日本語", "a'b\"c;--", "%41?x=1", strings.Repeat("long", 100), "null", "\u00e9", "e\u0301"}
		for _, id := range ids {
			s.create(id)
			s.put(id, 1, 1)
			s.file(id, mail(id))
			require.NoError(s.t,
				s.Tasks.SaveTask(s.t.Context(),
					&port.TaskState{TaskKey: port.TaskKey{Run: id, Generation: 1, Seq: 1}}))
		}
		for _, id := range ids {
			view := s.look(id, port.Position{})
			require.Equal(s.t, id, view.Summary.Run)
			require.Equal(s.t, []string{mail(id).Key, "start#1"}, keys(view.Inbox))
			require.Equal(s.t, []int{1}, numbers(view.Records))
			tasks, err := s.Tasks.TasksOf(s.t.Context(), id)
			require.NoError(s.t, err)
			require.Len(s.t, tasks, 1)
		}
	}},
	{"a summary comes back whole", func(s *subject) {
		summary := fullSummary()
		require.NoError(s.t, s.Runs.Create(s.t.Context(), summary, startItem(1)))
		got, err := s.Runs.Summary(s.t.Context(), "r")
		require.NoError(s.t, err)
		sameSummary(s.t, summary, got)
		require.True(s.t, summary.Started.Equal(got.Started), "nanoseconds")
		require.Equal(s.t, summary.Input, got.Input, "text of a payload")
	}},
	{"empty fields stay empty", func(s *subject) {
		require.NoError(s.t,
			s.Runs.Create(s.t.Context(),
				&port.Summary{Run: "r", Generation: 1, Status: history.Running}, startItem(1)))
		got, err := s.Runs.Summary(s.t.Context(), "r")
		require.NoError(s.t, err)
		require.True(s.t, got.Started.IsZero() && got.Closed.IsZero())
		require.Equal(s.t, &port.Summary{Run: "r", Generation: 1, Status: history.Running,
			Started: got.Started, Closed: got.Closed}, got)
		require.NoError(s.t,
			s.Runs.Put(s.t.Context(),
				&port.Commit{Run: "r", Generation: 1, Record: &history.Record{Number: 1}}))
		sameRecord(s.t, &history.Record{Number: 1}, s.log("r", 1, 0)[0])
	}},
	{"what is read is the reader's own", func(s *subject) {
		summary := fullSummary()
		want := jsonOf(s.t, summary)
		require.NoError(s.t, s.Runs.Create(s.t.Context(), summary, startItem(1)))
		spoil(summary)
		for range 2 {
			got, err := s.Runs.Summary(s.t.Context(), "r")
			require.NoError(s.t, err)
			require.JSONEq(s.t, want, jsonOf(s.t, got))
			spoil(got)
			view := s.look("r", port.Position{})
			require.JSONEq(s.t, want, jsonOf(s.t, view.Summary))
			spoil(view.Summary)
			view.Inbox[0].Key = "spoilt"
		}
		require.Equal(s.t, []string{"start#1"}, keys(s.look("r", port.Position{}).Inbox))
	}},
}

func fullSummary() *port.Summary {
	return &port.Summary{
		Start: "filing", Run: "r", Workflow: "größe", Generation: 1,
		Status: history.Failed, Started: epoch, Closed: epoch.AddDate(0, 0, 1),
		Input: history.Payload(`{"a":"<&>é\u2028","n":12345678901234567890}`), Result: history.Payload(`[]`), State: history.Payload(`0`),
		Failure: &history.Failure{FailureKind: history.Application, Type: "T", Message: "m", NonRetryable: true, RetryAfter: 5, Details: history.Payload(`{}`),
			Stack: "s", Cause: &history.Failure{FailureKind: history.Timeout, Type: history.Heartbeat, Message: "late"}},
		Attributes: history.Attributes{"city": history.Payload(`"Köln"`), "": history.Payload(`[1, 2]`)},
		Parent:     &history.Parent{Run: "p", Generation: 2, Seq: 9},
		Blocked: &port.Block{Since: epoch, Reason: port.ReasonNondeterminism, Message: "why",
			Version: "v1"},
	}
}

// spoil changes everything in a summary that its holder may change.
func spoil(summary *port.Summary) {
	summary.Attributes["city"] = history.Payload(`"Bonn"`)
	summary.Attributes["new"] = history.Payload(`1`)
	summary.Blocked.Reason = "spoilt"
	summary.Parent.Run = "spoilt"
	summary.Status, summary.Generation = "spoilt", 99
}
