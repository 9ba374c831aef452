package enginetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

var listCases = []namedCase{
	{"nothing is an empty page, and the end", func(t *testing.T, s *subject) {
		page, next, err := s.Directory.List(t.Context(), engine.ListQuery{Limit: 10})
		require.NoError(t, err)
		require.Empty(t, page)
		require.Empty(t, next)
	}},
	{"the latest start comes first, in pages of any size", func(t *testing.T, s *subject) {
		want := s.population(t)
		for _, limit := range []int{1, 2, 7, 24, 25, 1000, 0} {
			require.Equal(t, want, s.list(t, engine.ListQuery{Limit: limit}), "limit %d", limit)
		}
	}},
	{"summaries are listed whole", func(t *testing.T, s *subject) {
		summary := fullSummary("r")
		require.NoError(t, s.Runs.Create(t.Context(), summary, startItem(1)))
		page, _, err := s.Directory.List(t.Context(), engine.ListQuery{})
		require.NoError(t, err)
		require.Len(t, page, 1)
		sameSummary(t, summary, page[0])
	}},
	{"filters, alone and together", func(t *testing.T, s *subject) {
		all := s.population(t)
		blue := history.Attributes{"color": history.Payload(`"blue"`)}
		for name, c := range map[string]struct {
			query engine.ListQuery
			match func(i int) bool
		}{
			"status":     {engine.ListQuery{Status: history.Completed}, func(i int) bool { return i%3 == 0 }},
			"open":       {engine.ListQuery{Status: history.Running}, func(i int) bool { return i%3 != 0 }},
			"no such":    {engine.ListQuery{Status: history.Cancelled}, func(int) bool { return false }},
			"workflow":   {engine.ListQuery{Workflow: "w1"}, func(i int) bool { return i%2 == 1 }},
			"blocked":    {engine.ListQuery{Blocked: true}, func(i int) bool { return i%5 == 0 }},
			"attribute":  {engine.ListQuery{Attributes: blue}, func(i int) bool { return i%4 == 0 }},
			"another":    {engine.ListQuery{Attributes: history.Attributes{"color": history.Payload(`"red"`)}}, func(int) bool { return false }},
			"attributes": {engine.ListQuery{Attributes: history.Attributes{"color": history.Payload(`"blue"`), "n": history.Payload(`8`)}}, func(i int) bool { return i == 8 }},
			"together":   {engine.ListQuery{Status: history.Completed, Workflow: "w0", Blocked: true, Attributes: blue}, func(i int) bool { return i%60 == 0 }},
			"two":        {engine.ListQuery{Status: history.Running, Workflow: "w1"}, func(i int) bool { return i%3 != 0 && i%2 == 1 }},
		} {
			var want []string
			for _, id := range all {
				var i int
				_, err := fmt.Sscanf(id, "r%d", &i)
				require.NoError(t, err)
				if c.match(i) {
					want = append(want, id)
				}
			}
			for _, limit := range []int{1, 4, 0} {
				c.query.Limit = limit
				require.Equal(t, want, s.list(t, c.query), "%s, limit %d", name, limit)
			}
		}
	}},
	{"runs that start between two pages do not disturb", func(t *testing.T, s *subject) {
		want := s.population(t)
		var got []string
		query := engine.ListQuery{Limit: 4}
		for i := 0; ; i++ {
			page, next, err := s.Directory.List(t.Context(), query)
			require.NoError(t, err)
			for _, summary := range page {
				got = append(got, summary.Run)
			}
			if next == "" {
				break
			}
			late := newSummary(fmt.Sprint("late", i))
			late.Started = epoch.AddDate(1, 0, i)
			require.NoError(t, s.Runs.Create(t.Context(), late, startItem(1)))
			query.Cursor = next
		}
		require.Equal(t, want, got)
	}},
	{"what changes is found under what it is now", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		require.Equal(t, []string{"r"}, s.list(t, engine.ListQuery{Status: history.Running}))
		ended := s.end(t, summary, 1)
		require.Empty(t, s.list(t, engine.ListQuery{Status: history.Running}))
		require.Equal(t, []string{"r"}, s.list(t, engine.ListQuery{Status: history.Completed}))
		commit := next(ended, 0)
		commit.Summary.Workflow, commit.Summary.Started = "other", epoch.Add(time.Hour)
		require.NoError(t, s.Runs.Put(t.Context(), commit))
		require.Equal(t, []string{"r"}, s.list(t, engine.ListQuery{Status: history.Running, Workflow: "other"}))
		require.Empty(t, s.list(t, engine.ListQuery{Status: history.Completed}))
		require.Empty(t, s.list(t, engine.ListQuery{Workflow: "order"}))
	}},
	{"a cursor of somewhere else is an error", func(t *testing.T, s *subject) {
		s.create(t, "r")
		_, _, err := s.Directory.List(t.Context(), engine.ListQuery{Cursor: "nonsense"})
		require.Equal(t, engine.Invalid, engine.CodeOf(err))
	}},
}

