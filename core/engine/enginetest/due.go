package enginetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
)

var dueCases = []namedCase{
	{"the earliest first, by bucket", func(t *testing.T, s *subject) {
		minute := epoch.Truncate(time.Minute)
		offsets := []time.Duration{-time.Minute, -1, 0, 1, 59 * time.Second, time.Minute, time.Hour}
		for _, i := range []int{3, 6, 1, 5, 0, 2, 4} {
			s.appoint(t, minute.Add(offsets[i]), "r", int64(i))
		}
		for before, want := range map[time.Duration][]int64{
			-time.Hour: nil, -1: {0, 1}, 0: {0, 1}, 1: {0, 1, 2, 3, 4}, 30 * time.Second: {0, 1, 2, 3, 4}, time.Minute: {0, 1, 2, 3, 4},
			time.Minute + 1: {0, 1, 2, 3, 4, 5}, 2 * time.Hour: {0, 1, 2, 3, 4, 5, 6},
		} {
			require.Equal(t, want, s.due(t, minute.Add(before)), "before %s", before)
		}
	}},
	{"timers come back whole, and once", func(t *testing.T, s *subject) {
		at := epoch.In(time.FixedZone("east", 7200))
		for range 2 {
			s.appoint(t, at, "größe", 1<<40)
		}
		timers, err := s.Due.DueBefore(t.Context(), epoch.AddDate(0, 0, 1))
		require.NoError(t, err)
		require.Len(t, timers, 1)
		require.True(t, at.Equal(timers[0].At))
		timers[0].At = at
		require.Equal(t, engine.DueTimer{At: at, Run: "größe", Generation: 1, Seq: 1 << 40}, timers[0])
	}},
	{"deleted ones are gone, others stay", func(t *testing.T, s *subject) {
		for seq := range int64(4) {
			s.appoint(t, epoch, "r", seq)
		}
		timers, err := s.Due.DueBefore(t.Context(), epoch.Add(time.Hour))
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, s.Due.DeleteDue(t.Context(), timers[1:3]))
			require.Equal(t, []int64{0, 3}, s.due(t, epoch.Add(time.Hour)))
		}
		require.NoError(t, s.Due.DeleteDue(t.Context(), nil))
		s.appoint(t, epoch, "r", 1)
		require.Equal(t, []int64{0, 1, 3}, s.due(t, epoch.Add(time.Hour)))
	}},
	{"far past, far future", func(t *testing.T, s *subject) {
		s.appoint(t, time.Date(2600, 1, 1, 0, 0, 0, 0, time.UTC), "r", 2)
		s.appoint(t, time.Date(1960, 1, 1, 0, 0, 30, 5, time.UTC), "r", 1)
		require.Equal(t, []int64{1}, s.due(t, epoch))
		require.Equal(t, []int64{1}, s.due(t, time.Date(1960, 1, 1, 0, 0, 0, 1, time.UTC)))
		require.Empty(t, s.due(t, time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)))
		require.Equal(t, []int64{1, 2}, s.due(t, time.Date(2601, 1, 1, 0, 0, 0, 0, time.UTC)))
	}},
	{"many come in pages, which empty as they are deleted", func(t *testing.T, s *subject) {
		const many = 1200
		for i := range many {
			require.NoError(t, s.Due.PutDue(t.Context(), engine.DueTimer{At: epoch.Add(time.Duration(i) * time.Second), Run: fmt.Sprint("r", i%7), Generation: 1, Seq: int64(i)}))
		}
		seen := 0
		for {
			timers, err := s.Due.DueBefore(t.Context(), epoch.AddDate(1, 0, 0))
			require.NoError(t, err)
			if len(timers) == 0 {
				break
			}
			for _, timer := range timers {
				require.Equal(t, int64(seen), timer.Seq)
				seen++
			}
			require.NoError(t, s.Due.DeleteDue(t.Context(), timers))
		}
		require.Equal(t, many, seen)
	}},
}

func (s *subject) appoint(t *testing.T, at time.Time, run string, seq int64) {
	t.Helper()
	require.NoError(t, s.Due.PutDue(t.Context(), engine.DueTimer{At: at, Run: run, Generation: 1, Seq: seq}))
}

func (s *subject) due(t *testing.T, before time.Time) (seqs []int64) {
	t.Helper()
	timers, err := s.Due.DueBefore(t.Context(), before)
	require.NoError(t, err)
	for _, timer := range timers {
		seqs = append(seqs, timer.Seq)
	}
	return seqs
}
