package porttest

import (
	"fmt"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

var logCases = []namedCase{
	{"records come back whole, in order", func(s *subject) {
		s.create("r")
		s.put("r", 1, upTo(12)...)
		for _, records := range [][]*history.Record{s.look("r", port.Position{}).Records,
			s.log("r", 1, 0)} {
			require.Equal(s.t, upTo(12), numbers(records))
			for _, rec := range records {
				sameRecord(s.t, record(rec.Number), rec)
			}
		}
	}},
	{"a look gives what comes after the known record", func(s *subject) {
		s.create("r")
		s.put("r", 1, 1, 2, 3)
		require.Equal(s.t, []int{3},
			numbers(s.look("r", port.Position{Generation: 1, Record: 2}).Records))
		require.Empty(s.t, s.look("r", port.Position{Generation: 1, Record: 3}).Records)
		require.Equal(s.t, upTo(3),
			numbers(s.look("r", port.Position{Generation: 2,
				Record: 3}).Records), "of another generation it is no news")
		s.put("r", 1, 4)
		view := s.look("r", port.Position{Generation: 1, Record: 3})
		require.Equal(s.t, []int{4}, numbers(view.Records))
		require.False(s.t, view.More)
	}},
	{"the newest records come with their checkpoints", func(s *subject) {
		summary := s.create("r")
		require.Empty(s.t, s.look("r", port.Newest).Records)
		const count = 2*port.NewestRecords + 10
		for n := 1; n <= count; n++ {
			rec := record(n)
			if n%50 == 0 {
				rec.Checkpoint = checkpointWith(history.Payload(fmt.Sprint(n)))
			}
			require.NoError(s.t,
				s.Runs.Put(s.t.Context(), &port.Commit{Run: "r", Generation: 1, Record: rec}))
		}
		view := s.look("r", port.Newest)
		sameSummary(s.t, summary, view.Summary)
		require.Equal(s.t, []string{"start#1"}, keys(view.Inbox))
		require.True(s.t, view.More)
		all := view.Records
		for before := all[0].Number; ; before = all[0].Number {
			page, err := s.Runs.RecordsBefore(s.t.Context(), "r", 1, before)
			require.NoError(s.t, err)
			if len(page) == 0 {
				break
			}
			require.LessOrEqual(s.t, len(page), port.NewestRecords)
			all = append(page, all...)
		}
		require.Equal(s.t, upTo(count), numbers(all))
		for _, rec := range all {
			want := record(rec.Number)
			if rec.Number%50 == 0 {
				want.Checkpoint = checkpointWith(history.Payload(fmt.Sprint(rec.Number)))
			}
			sameRecord(s.t, want, rec)
		}
		for _, records := range [][]*history.Record{s.look("r", port.Position{}).Records,
			s.log("r", 1, 0)} {
			sameRecord(s.t, record(50), records[49]) // histories and replays have none
			require.NotNil(s.t, records[49].Checkpoint)
			require.Nil(s.t, records[50].Checkpoint)
		}
		last, err := s.Runs.RecordsBefore(s.t.Context(), "r", 1, math.MaxInt)
		require.NoError(s.t, err)
		require.Equal(s.t, count, last[len(last)-1].Number)
	}},
	{"the newest records are those of one generation", func(s *subject) {
		summary := s.create("r")
		s.put("r", 1, 1, 2, 3)
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 4)))
		require.Empty(s.t, s.look("r", port.Newest).Records)
		s.put("r", 2, 1, 2)
		view := s.look("r", port.Newest)
		require.Equal(s.t, 2, view.Summary.Generation)
		require.Equal(s.t, []int{1, 2}, numbers(view.Records))
		require.False(s.t, view.More)
		for generation, want := range map[int][]int{1: {1, 2}, 2: {1, 2}, 3: {}} {
			records, err := s.Runs.RecordsBefore(s.t.Context(), "r", generation, 3)
			require.NoError(s.t, err)
			require.Equal(s.t, want, numbers(records))
		}
		for _, before := range []int{-1, 0, 1} {
			records, err := s.Runs.RecordsBefore(s.t.Context(), "r", 1, before)
			require.NoError(s.t, err)
			require.Empty(s.t, records)
		}
		records, err := s.Runs.RecordsBefore(s.t.Context(), "nobody", 1, 3)
		require.NoError(s.t, err)
		require.Empty(s.t, records)
	}},
	{"a place that is taken stays taken", func(s *subject) {
		s.create("r")
		s.put("r", 1, 1)
		for range 2 {
			err := s.Runs.Put(s.t.Context(),
				&port.Commit{Run: "r", Generation: 1,
					Record: recordOf(1, history.Payload(`"other"`))})
			require.ErrorIs(s.t, err, port.ErrTaken)
		}
		sameRecord(s.t, record(1), s.log("r", 1, 0)[0])
	}},
	{"a taken place leaves summary and inbox as they are", func(s *subject) {
		summary := s.create("r")
		s.put("r", 1, 1)
		require.ErrorIs(s.t, s.Runs.Put(s.t.Context(), next(summary, 1)), port.ErrTaken)
		view := s.look("r", port.Position{})
		sameSummary(s.t, summary, view.Summary)
		require.Equal(s.t, []string{"start#1"}, keys(view.Inbox))
	}},
	{"a summary of another generation leaves the log as it is", func(s *subject) {
		summary := s.create("r")
		s.put("r", 1, 1)
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 2)))
		require.ErrorIs(s.t, s.Runs.Put(s.t.Context(), next(summary, 3)), port.ErrTaken)
		require.ErrorIs(s.t, s.Runs.Put(s.t.Context(), next(summary, 0)), port.ErrTaken)
		require.Equal(s.t, upTo(2), numbers(s.log("r", 1, 0)))
		view := s.look("r", port.Position{})
		require.Equal(s.t, 2, view.Summary.Generation)
		require.Empty(s.t, view.Records)
		require.Equal(s.t, []string{"start#1", "start#2"}, keys(view.Inbox))
	}},
	{"logs of earlier generations stay readable", func(s *subject) {
		summary := s.create("r")
		for generation := 1; generation <= 4; generation++ {
			s.put("r", generation, upTo(generation)...)
			commit := next(summary, generation+1)
			require.NoError(s.t, s.Runs.Put(s.t.Context(), commit))
			summary = commit.Summary
		}
		s.put("r", 5, 1)
		for generation := 1; generation <= 4; generation++ {
			require.Equal(s.t, upTo(generation+1), numbers(s.log("r", generation, 0)))
			require.Equal(s.t, []int{generation + 1}, numbers(s.log("r", generation, generation)))
		}
		require.Equal(s.t, []int{1},
			numbers(s.look("r", port.Position{Generation: 4, Record: 1}).Records))
		require.Empty(s.t, s.log("r", 6, 0))
	}},
	{"logs of earlier generations are deleted one by one", func(s *subject) {
		s.create("other")
		s.put("other", 1, 1)
		summary := s.create("r")
		for generation := 1; generation <= 4; generation++ {
			s.put("r", generation, upTo(generation*15)...)
			commit := next(summary, generation*15+1)
			require.NoError(s.t, s.Runs.Put(s.t.Context(), commit))
			summary = commit.Summary
		}
		s.put("r", 5, 1)
		for _, gone := range []int{3, 2, 2} {
			require.NoError(s.t, s.Runs.DeleteLog(s.t.Context(), "r", gone))
		}
		require.NoError(s.t, s.Runs.DeleteLog(s.t.Context(), "nobody", 1))
		for generation, left := range map[int][]int{1: upTo(16), 2: upTo(0), 3: upTo(0), 4: upTo(61), 5: upTo(1)} {
			require.Equal(s.t, left, numbers(s.log("r", generation, 0)))
		}
		require.Equal(s.t, upTo(1), numbers(s.log("other", 1, 0)))
		view := s.look("r", port.Position{})
		sameSummary(s.t, summary, view.Summary)
		require.Equal(s.t, upTo(1), numbers(view.Records))
		s.put("r", 5, 2)
	}},
	{"an earlier generation's places are still taken", func(s *subject) {
		summary := s.create("r")
		s.put("r", 1, 1)
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 2)))
		for n := range 2 {
			require.ErrorIs(s.t,
				s.Runs.Put(s.t.Context(),
					&port.Commit{Run: "r", Generation: 1, Record: record(n + 1)}), port.ErrTaken)
		}
		s.put("r", 2, 1, 2)
	}},
	{"a closed run goes on in a new generation without a record", func(s *subject) {
		ended := s.end(s.create("r"))
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(ended, 0)))
		view := s.look("r", port.Position{Generation: 1, Record: 1})
		require.Equal(s.t, 2, view.Summary.Generation)
		require.Equal(s.t, history.Running, view.Summary.Status)
		require.Empty(s.t, view.Records)
		require.ErrorIs(s.t, s.Runs.Put(s.t.Context(), next(ended, 0)), port.ErrTaken,
			"only one of two callers begins it")
	}},
	{"logs of other runs are theirs", func(s *subject) {
		for i := range 20 {
			s.create(fmt.Sprint("r", i))
			s.put(fmt.Sprint("r", i), 1, upTo(i)...)
		}
		for i := range 20 {
			require.Equal(s.t, upTo(i), numbers(s.log(fmt.Sprint("r", i), 1, 0)))
		}
	}},
	{"a long log comes in pages", func(s *subject) {
		s.create("r")
		const length, size = 20, 300 << 10
		for n := range length {
			require.NoError(s.t,
				s.Runs.Put(s.t.Context(),
					&port.Commit{Run: "r", Generation: 1, Record: recordOf(n+1, big(size))}))
		}
		view := s.look("r", port.Position{})
		require.True(s.t, view.More, "6 MB do not come at once")
		require.NotEmpty(s.t, view.Records)
		rest := s.log("r", 1, len(view.Records))
		require.Equal(s.t, upTo(length), append(numbers(view.Records), numbers(rest)...))
		require.Equal(s.t, upTo(length), numbers(s.log("r", 1, 0)))
		require.False(s.t, s.look("r", port.Position{Generation: 1, Record: length - 1}).More)
	}},
	{"payloads of 5 MB", func(s *subject) {
		const size = 5 << 20
		summary := newSummary("r")
		summary.Input = big(size)
		require.NoError(s.t, s.Runs.Create(s.t.Context(), summary, startItem(1)))
		item := mail("big")
		item.Event = history.NewSignal("big", "approve", big(size))
		s.file("r", item)
		for n := range 3 {
			require.NoError(s.t,
				s.Runs.Put(s.t.Context(),
					&port.Commit{Run: "r", Generation: 1, Record: recordOf(n+1, big(size))}))
		}
		view := s.look("r", port.Position{})
		require.Len(s.t, view.Summary.Input, size)
		for _, item := range view.Inbox {
			if signal, ok := item.Event.(*history.SignalReceived); ok {
				require.Len(s.t, signal.Input, size)
			}
		}
		records := s.log("r", 1, 0)
		require.Equal(s.t, upTo(3), numbers(records))
		for _, rec := range records {
			require.Len(s.t, rec.Commands[0].(*history.ScheduleActivity).Input, size)
		}
	}},
}

