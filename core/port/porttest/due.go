package porttest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

var dueCases = []namedCase{
	{"the earliest first, by bucket", func(s *subject) {
		minute := epoch.Truncate(time.Minute)
		offsets := []time.Duration{-time.Minute, -1, 0, 1, 59 * time.Second, time.Minute, time.Hour}
		for _, i := range []int{3, 6, 1, 5, 0, 2, 4} {
			s.appoint(minute.Add(offsets[i]), "r", int64(i))
		}
		for before, want := range map[time.Duration][]int64{
			-time.Hour: nil, -1: {0, 1}, 0: {0, 1}, 1: {0, 1, 2, 3, 4}, 30 * time.Second: {0, 1, 2, 3, 4}, time.Minute: {0, 1, 2, 3, 4},
			time.Minute + 1: {0, 1, 2, 3, 4, 5}, 2 * time.Hour: {0, 1, 2, 3, 4, 5, 6},
		} {
			require.Equal(s.t, want, s.due(minute.Add(before)), "before %s", before)
		}
	}},
	{"timers come back whole, and once", func(s *subject) {
		at := epoch.In(time.FixedZone("east", 7200))
		for range 2 {
			s.appoint(at, "größe", 1<<40)
		}
		timers, err := s.Due.DueBefore(s.t.Context(), epoch.AddDate(0, 0, 1))
		require.NoError(s.t, err)
		require.Len(s.t, timers, 1)
		require.True(s.t, at.Equal(timers[0].At))
		timers[0].At = at
		require.Equal(s.t, port.DueTimer{At: at, Run: "größe", Generation: 1, Seq: 1 << 40},
			timers[0])
	}},
	{"deleted ones are gone, others stay", func(s *subject) {
		for seq := range int64(4) {
			s.appoint(epoch, "r", seq)
		}
		timers, err := s.Due.DueBefore(s.t.Context(), epoch.Add(time.Hour))
		require.NoError(s.t, err)
		for range 2 {
			require.NoError(s.t, s.Due.DeleteDue(s.t.Context(), timers[1:3]))
			require.Equal(s.t, []int64{0, 3}, s.due(epoch.Add(time.Hour)))
		}
		require.NoError(s.t, s.Due.DeleteDue(s.t.Context(), nil))
		s.appoint(epoch, "r", 1)
		require.Equal(s.t, []int64{0, 1, 3}, s.due(epoch.Add(time.Hour)))
	}},
	{"far past, far future", func(s *subject) {
		s.appoint(time.Date(2600, 1, 1, 0, 0, 0, 0, time.UTC), "r", 2)
		s.appoint(time.Date(1960, 1, 1, 0, 0, 30, 5, time.UTC), "r", 1)
		require.Equal(s.t, []int64{1}, s.due(epoch))
		require.Equal(s.t, []int64{1}, s.due(time.Date(1960, 1, 1, 0, 0, 0, 1, time.UTC)))
		require.Empty(s.t, s.due(time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)))
		require.Equal(s.t, []int64{1, 2}, s.due(time.Date(2601, 1, 1, 0, 0, 0, 0, time.UTC)))
	}},
	{"many come in pages, which empty as they are deleted", func(s *subject) {
		const many = 1200
		for i := range many {
			require.NoError(s.t,
				s.Due.PutDue(s.t.Context(),
					port.DueTimer{At: epoch.Add(time.Duration(i) * time.Second),
						Run: fmt.Sprint("r", i%7), Generation: 1, Seq: int64(i)}))
		}
		seen := 0
		for {
			timers, err := s.Due.DueBefore(s.t.Context(), epoch.AddDate(1, 0, 0))
			require.NoError(s.t, err)
			if len(timers) == 0 {
				break
			}
			for _, timer := range timers {
				require.Equal(s.t, int64(seen), timer.Seq)
				seen++
			}
			require.NoError(s.t, s.Due.DeleteDue(s.t.Context(), timers))
		}
		require.Equal(s.t, many, seen)
	}},
}

func (s *subject) appoint(at time.Time, run string, seq int64) {
	s.t.Helper()
	require.NoError(s.t,
		s.Due.PutDue(s.t.Context(), port.DueTimer{At: at, Run: run, Generation: 1, Seq: seq}))
}

func (s *subject) due(before time.Time) (seqs []int64) {
	s.t.Helper()
	timers, err := s.Due.DueBefore(s.t.Context(), before)
	require.NoError(s.t, err)
	for _, timer := range timers {
		seqs = append(seqs, timer.Seq)
	}
	return seqs
}
