package porttest

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

var inboxCases = []namedCase{
	{"items come back whole", func(s *subject) {
		s.create("r")
		s.file("r", mail("a"))
		s.file("r", fired(3))
		view := s.look("r", port.Position{})
		require.Equal(s.t, []string{"fired#1#3", "mail#a#signal#approve", "start#1"}, keys(view.Inbox))
		for _, item := range view.Inbox {
			switch item.Key {
			case "mail#a#signal#approve":
				sameItem(s.t, mail("a"), item)
			case "fired#1#3":
				sameItem(s.t, fired(3), item)
			}
		}
	}},
	{"the second of a key is there already, and changes nothing", func(s *subject) {
		for _, durable := range []bool{false, true} {
			for _, first := range []bool{false, true} {
				run := fmt.Sprint(durable, first)
				s.create(run)
				item := mail("a")
				item.Durable = first
				s.file(run, item)
				second := mail("a")
				second.Event, second.Stamp, second.Durable = history.NewSignal("a", "other", nil), 99, durable
				stamp, there, err := s.Runs.File(s.t.Context(), run, second)
				require.NoError(s.t, err)
				require.True(s.t, there)
				require.Equal(s.t, item.Stamp, stamp)
				for _, kept := range s.look(run, port.Position{}).Inbox {
					if kept.Key == "mail#a#signal#approve" {
						sameItem(s.t, item, kept)
					}
				}
			}
		}
	}},
	{"a deleted item is gone at once, and can be filed again", func(s *subject) {
		s.create("r")
		for range 3 {
			s.file("r", mail("a"))
			s.file("r", fired(3))
			require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", []string{"mail#a#signal#approve", "fired#1#3"}))
			require.Equal(s.t, []string{"start#1"}, keys(s.look("r", port.Position{}).Inbox))
		}
		s.file("r", mail("a"))
		require.Equal(s.t, []string{"mail#a#signal#approve", "start#1"},
			keys(s.look("r", port.Position{}).Inbox))
	}},
	{"deleting what is not there is no error", func(s *subject) {
		s.create("r")
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", []string{"mail#a#signal#approve", "", "start#2"}))
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", nil))
		for range 2 {
			require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", []string{"start#1"}))
		}
		require.Empty(s.t, s.look("r", port.Position{}).Inbox)
	}},
	{"items are discarded in the generation that is named, and in no other", func(s *subject) {
		summary := s.create("r")
		s.file("r", mail("a"))
		s.file("r", mail("b"))
		s.file("r", fired(3))
		discard := func(generation int, keys ...string) error {
			return s.Runs.Discard(s.t.Context(), "r", generation, keys)
		}
		require.ErrorIs(s.t, discard(2, "mail#a#signal#approve"), port.ErrTaken)
		require.NoError(s.t, discard(1, "mail#b#signal#approve", "fired#1#3", "mail#none#signal#approve"))
		require.NoError(s.t, discard(1))
		require.Equal(s.t, []string{"mail#a#signal#approve", "start#1"},
			keys(s.look("r", port.Position{}).Inbox))
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 1)))
		require.ErrorIs(s.t, discard(1, "mail#a#signal#approve"), port.ErrTaken)
		require.Equal(s.t, []string{"mail#a#signal#approve", "start#1", "start#2"},
			keys(s.look("r", port.Position{}).Inbox))
		s.file("r", mail("b")) // what was discarded can be filed again
		require.NoError(s.t, discard(2, "mail#a#signal#approve"))
		require.Equal(s.t, []string{"mail#b#signal#approve", "start#1", "start#2"},
			keys(s.look("r", port.Position{}).Inbox))
		require.NoError(s.t, s.Runs.Discard(s.t.Context(), "none", 1,
			[]string{"mail#a#signal#approve"}))
	}},
	{"inboxes of other runs are theirs", func(s *subject) {
		s.create("a")
		s.create("b")
		s.file("a", mail("m"))
		s.file("b", mail("m"))
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "a", []string{"mail#m#signal#approve", "start#1"}))
		require.Empty(s.t, s.look("a", port.Position{}).Inbox)
		require.Equal(s.t, []string{"mail#m#signal#approve", "start#1"},
			keys(s.look("b", port.Position{}).Inbox))
	}},
	{"the next start comes with its generation", func(s *subject) {
		summary := s.create("r")
		s.file("r", mail("a"))
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 1)))
		view := s.look("r", port.Position{})
		require.Equal(s.t, []string{"mail#a#signal#approve", "start#1", "start#2"}, keys(view.Inbox), "mail belongs to the run")
		for _, item := range view.Inbox {
			if item.Key == "start#2" {
				sameItem(s.t, startItem(2), item)
			}
		}
	}},
	{"closed runs have an inbox, too", func(s *subject) {
		s.end(s.create("r"))
		s.file("r", mail("late"))
		require.Contains(s.t, keys(s.look("r", port.Position{}).Inbox), "mail#late#signal#approve")
	}},
	{"many items", func(s *subject) {
		s.create("r")
		want := []string{"start#1"}
		for i := range 300 {
			item := fired(int64(i))
			item.Durable = i%50 == 0
			s.file("r", item)
			want = append(want, item.Key)
		}
		slices.Sort(want)
		require.Equal(s.t, want, keys(s.look("r", port.Position{}).Inbox))
		require.NoError(s.t, s.Runs.Discard(s.t.Context(), "r", 1, want[150:]))
		require.Equal(s.t, want[:150], keys(s.look("r", port.Position{}).Inbox))
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", want[:150]))
		require.Empty(s.t, s.look("r", port.Position{}).Inbox)
	}},
}
