package porttest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

func noteOf(key string, generation, record int) port.Note {
	return port.Note{Key: key, Taken: port.Position{Generation: generation, Record: record}}
}

func (s *subject) note(run string, notes ...port.Note) {
	s.t.Helper()
	require.NoError(s.t, s.Runs.Note(s.t.Context(), run, notes))
}

func (s *subject) noted(run, key string) port.Position {
	s.t.Helper()
	at, err := s.Runs.Noted(s.t.Context(), run, key)
	require.NoError(s.t, err)
	return at
}

var knownCases = []namedCase{
	{"a note is read by its key, and the latest counts", func(s *subject) {
		s.create("r")
		s.create("other")
		require.Zero(s.t, s.noted("r", "mail#a"))
		s.note("r", noteOf("mail#a", 1, 7), noteOf("mail#b", 2, 1))
		require.Equal(s.t, port.Position{Generation: 1, Record: 7}, s.noted("r", "mail#a"))
		require.Equal(s.t, port.Position{Generation: 2, Record: 1}, s.noted("r", "mail#b"))
		require.Zero(s.t, s.noted("r", "mail#"), "a part of a key is another key")
		require.Zero(s.t, s.noted("other", "mail#a"))
		s.note("r", noteOf("mail#a", 1, 8))
		require.Equal(s.t, port.Position{Generation: 1, Record: 8}, s.noted("r", "mail#a"))
	}},
	{"many notes at once, one of them twice", func(s *subject) {
		s.create("r")
		var notes []port.Note
		for i := range 70 {
			notes = append(notes, noteOf(fmt.Sprint("mail#", i), 1, i+1))
		}
		s.note("r", append(notes, notes[3])...)
		for _, note := range notes {
			require.Equal(s.t, note.Taken, s.noted("r", note.Key))
		}
	}},
	{"a look does not show notes", func(s *subject) {
		s.create("r")
		s.put("r", 1, 1)
		s.note("r", noteOf("mail#a", 1, 1))
		view := s.look("r", port.Position{})
		require.Equal(s.t, []string{"start#1"}, keys(view.Inbox))
		require.Len(s.t, view.Records, 1)
	}},
	{"notes go with the log that they name", func(s *subject) {
		summary := s.create("r")
		s.put("r", 1, 1)
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 0)))
		summary.Generation = 2
		s.put("r", 2, 1)
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 0)))
		s.note("r", noteOf("mail#a", 1, 1), noteOf("mail#b", 2, 1), noteOf("mail#c", 3, 1))
		require.NoError(s.t, s.Runs.DeleteLog(s.t.Context(), "r", 2))
		require.NotZero(s.t, s.noted("r", "mail#a"))
		require.Zero(s.t, s.noted("r", "mail#b"))
		require.NotZero(s.t, s.noted("r", "mail#c"))
	}},
	{"one item", func(s *subject) {
		s.create("r")
		item, err := s.Runs.Item(s.t.Context(), "r", "mail#a#signal#approve")
		require.NoError(s.t, err)
		require.Nil(s.t, item)
		s.file("r", mail("a"))
		item, err = s.Runs.Item(s.t.Context(), "r", "mail#a#signal#approve")
		require.NoError(s.t, err)
		sameItem(s.t, mail("a"), *item)
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "r", []string{item.Key}))
		item, err = s.Runs.Item(s.t.Context(), "r", "mail#a#signal#approve")
		require.NoError(s.t, err)
		require.Nil(s.t, item)
	}},
	{"one record", func(s *subject) {
		s.create("r")
		for n := range 3 {
			s.put("r", 1, n+1)
		}
		rec, err := s.Runs.Record(s.t.Context(), "r", port.Position{Generation: 1, Record: 2})
		require.NoError(s.t, err)
		require.Equal(s.t, 2, rec.Number)
		for _, none := range []port.Position{{Generation: 1}, {Generation: 1, Record: 4},
			{Generation: 2, Record: 1}} {
			rec, err := s.Runs.Record(s.t.Context(), "r", none)
			require.NoError(s.t, err)
			require.Nil(s.t, rec, "%v", none)
		}
	}},
	{"nothing is known of a run that is not there", func(s *subject) {
		s.note("none", noteOf("mail#a", 1, 7))
		item, err := s.Runs.Item(s.t.Context(), "none", "start#1")
		require.NoError(s.t, err)
		require.Nil(s.t, item)
		rec, err := s.Runs.Record(s.t.Context(), "none", port.Position{Generation: 1, Record: 1})
		require.NoError(s.t, err)
		require.Nil(s.t, rec)
	}},
}
