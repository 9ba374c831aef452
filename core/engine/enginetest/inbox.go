package enginetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

var inboxCases = []namedCase{
	{"items come back whole", func(t *testing.T, s *subject) {
		s.create(t, "r")
		s.file(t, "r", mail("a"))
		s.file(t, "r", fired(1, 3))
		view := s.look(t, "r", engine.Position{})
		require.Equal(t, []string{"fired#1#3", "mail#a", "start#1"}, keys(view.Inbox))
		for _, item := range view.Inbox {
			switch item.Key {
			case "mail#a":
				sameItem(t, mail("a"), item)
			case "fired#1#3":
				sameItem(t, fired(1, 3), item)
			}
		}
	}},
	{"the second of a key is there already, and changes nothing", func(t *testing.T, s *subject) {
		for _, durable := range []bool{false, true} {
			for _, first := range []bool{false, true} {
				run := fmt.Sprint(durable, first)
				s.create(t, run)
				item := mail("a")
				item.Durable = first
				s.file(t, run, item)
				second := mail("a")
				second.Event, second.Stamp, second.Durable = history.NewSignal("a", "other", nil), 99, durable
				there, err := s.Runs.File(t.Context(), run, second)
				require.NoError(t, err)
				require.True(t, there)
				for _, kept := range s.look(t, run, engine.Position{}).Inbox {
					if kept.Key == "mail#a" {
						sameItem(t, item, kept)
					}
				}
			}
		}
	}},
	{"a deleted item is gone at once, and can be filed again", func(t *testing.T, s *subject) {
		s.create(t, "r")
		for range 3 {
			s.file(t, "r", mail("a"))
			s.file(t, "r", fired(1, 3))
			require.NoError(t, s.Runs.Delete(t.Context(), "r", []string{"mail#a", "fired#1#3"}))
			require.Equal(t, []string{"start#1"}, keys(s.look(t, "r", engine.Position{}).Inbox))
		}
		s.file(t, "r", mail("a"))
		require.Equal(t, []string{"mail#a", "start#1"}, keys(s.look(t, "r", engine.Position{}).Inbox))
	}},
	{"deleting what is not there is no error", func(t *testing.T, s *subject) {
		s.create(t, "r")
		require.NoError(t, s.Runs.Delete(t.Context(), "r", []string{"mail#a", "", "start#2"}))
		require.NoError(t, s.Runs.Delete(t.Context(), "r", nil))
		for range 2 {
			require.NoError(t, s.Runs.Delete(t.Context(), "r", []string{"start#1"}))
		}
		require.Empty(t, s.look(t, "r", engine.Position{}).Inbox)
	}},
	{"inboxes of other runs are theirs", func(t *testing.T, s *subject) {
		s.create(t, "a")
		s.create(t, "b")
		s.file(t, "a", mail("m"))
		s.file(t, "b", mail("m"))
		require.NoError(t, s.Runs.Delete(t.Context(), "a", []string{"mail#m", "start#1"}))
		require.Empty(t, s.look(t, "a", engine.Position{}).Inbox)
		require.Equal(t, []string{"mail#m", "start#1"}, keys(s.look(t, "b", engine.Position{}).Inbox))
	}},
	{"the next start comes with its generation", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		s.file(t, "r", mail("a"))
		require.NoError(t, s.Runs.Put(t.Context(), next(summary, 1)))
		view := s.look(t, "r", engine.Position{})
		require.Equal(t, []string{"mail#a", "start#1", "start#2"}, keys(view.Inbox), "mail belongs to the run")
		for _, item := range view.Inbox {
			if item.Key == "start#2" {
				sameItem(t, startItem(2), item)
			}
		}
	}},
	{"closed runs have an inbox, too", func(t *testing.T, s *subject) {
		s.end(t, s.create(t, "r"), 1)
		s.file(t, "r", mail("late"))
		require.Contains(t, keys(s.look(t, "r", engine.Position{}).Inbox), "mail#late")
	}},
	{"many items", func(t *testing.T, s *subject) {
		s.create(t, "r")
		want := []string{"start#1"}
		for i := range 300 {
			item := fired(1, int64(i))
			item.Durable = i%50 == 0
			s.file(t, "r", item)
			want = append(want, item.Key)
		}
		slices.Sort(want)
		require.Equal(t, want, keys(s.look(t, "r", engine.Position{}).Inbox))
		require.NoError(t, s.Runs.Delete(t.Context(), "r", want))
		require.Empty(t, s.look(t, "r", engine.Position{}).Inbox)
	}},
}
