package porttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

var listCases = []namedCase{
	{"nothing is an empty page, and the end", func(s *subject) {
		page, next, err := s.Directory.List(s.t.Context(), port.ListQuery{Limit: 10})
		require.NoError(s.t, err)
		require.Empty(s.t, page)
		require.Empty(s.t, next)
	}},
	{"the latest start comes first, in pages of any size", func(s *subject) {
		want := s.population()
		for _, limit := range []int{1, 2, 7, 24, 25, 1000, 0} {
			require.Equal(s.t, want, s.list(port.ListQuery{Limit: limit}), "limit %d", limit)
		}
	}},
	{"summaries are listed whole", func(s *subject) {
		summary := fullSummary()
		require.NoError(s.t, s.Runs.Create(s.t.Context(), summary, startItem(1)))
		page, _, err := s.Directory.List(s.t.Context(), port.ListQuery{})
		require.NoError(s.t, err)
		require.Len(s.t, page, 1)
		sameSummary(s.t, summary, page[0])
	}},
	{"long values are left out, and their sizes are told", func(s *subject) {
		long := func(bytes int) history.Payload { return history.Payload(`"` + strings.Repeat("x", bytes-2) + `"`) }
		small, large := fullSummary(), fullSummary()
		large.Run, large.Started = "large", small.Started.Add(-time.Second)
		large.Input, large.Result, large.State = long(5_500_000), long(40_000),
			long(port.LongestListed)
		large.Attributes["note"] = long(history.MaxAttribute)
		for _, summary := range []*port.Summary{small, large} {
			start := startItem(1)
			require.NoError(s.t, s.Runs.Create(s.t.Context(), summary, start))
		}
		page, next, err := s.Directory.List(s.t.Context(), port.ListQuery{Limit: 10})
		require.NoError(s.t, err)
		require.Empty(s.t, next)
		require.Len(s.t, page, 2, "a large run takes no place from others")
		sameSummary(s.t, small, page[0])
		got := page[1]
		require.Nil(s.t, got.Input)
		require.Nil(s.t, got.Result)
		require.Equal(s.t, string(large.State), string(got.State))
		require.EqualValues(s.t, 5_500_000, got.Large[port.ValueInput].Bytes)
		require.EqualValues(s.t, 40_000, got.Large[port.ValueResult].Bytes)
		require.EqualValues(s.t, history.MaxAttribute, got.Large[port.LargeAttribute+"note"].Bytes)
		require.Len(s.t, got.Large, 3)
		require.Len(s.t, got.Attributes, len(small.Attributes), "short attributes stay")
		whole, err := s.Runs.Summary(s.t.Context(), "large")
		require.NoError(s.t, err)
		sameSummary(s.t, large, whole)
	}},
	{"filters, alone and together", func(s *subject) {
		all := s.population()
		blue := history.Attributes{"color": history.Payload(`"blue"`)}
		for name, c := range map[string]struct {
			query port.ListQuery
			match func(i int) bool
		}{
			"status": {port.ListQuery{Status: history.Completed}, func(i int) bool {
				return i%3 == 0
			}},
			"open": {port.ListQuery{Status: history.Running}, func(i int) bool {
				return i%3 != 0
			}},
			"no such": {port.ListQuery{Status: history.Cancelled}, func(int) bool {
				return false
			}},
			"workflow": {port.ListQuery{Workflow: "w1"}, func(i int) bool { return i%2 == 1 }},
			"version": {
				port.ListQuery{Workflow: "w0", Definition: 2}, func(i int) bool { return i%6 == 2 },
			},
			"no version": {
				port.ListQuery{Workflow: "w0", Definition: 3}, func(int) bool { return false },
			},
			"blocked":   {port.ListQuery{Blocked: true}, func(i int) bool { return i%5 == 0 }},
			"attribute": {port.ListQuery{Attributes: blue}, func(i int) bool { return i%4 == 0 }},
			"another": {port.ListQuery{Attributes: history.Attributes{"color": history.Payload(`"red"`)}}, func(int) bool {
				return false
			}},
			"attributes": {port.ListQuery{Attributes: history.Attributes{"color": history.Payload(`"blue"`), "n": history.Payload(`8`)}}, func(i int) bool {
				return i == 8
			}},
			"element": {port.ListQuery{Attributes: history.Attributes{"tags": history.Payload(`"b"`)}}, func(i int) bool {
				return i%4 == 0
			}},
			"elements": {port.ListQuery{Attributes: history.Attributes{"tags": history.Payload(`"a"`), "n": history.Payload(`4`)}}, func(i int) bool {
				return i == 4
			}},
			"no element": {port.ListQuery{Attributes: history.Attributes{"tags": history.Payload(`"a b"`)}}, func(int) bool {
				return false
			}},
			"part": {port.ListQuery{Attributes: history.Attributes{"tags": history.Payload(`["a"]`)}}, func(int) bool {
				return false
			}},
			"whole list": {port.ListQuery{Attributes: history.Attributes{"tags": history.Payload(`["a", "b"]`)}}, func(i int) bool {
				return i%4 == 0
			}},
			"together": {port.ListQuery{Status: history.Completed, Workflow: "w0", Blocked: true,
				Attributes: blue}, func(i int) bool {
				return i%60 == 0
			}},
			"two": {port.ListQuery{Status: history.Running, Workflow: "w1"},
				func(i int) bool {
					return i%3 != 0 && i%2 == 1
				}},
		} {
			var want []string
			for _, id := range all {
				var i int
				_, err := fmt.Sscanf(id, "r%d", &i)
				require.NoError(s.t, err)
				if c.match(i) {
					want = append(want, id)
				}
			}
			for _, limit := range []int{1, 4, 0} {
				c.query.Limit = limit
				require.Equal(s.t, want, s.list(c.query), "%s, limit %d", name, limit)
			}
		}
	}},
	{"runs that start between two pages do not disturb", func(s *subject) {
		want := s.population()
		var got []string
		query := port.ListQuery{Limit: 4}
		for i := 0; ; i++ {
			page, next, err := s.Directory.List(s.t.Context(), query)
			require.NoError(s.t, err)
			for _, summary := range page {
				got = append(got, summary.Run)
			}
			if next == "" {
				break
			}
			late := newSummary(fmt.Sprint("late", i))
			late.Started = epoch.AddDate(1, 0, i)
			require.NoError(s.t, s.Runs.Create(s.t.Context(), late, startItem(1)))
			query.Cursor = next
		}
		require.Equal(s.t, want, got)
	}},
	{"what changes is found under what it is now", func(s *subject) {
		summary := s.create("r")
		require.Equal(s.t, []string{"r"}, s.list(port.ListQuery{Status: history.Running}))
		ended := s.end(summary)
		require.Empty(s.t, s.list(port.ListQuery{Status: history.Running}))
		require.Equal(s.t, []string{"r"}, s.list(port.ListQuery{Status: history.Completed}))
		commit := next(ended, 0)
		commit.Summary.Workflow, commit.Summary.Started = "other", epoch.Add(time.Hour)
		require.NoError(s.t, s.Runs.Put(s.t.Context(), commit))
		require.Equal(s.t, []string{"r"},
			s.list(port.ListQuery{Status: history.Running, Workflow: "other"}))
		require.Empty(s.t, s.list(port.ListQuery{Status: history.Completed}))
		require.Empty(s.t, s.list(port.ListQuery{Workflow: "order"}))
	}},
	{"a cursor of somewhere else is an error", func(s *subject) {
		s.create("r")
		_, _, err := s.Directory.List(s.t.Context(), port.ListQuery{Cursor: "nonsense"})
		require.Equal(s.t, port.Invalid, port.CodeOf(err))
	}},
}