var summaryCases = []namedCase{
	{"a record without a summary leaves it as it is", func(s *subject) {
		summary := s.create("r")
		s.put("r", 1, 1)
		got, err := s.Runs.Summary(s.t.Context(), "r")
		require.NoError(s.t, err)
		sameSummary(s.t, summary, got)
	}},
	{"a summary replaces the one before, all of it", func(s *subject) {
		full := fullSummary()
		full.Status = history.Running
		require.NoError(s.t, s.Runs.Create(s.t.Context(), full, startItem(1)))
		for i, summary := range []*port.Summary{newSummary("r"), full, newSummary("r")} {
			require.NoError(s.t,
				s.Runs.Put(s.t.Context(),
					&port.Commit{Run: "r", Generation: 1, Record: record(i + 1), Summary: summary}))
			got, err := s.Runs.Summary(s.t.Context(), "r")
			require.NoError(s.t, err)
			want := *summary
			want.Blocked = full.Blocked // but for the mark
			sameSummary(s.t, &want, got)
		}
	}},
	{"a mark is put on, replaced, and taken off", func(s *subject) {
		summary := s.create("r")
		shows := func(block *port.Block) {
			summary.Blocked = block
			got, err := s.Runs.Summary(s.t.Context(), "r")
			require.NoError(s.t, err)
			sameSummary(s.t, summary, got)
		}
		first := &port.Block{ID: "a", Since: epoch, Reason: port.ReasonStuck, Message: "m",
			Version: "v1"}
		second := &port.Block{ID: "b", Since: epoch, Reason: port.ReasonUnreadable}
		for _, block := range []*port.Block{first, second} {
			require.NoError(s.t, s.Runs.Block(s.t.Context(), "r", block))
			shows(block)
		}
		require.NoError(s.t, s.Runs.Unblock(s.t.Context(), "r", "a"), "it is gone")
		shows(second)
		for range 2 {
			require.NoError(s.t, s.Runs.Unblock(s.t.Context(), "r", "b"))
			shows(nil)
			require.Empty(s.t, s.list(port.ListQuery{Blocked: true}))
		}
		require.NoError(s.t, s.Runs.Unblock(s.t.Context(), "nobody", "b"))
	}},
	{"a mark stays when a record without a summary is put", func(s *subject) {
		s.create("r")
		require.NoError(s.t,
			s.Runs.Block(s.t.Context(), "r", &port.Block{Reason: port.ReasonStuck}))
		s.put("r", 1, 1)
		require.NotNil(s.t, s.look("r", port.Position{}).Summary.Blocked)
	}},
	{"a mark stays when a summary is put that knows nothing of it", func(s *subject) {
		summary := s.create("r")
		require.NoError(s.t,
			s.Runs.Block(s.t.Context(), "r", &port.Block{Reason: port.ReasonStuck}))
		s.end(summary)
		require.NotNil(s.t, s.look("r", port.Position{}).Summary.Blocked)
		require.Len(s.t, s.list(port.ListQuery{Blocked: true}), 1)
	}},
	{"a mark stays when a new generation is begun", func(s *subject) {
		summary := s.create("r")
		require.NoError(s.t,
			s.Runs.Block(s.t.Context(), "r", &port.Block{Reason: port.ReasonStuck}))
		require.NoError(s.t, s.Runs.Put(s.t.Context(), next(summary, 1)))
		require.NotNil(s.t, s.look("r", port.Position{}).Summary.Blocked)
		require.Len(s.t, s.list(port.ListQuery{Blocked: true}), 1)
	}},
	{"marking changes nothing else", func(s *subject) {
		ended := s.end(s.create("r"))
		ended.Blocked = &port.Block{Since: epoch, Reason: port.ReasonUndeliverable}
		require.NoError(s.t, s.Runs.Block(s.t.Context(), "r", ended.Blocked))
		view := s.look("r", port.Position{})
		sameSummary(s.t, ended, view.Summary)
		require.Equal(s.t, []string{"start#1"}, keys(view.Inbox))
		require.Equal(s.t, []int{1}, numbers(view.Records))
	}},
}
