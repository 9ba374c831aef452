package enginetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

var createCases = []namedCase{
	{"a created run shows its summary and its start", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		view := s.look(t, "r", engine.Position{})
		sameSummary(t, summary, view.Summary)
		require.Len(t, view.Inbox, 1)
		sameItem(t, startItem(1), view.Inbox[0])
		require.Empty(t, view.Records)
		require.False(t, view.More)
	}},
	{"a second run of an id is taken, and changes nothing", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		require.NoError(t, s.Runs.Delete(t.Context(), "r", []string{"start#1"}))
		other := newSummary("r")
		other.Workflow = "other"
		require.ErrorIs(t, s.Runs.Create(t.Context(), other, startItem(1)), engine.ErrTaken)
		view := s.look(t, "r", engine.Position{})
		sameSummary(t, summary, view.Summary)
		require.Empty(t, view.Inbox)
	}},
	{"a run that is not there", func(t *testing.T, s *subject) {
		_, err := s.Runs.Look(t.Context(), "r", engine.Position{})
		require.ErrorIs(t, err, engine.ErrNoRun)
		_, err = s.Runs.Summary(t.Context(), "r")
		require.ErrorIs(t, err, engine.ErrNoRun)
		require.ErrorIs(t, s.Runs.Block(t.Context(), "r", &engine.Block{Reason: engine.ReasonStuck}), engine.ErrNoRun)
		require.NoError(t, s.Runs.Delete(t.Context(), "r", []string{"mail#a"}))
		if s.can.Refuses {
			_, err = s.Runs.File(t.Context(), "r", mail("a"))
			require.ErrorIs(t, err, engine.ErrNoRun)
			require.ErrorIs(t, s.Runs.Put(t.Context(), &engine.Commit{Run: "r", Generation: 1, Record: record(1)}), engine.ErrNoRun)
		}
		s.create(t, "r")
	}},
	{"ids are any text", func(t *testing.T, s *subject) {
		ids := []string{"r", "R", "r ", "r/1", "r#1", "überweisung-Ä", "日本語", "a'b\"c;--", "%41?x=1", strings.Repeat("long", 100), "null", "\u00e9", "e\u0301"}
		for _, id := range ids {
			s.create(t, id)
			s.put(t, id, 1, 1)
			s.file(t, id, mail(id))
			require.NoError(t, s.Tasks.SaveTask(t.Context(), &engine.TaskState{TaskKey: engine.TaskKey{Run: id, Generation: 1, Seq: 1}}))
		}
		for _, id := range ids {
			view := s.look(t, id, engine.Position{})
			require.Equal(t, id, view.Summary.Run)
			require.Equal(t, []string{mail(id).Key, "start#1"}, keys(view.Inbox))
			require.Equal(t, []int{1}, numbers(view.Records))
			tasks, err := s.Tasks.TasksOf(t.Context(), id)
			require.NoError(t, err)
			require.Len(t, tasks, 1)
		}
	}},
	{"a summary comes back whole", func(t *testing.T, s *subject) {
		summary := fullSummary("r")
		require.NoError(t, s.Runs.Create(t.Context(), summary, startItem(1)))
		got, err := s.Runs.Summary(t.Context(), "r")
		require.NoError(t, err)
		sameSummary(t, summary, got)
		require.True(t, summary.Started.Equal(got.Started), "nanoseconds")
		require.Equal(t, summary.Input, got.Input, "text of a payload")
	}},
	{"empty fields stay empty", func(t *testing.T, s *subject) {
		require.NoError(t, s.Runs.Create(t.Context(), &engine.Summary{Run: "r", Generation: 1, Status: history.Running}, startItem(1)))
		got, err := s.Runs.Summary(t.Context(), "r")
		require.NoError(t, err)
		require.True(t, got.Started.IsZero() && got.Closed.IsZero())
		require.Equal(t, &engine.Summary{Run: "r", Generation: 1, Status: history.Running, Started: got.Started, Closed: got.Closed}, got)
		require.NoError(t, s.Runs.Put(t.Context(), &engine.Commit{Run: "r", Generation: 1, Record: &history.Record{Number: 1}}))
		sameRecord(t, &history.Record{Number: 1}, s.log(t, "r", 1, 0)[0])
	}},
	{"what is read is the reader's own", func(t *testing.T, s *subject) {
		summary := fullSummary("r")
		want := jsonOf(t, summary)
		require.NoError(t, s.Runs.Create(t.Context(), summary, startItem(1)))
		spoil(summary)
		for range 2 {
			got, err := s.Runs.Summary(t.Context(), "r")
			require.NoError(t, err)
			require.JSONEq(t, want, jsonOf(t, got))
			spoil(got)
			view := s.look(t, "r", engine.Position{})
			require.JSONEq(t, want, jsonOf(t, view.Summary))
			spoil(view.Summary)
			view.Inbox[0].Key = "spoilt"
		}
		require.Equal(t, []string{"start#1"}, keys(s.look(t, "r", engine.Position{}).Inbox))
	}},
}

func fullSummary(run string) *engine.Summary {
	return &engine.Summary{
		Run: run, Workflow: "größe", Generation: 1, Status: history.Failed, Started: epoch, Closed: epoch.AddDate(0, 0, 1),
		Input: history.Payload(`{"a":"<&>é\u2028","n":12345678901234567890}`), Result: history.Payload(`[]`), State: history.Payload(`0`),
		Failure: &history.Failure{FailureKind: history.Application, Type: "T", Message: "m", NonRetryable: true, RetryAfter: 5, Details: history.Payload(`{}`),
			Stack: "s", Cause: &history.Failure{FailureKind: history.Timeout, Type: history.Heartbeat, Message: "late"}},
		Attributes: history.Attributes{"city": history.Payload(`"Köln"`), "": history.Payload(`[1, 2]`)},
		Parent:     &history.Parent{Run: "p", Generation: 2, Seq: 9},
		Blocked:    &engine.Block{Since: epoch, Reason: engine.ReasonNondeterminism, Message: "why", Version: "v1"},
	}
}

// spoil changes everything in a summary that its holder may change.
func spoil(summary *engine.Summary) {
	summary.Attributes["city"] = history.Payload(`"Bonn"`)
	summary.Attributes["new"] = history.Payload(`1`)
	summary.Blocked.Reason = "spoilt"
	summary.Parent.Run = "spoilt"
	summary.Status, summary.Generation = "spoilt", 99
}
