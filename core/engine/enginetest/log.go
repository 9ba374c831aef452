package enginetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

var logCases = []namedCase{
	{"records come back whole, in order", func(t *testing.T, s *subject) {
		s.create(t, "r")
		s.put(t, "r", 1, upTo(12)...)
		for _, records := range [][]*history.Record{s.look(t, "r", engine.Position{}).Records, s.log(t, "r", 1, 0)} {
			require.Equal(t, upTo(12), numbers(records))
			for _, rec := range records {
				sameRecord(t, record(rec.Number), rec)
			}
		}
	}},
	{"a look gives what comes after the known record", func(t *testing.T, s *subject) {
		s.create(t, "r")
		s.put(t, "r", 1, 1, 2, 3)
		require.Equal(t, []int{3}, numbers(s.look(t, "r", engine.Position{Generation: 1, Record: 2}).Records))
		require.Empty(t, s.look(t, "r", engine.Position{Generation: 1, Record: 3}).Records)
		require.Equal(t, upTo(3), numbers(s.look(t, "r", engine.Position{Generation: 2, Record: 3}).Records), "of another generation it is no news")
		s.put(t, "r", 1, 4)
		view := s.look(t, "r", engine.Position{Generation: 1, Record: 3})
		require.Equal(t, []int{4}, numbers(view.Records))
		require.False(t, view.More)
	}},
	{"a place that is taken stays taken", func(t *testing.T, s *subject) {
		s.create(t, "r")
		s.put(t, "r", 1, 1)
		for range 2 {
			err := s.Runs.Put(t.Context(), &engine.Commit{Run: "r", Generation: 1, Record: recordOf(1, history.Payload(`"other"`))})
			require.ErrorIs(t, err, engine.ErrTaken)
		}
		sameRecord(t, record(1), s.log(t, "r", 1, 0)[0])
	}},
	{"a taken place leaves summary and inbox as they are", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		s.put(t, "r", 1, 1)
		require.ErrorIs(t, s.Runs.Put(t.Context(), next(summary, 1)), engine.ErrTaken)
		view := s.look(t, "r", engine.Position{})
		sameSummary(t, summary, view.Summary)
		require.Equal(t, []string{"start#1"}, keys(view.Inbox))
	}},
	{"a summary of another generation leaves the log as it is", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		s.put(t, "r", 1, 1)
		require.NoError(t, s.Runs.Put(t.Context(), next(summary, 2)))
		require.ErrorIs(t, s.Runs.Put(t.Context(), next(summary, 3)), engine.ErrTaken)
		require.ErrorIs(t, s.Runs.Put(t.Context(), next(summary, 0)), engine.ErrTaken)
		require.Equal(t, upTo(2), numbers(s.log(t, "r", 1, 0)))
		view := s.look(t, "r", engine.Position{})
		require.Equal(t, 2, view.Summary.Generation)
		require.Empty(t, view.Records)
		require.Equal(t, []string{"start#1", "start#2"}, keys(view.Inbox))
	}},
	{"logs of earlier generations stay readable", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		for generation := 1; generation <= 4; generation++ {
			s.put(t, "r", generation, upTo(generation)...)
			commit := next(summary, generation+1)
			require.NoError(t, s.Runs.Put(t.Context(), commit))
			summary = commit.Summary
		}
		s.put(t, "r", 5, 1)
		for generation := 1; generation <= 4; generation++ {
			require.Equal(t, upTo(generation+1), numbers(s.log(t, "r", generation, 0)))
			require.Equal(t, []int{generation + 1}, numbers(s.log(t, "r", generation, generation)))
		}
		require.Equal(t, []int{1}, numbers(s.look(t, "r", engine.Position{Generation: 4, Record: 1}).Records))
		require.Empty(t, s.log(t, "r", 6, 0))
	}},
	{"an earlier generation's places are still taken", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		s.put(t, "r", 1, 1)
		require.NoError(t, s.Runs.Put(t.Context(), next(summary, 2)))
		for n := range 2 {
			require.ErrorIs(t, s.Runs.Put(t.Context(), &engine.Commit{Run: "r", Generation: 1, Record: record(n + 1)}), engine.ErrTaken)
		}
		s.put(t, "r", 2, 1, 2)
	}},
	{"a closed run goes on in a new generation without a record", func(t *testing.T, s *subject) {
		ended := s.end(t, s.create(t, "r"), 1)
		require.NoError(t, s.Runs.Put(t.Context(), next(ended, 0)))
		view := s.look(t, "r", engine.Position{Generation: 1, Record: 1})
		require.Equal(t, 2, view.Summary.Generation)
		require.Equal(t, history.Running, view.Summary.Status)
		require.Empty(t, view.Records)
		require.ErrorIs(t, s.Runs.Put(t.Context(), next(ended, 0)), engine.ErrTaken, "only one of two callers begins it")
	}},
	{"logs of other runs are theirs", func(t *testing.T, s *subject) {
		for i := range 20 {
			s.create(t, fmt.Sprint("r", i))
			s.put(t, fmt.Sprint("r", i), 1, upTo(i)...)
		}
		for i := range 20 {
			require.Equal(t, upTo(i), numbers(s.log(t, fmt.Sprint("r", i), 1, 0)))
		}
	}},
	{"a long log comes in pages", func(t *testing.T, s *subject) {
		s.create(t, "r")
		const length, size = 20, 300 << 10
		for n := range length {
			require.NoError(t, s.Runs.Put(t.Context(), &engine.Commit{Run: "r", Generation: 1, Record: recordOf(n+1, big(size))}))
		}
		view := s.look(t, "r", engine.Position{})
		require.True(t, view.More, "6 MB do not come at once")
		require.NotEmpty(t, view.Records)
		rest := s.log(t, "r", 1, len(view.Records))
		require.Equal(t, upTo(length), append(numbers(view.Records), numbers(rest)...))
		require.Equal(t, upTo(length), numbers(s.log(t, "r", 1, 0)))
		require.False(t, s.look(t, "r", engine.Position{Generation: 1, Record: length - 1}).More)
	}},
	{"payloads of 5 MB", func(t *testing.T, s *subject) {
		const size = 5 << 20
		summary := newSummary("r")
		summary.Input = big(size)
		require.NoError(t, s.Runs.Create(t.Context(), summary, startItem(1)))
		item := mail("big")
		item.Event = history.NewSignal("big", "approve", big(size))
		s.file(t, "r", item)
		for n := range 3 {
			require.NoError(t, s.Runs.Put(t.Context(), &engine.Commit{Run: "r", Generation: 1, Record: recordOf(n+1, big(size))}))
		}
		view := s.look(t, "r", engine.Position{})
		require.Len(t, view.Summary.Input, size)
		for _, item := range view.Inbox {
			if signal, ok := item.Event.(*history.SignalReceived); ok {
				require.Len(t, signal.Input, size)
			}
		}
		records := s.log(t, "r", 1, 0)
		require.Equal(t, upTo(3), numbers(records))
		for _, rec := range records {
			require.Len(t, rec.Commands[0].(*history.ScheduleActivity).Input, size)
		}
	}},
}