var unfinishedCases = []namedCase{
	{"open runs, and closed ones with items", func(t *testing.T, s *subject) {
		require.Empty(t, s.unfinished(t))
		for _, id := range []string{"open", "tidied", "closed", "closed+start", "closed+mail", "closed+fired"} {
			summary := s.create(t, id)
			if id == "open" {
				continue
			}
			if id != "closed+start" {
				require.NoError(t, s.Runs.Delete(t.Context(), id, []string{"start#1"}))
			}
			if id != "tidied" {
				s.end(t, summary, 1)
			}
		}
		s.file(t, "closed+mail", mail("a"))
		s.file(t, "closed+fired", fired(1, 1))
		require.Equal(t, []string{"closed+fired", "closed+mail", "closed+start", "open", "tidied"}, s.unfinished(t))
		require.NoError(t, s.Runs.Delete(t.Context(), "closed+fired", []string{fired(1, 1).Key}))
		require.NoError(t, s.Runs.Delete(t.Context(), "closed+mail", []string{"mail#a"}))
		require.Equal(t, []string{"closed+start", "open", "tidied"}, s.unfinished(t))
	}},
	{"each once, however many", func(t *testing.T, s *subject) {
		var want []string
		for i := range 120 {
			id := fmt.Sprintf("r%03d", i)
			if summary := s.create(t, id); i%4 == 0 {
				s.end(t, summary, 1)
				s.file(t, id, fired(1, 1))
			}
			want = append(want, id)
		}
		require.Equal(t, want, s.unfinished(t))
	}},
}

// population creates 25 runs, and gives their ids, the latest start first.
func (s *subject) population(t *testing.T) (ids []string) {
	t.Helper()
	for i := range 25 {
		summary := newSummary(fmt.Sprint("r", i))
		summary.Workflow = fmt.Sprint("w", i%2)
		summary.Started = epoch.Add(time.Duration(i*7%25) * time.Nanosecond) // not in order of creation
		if i%4 == 0 {
			summary.Attributes = history.Attributes{"color": history.Payload(`"blue"`), "n": history.Payload(fmt.Sprint(i))}
		}
		require.NoError(t, s.Runs.Create(t.Context(), summary, startItem(1)))
		if i%3 == 0 {
			s.end(t, summary, 1)
		}
		if i%5 == 0 {
			require.NoError(t, s.Runs.Block(t.Context(), summary.Run, &engine.Block{Reason: engine.ReasonStuck}))
		}
		ids = append(ids, summary.Run)
	}
	slices.SortFunc(ids, func(a, b string) int {
		var i, j int
		_, _ = fmt.Sscanf(a+" "+b, "r%d r%d", &i, &j)
		return j*7%25 - i*7%25
	})
	return ids
}

// list gives the ids of all pages.
func (s *subject) list(t *testing.T, query engine.ListQuery) (ids []string) {
	t.Helper()
	for {
		page, next, err := s.Directory.List(t.Context(), query)
		require.NoError(t, err)
		if query.Limit > 0 {
			require.LessOrEqual(t, len(page), query.Limit)
		}
		for _, summary := range page {
			ids = append(ids, summary.Run)
		}
		if next == "" {
			return ids
		}
		query.Cursor = next
	}
}

// unfinished gives the ids of all pages, sorted.
func (s *subject) unfinished(t *testing.T) (ids []string) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := s.Directory.Unfinished(t.Context(), cursor)
		require.NoError(t, err)
		ids = append(ids, page...)
		if next == "" {
			slices.Sort(ids)
			return ids
		}
		cursor = next
	}
}
