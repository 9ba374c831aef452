package memory_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/memory"
)

func TestTryTakeRefusesWhatDoesNotFit(t *testing.T) {
	b := memory.New(100)
	require.True(t, b.TryTake(60))
	require.False(t, b.TryTake(41))
	require.True(t, b.TryTake(40))
	b.Give(60)
	require.True(t, b.TryTake(60))
	require.EqualValues(t, 100, b.Used())
}

func TestNoBudgetHasNoLimit(t *testing.T) {
	var b *memory.Budget
	require.True(t, b.TryTake(1<<60))
	taken, err := b.Take(t.Context(), 1<<60)
	require.NoError(t, err)
	b.Give(taken)
	b.Add(1)
	b.Evictable()
	b.OnPressure(func() bool { return true })
	require.Zero(t, b.Total()+b.Used())
}

// holder is a cache of things of ten bytes each.
type holder struct {
	*memory.Budget
	things int
}

func (h *holder) evict() bool {
	if h.things == 0 {
		return false
	}
	h.things--
	h.Give(10)
	return true
}

func TestPressureEvictsNoMoreThanIsNeeded(t *testing.T) {
	h := &holder{memory.New(100), 8}
	h.OnPressure(h.evict)
	h.Add(80)
	require.True(t, h.TryTake(50))
	require.Equal(t, 5, h.things)
	h.Add(20) // it is held already
	require.Equal(t, 3, h.things)
	require.EqualValues(t, 100, h.Used())
	require.False(t, h.TryTake(101), "it would not fit an empty budget")
	require.Equal(t, 3, h.things, "so nothing is evicted for it")
}

func TestTakeWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(100)
		require.True(t, b.TryTake(90))
		var order []int64
		for _, bytes := range []int64{50, 10} {
			go func() {
				taken, err := b.Take(t.Context(), bytes)
				require.NoError(t, err)
				order = append(order, taken)
			}()
			synctest.Wait()
		}
		require.Empty(t, order)
		require.False(t, b.TryTake(5), "it would overtake those that wait")
		b.Give(40)
		synctest.Wait()
		require.Equal(t, []int64{50}, order)
		b.Give(50)
		synctest.Wait()
		require.Equal(t, []int64{50, 10}, order)
	})
}

func TestTakeOfMoreThanThereIsCountsAsAll(t *testing.T) {
	taken, err := memory.New(100).Take(t.Context(), 1000)
	require.NoError(t, err)
	require.EqualValues(t, 100, taken)
}

func TestACallerThatGivesUpLetsTheNextOneIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(100)
		require.True(t, b.TryTake(70))
		ctx, cancel := context.WithCancel(t.Context())
		refused := make(chan error, 1)
		go func() {
			_, err := b.Take(ctx, 50)
			refused <- err
		}()
		synctest.Wait()
		granted := false
		go func() {
			_, err := b.Take(t.Context(), 20)
			require.NoError(t, err)
			granted = true
		}()
		synctest.Wait()
		require.False(t, granted)
		cancel()
		synctest.Wait()
		require.ErrorIs(t, <-refused, context.Canceled)
		require.True(t, granted)
		require.EqualValues(t, 90, b.Used())
	})
}

// What becomes idle can be evicted for those that wait already.
func TestEvictableHelpsThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &holder{memory.New(100), 0}
		h.OnPressure(h.evict)
		h.Add(100)
		granted := false
		go func() {
			_, err := h.Take(t.Context(), 30)
			require.NoError(t, err)
			granted = true
		}()
		synctest.Wait()
		require.False(t, granted)
		h.things = 10
		h.Evictable()
		synctest.Wait()
		require.True(t, granted)
		require.Equal(t, 7, h.things)
	})
}

// TestSmallClaimsOvertakeLargeOnes: large claims that wait for each other do not stop small ones,
// which have a reserve. But a large one waits behind a bounded number of them.
func TestSmallClaimsOvertakeLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 1600
		b := memory.New(total)
		require.True(t, b.TryTake(total))
		granted := false
		go func() {
			_, err := b.Take(t.Context(), total/2)
			require.NoError(t, err)
			granted = true
		}()
		synctest.Wait()
		const small = total / 256
		for range total / 16 / small { // what the reserve holds
			taken, err := b.Take(t.Context(), small)
			require.NoError(t, err)
			require.EqualValues(t, small, taken)
		}
		require.False(t, b.TryTake(small), "the reserve is used up")
		require.False(t, b.TryTake(small+1), "a larger claim waits in its place")
		b.Give(total/2 + 100)
		synctest.Wait()
		require.True(t, granted)

		go func() {
			_, err := b.Take(t.Context(), total/2)
			require.NoError(t, err)
		}()
		synctest.Wait()
		overtaken := 0
		for b.TryTake(1) {
			b.Give(1)
			overtaken++
		}
		require.Equal(t, 1000, overtaken)
		b.Give(total)
		synctest.Wait()
	})
}