var unfinishedCases = []namedCase{
	{"open runs, and closed ones with items", func(s *subject) {
		require.Empty(s.t, s.unfinished())
		for _, id := range []string{"open", "tidied", "closed", "closed+start", "closed+mail", "closed+fired"} {
			summary := s.create(id)
			if id == "open" {
				continue
			}
			if id != "closed+start" {
				require.NoError(s.t, s.Runs.Delete(s.t.Context(), id, []string{"start#1"}))
			}
			if id != "tidied" {
				s.end(summary)
			}
		}
		s.file("closed+mail", mail("a"))
		s.file("closed+fired", fired(1))
		require.Equal(s.t, []string{"closed+fired", "closed+mail", "closed+start", "open", "tidied"}, s.unfinished())
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "closed+fired", []string{fired(1).Key}))
		require.NoError(s.t, s.Runs.Delete(s.t.Context(), "closed+mail", []string{"mail#a#signal#approve"}))
		require.Equal(s.t, []string{"closed+start", "open", "tidied"}, s.unfinished())
	}},
	{"each once, however many", func(s *subject) {
		var want []string
		for i := range 120 {
			id := fmt.Sprintf("r%03d", i)
			if summary := s.create(id); i%4 == 0 {
				s.end(summary)
				s.file(id, fired(1))
			}
			want = append(want, id)
		}
		require.Equal(s.t, want, s.unfinished())
	}},
}

// population creates 25 runs, and gives their ids, the latest start first.
func (s *subject) population() (ids []string) {
	s.t.Helper()
	for i := range 25 {
		summary := newSummary(fmt.Sprint("r", i))
		summary.Workflow, summary.Definition = fmt.Sprint("w", i%2), i%3
		summary.Started = epoch.Add(time.Duration(i*7%25) * time.Nanosecond) // not in order of creation
		if i%4 == 0 {
			summary.Attributes = history.Attributes{"color": history.Payload(`"blue"`), "n": history.Payload(fmt.Sprint(i)), "tags": history.Payload(`["a","b"]`)}
		}
		require.NoError(s.t, s.Runs.Create(s.t.Context(), summary, startItem(1)))
		if i%3 == 0 {
			s.end(summary)
		}
		if i%5 == 0 {
			require.NoError(s.t, s.Runs.Block(s.t.Context(), summary.Run,
				&port.Block{Reason: port.ReasonStuck}))
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
func (s *subject) list(query port.ListQuery) (ids []string) {
	s.t.Helper()
	for {
		page, next, err := s.Directory.List(s.t.Context(), query)
		require.NoError(s.t, err)
		if query.Limit > 0 {
			require.LessOrEqual(s.t, len(page), query.Limit)
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
func (s *subject) unfinished() (ids []string) {
	s.t.Helper()
	for cursor := ""; ; {
		page, next, err := s.Directory.Unfinished(s.t.Context(), cursor)
		require.NoError(s.t, err)
		ids = append(ids, page...)
		if next == "" {
			slices.Sort(ids)
			return ids
		}
		cursor = next
	}
}
