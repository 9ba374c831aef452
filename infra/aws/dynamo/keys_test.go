package dynamo

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

func TestKeysSortAsTheyAreRead(t *testing.T) {
	keys := []string{
		logKey(1, 1), logKey(1, 2), logKey(1, 10), logKey(2, 1), logKey(10, 1), logKey(longestNumber, longestNumber),
		itemKey(""), itemKey("fired#1#3"), itemKey("start#1"), itemKey("\U0010ffff"), summaryKey, taskKey(port.TaskKey{Generation: 1, Seq: 1}),
	}
	require.True(t, slices.IsSorted(keys), "%q", keys)
	require.Less(t, logPrefix, keys[0])
	for _, c := range [][2]int{{1, 1}, {12, 345678}, {longestNumber, longestNumber}} {
		generation, number, err := placeOf(logKey(c[0], c[1]))
		require.NoError(t, err)
		require.Equal(t, c, [2]int{generation, number})
	}
	_, _, err := placeOf("log#x")
	require.ErrorIs(t, err, history.ErrUnreadable)
}

func TestTimesSortAsText(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("east", 7200))
	times := []time.Time{{}, time.Date(1960, 1, 1, 0, 0, 0, 5, time.UTC), at, at.Add(1), at.Add(time.Second), at.AddDate(500, 0, 0)}
	for i, time := range times[1:] {
		require.Less(t, startedKey(times[i], "z"), startedKey(time, "a"))
		require.LessOrEqual(t, minuteOf(times[i]), minuteOf(time))
	}
}

func TestTimersAreTheirKeys(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 30, 123456789, time.UTC)
	for _, run := range []string{"r", "größe", "a#b", "1#2#3", "#", ""} {
		for _, seq := range []int64{0, 7, 1 << 40, math.MaxInt64} {
			want := port.DueTimer{At: at, Run: run, Generation: 12, Seq: seq}
			got, err := timerOf(dueKey(want))
			require.NoError(t, err)
			require.Equal(t, want, got)
			begin, err := beginOf(bucketOf(want))
			require.NoError(t, err)
			require.Equal(t, at.Truncate(time.Minute), begin)
		}
	}
	for _, key := range []string{"", "x", "2026-03-01T12:00:30.123456789Z#r#1", "today#r#1#2", "2026-03-01T12:00:30.123456789Z#r#one#2", "2026-03-01T12:00:30.123456789Z#r#1#two"} {
		_, err := timerOf(key)
		require.ErrorIs(t, err, history.ErrUnreadable, key)
	}
	_, err := beginOf("noon#1")
	require.ErrorIs(t, err, history.ErrUnreadable)
}

// TestShardsAreStored: what is in the tables of others was put by this function.
func TestShardsAreStored(t *testing.T) {
	require.Equal(t, []string{"5", "5", "5", "2"}, []string{shardOf("", 8), shardOf("r", 8), shardOf("order-4711", 8), shardOf("größe", 8)})
}

func TestCursors(t *testing.T) {
	key := startedKey(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), "größe#1")
	got, err := parseCursor(cursorOf(key))
	require.NoError(t, err)
	require.Equal(t, key, got)
	want := scanned{"run#r", "new#a", "r"}
	at, err := parseScanned(want.String())
	require.NoError(t, err)
	require.Equal(t, want, at)
	for _, cursor := range []string{"nonsense", "%", cursorOf("{}"), cursorOf("2026#r"), cursorOf(`{"pk":"x"}`)} {
		_, err := parseCursor(cursor)
		require.Equal(t, port.Invalid, port.CodeOf(err), cursor)
		_, err = parseScanned(cursor)
		require.Equal(t, port.Invalid, port.CodeOf(err), cursor)
	}
}