var summaryCases = []namedCase{
	{"a record without a summary leaves it as it is", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		s.put(t, "r", 1, 1)
		got, err := s.Runs.Summary(t.Context(), "r")
		require.NoError(t, err)
		sameSummary(t, summary, got)
	}},
	{"a summary replaces the one before, all of it", func(t *testing.T, s *subject) {
		full := fullSummary("r")
		full.Status = history.Running
		require.NoError(t, s.Runs.Create(t.Context(), full, startItem(1)))
		for i, summary := range []*engine.Summary{newSummary("r"), full, newSummary("r")} {
			require.NoError(t, s.Runs.Put(t.Context(), &engine.Commit{Run: "r", Generation: 1, Record: record(i + 1), Summary: summary}))
			got, err := s.Runs.Summary(t.Context(), "r")
			require.NoError(t, err)
			sameSummary(t, summary, got)
		}
	}},
	{"a mark is put on, replaced, and taken off", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		for _, block := range []*engine.Block{
			{Since: epoch, Reason: engine.ReasonStuck, Message: "m", Version: "v1"}, {Since: epoch, Reason: engine.ReasonUnreadable}, nil, nil,
		} {
			require.NoError(t, s.Runs.Block(t.Context(), "r", block))
			summary.Blocked = block
			got, err := s.Runs.Summary(t.Context(), "r")
			require.NoError(t, err)
			sameSummary(t, summary, got)
		}
	}},
	{"a mark stays when a record without a summary is put", func(t *testing.T, s *subject) {
		s.create(t, "r")
		require.NoError(t, s.Runs.Block(t.Context(), "r", &engine.Block{Reason: engine.ReasonStuck}))
		s.put(t, "r", 1, 1)
		require.NotNil(t, s.look(t, "r", engine.Position{}).Summary.Blocked)
	}},
	{"a summary replaces the mark, too", func(t *testing.T, s *subject) {
		summary := s.create(t, "r")
		require.NoError(t, s.Runs.Block(t.Context(), "r", &engine.Block{Reason: engine.ReasonStuck}))
		s.end(t, summary, 1)
		require.Nil(t, s.look(t, "r", engine.Position{}).Summary.Blocked)
		page, _, err := s.Directory.List(t.Context(), engine.ListQuery{Blocked: true})
		require.NoError(t, err)
		require.Empty(t, page)
	}},
	{"marking changes nothing else", func(t *testing.T, s *subject) {
		ended := s.end(t, s.create(t, "r"), 1)
		ended.Blocked = &engine.Block{Since: epoch, Reason: engine.ReasonUndeliverable}
		require.NoError(t, s.Runs.Block(t.Context(), "r", ended.Blocked))
		view := s.look(t, "r", engine.Position{})
		sameSummary(t, ended, view.Summary)
		require.Equal(t, []string{"start#1"}, keys(view.Inbox))
		require.Equal(t, []int{1}, numbers(view.Records))
	}},
}
