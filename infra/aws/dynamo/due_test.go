//go:build dynamodb

package dynamo_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

func timer(at time.Time, seq int64) port.DueTimer {
	return port.DueTimer{At: at, Run: "r", Generation: 1, Seq: seq}
}

func (s *subject) due(before time.Time) (seqs []int64) {
	s.t.Helper()
	timers, err := s.DueBefore(s.t.Context(), before)
	require.NoError(s.t, err)
	for _, timer := range timers {
		seqs = append(seqs, timer.Seq)
	}
	return seqs
}

// reading is how often the list of buckets is queried when it is read.
var reading = slices.Repeat([]string{"Query"}, 17)

func TestEmptyBucketsLeaveTheList(t *testing.T) {
	w := &wire{Client: client}
	store, _ := open(t, dynamo.Config{Client: w})
	s := &subject{t, store}
	now := began
	store.At(func() time.Time { return now })
	at := began.Add(30 * time.Minute)
	require.NoError(t, s.PutDue(t.Context(), timer(at, 1)))
	require.Equal(t, []int64{1}, s.due(at.Add(time.Second)))
	require.NoError(t, s.DeleteDue(t.Context(), []port.DueTimer{timer(at, 1)}))
	for range 2 { // its minute is yet to come: somebody may know that it is on the list
		w.requests()
		require.Empty(t, s.due(at.Add(time.Second)))
		require.Equal(t, append(reading, "Query"), w.requests())
	}
	require.NoError(t, s.PutDue(t.Context(), timer(at, 2)))
	require.Equal(t, []string{"PutItem"}, w.requests(), "its bucket is still there")
	require.Equal(t, []int64{2}, s.due(at.Add(time.Second)))
	require.NoError(t, s.DeleteDue(t.Context(), []port.DueTimer{timer(at, 2)}))
	now = at.Add(time.Minute)
	w.requests()
	require.Empty(t, s.due(now))
	require.Equal(t, append(reading, "Query", "DeleteItem"), w.requests())
	require.Empty(t, s.due(now))
	require.Equal(t, reading, w.requests())
	require.NoError(t, s.PutDue(t.Context(), timer(at, 3)))
	require.Equal(t, []int64{3}, s.due(now), "late, but not lost")
}

// TestTimerPutWhileItsBucketLeavesTheList puts a timer at each point of a removal.
func TestTimerPutWhileItsBucketLeavesTheList(t *testing.T) {
	const last = 17 + 2 // after the list's partitions, the bucket and the removal
	for point := range last + 1 {
		w := &wire{Client: client}
		store, config := open(t, dynamo.Config{Client: w})
		s := &subject{t, store}
		require.NoError(t, s.PutDue(t.Context(), timer(began, 1)))
		require.NoError(t, s.DeleteDue(t.Context(), []port.DueTimer{timer(began, 1)}))
		var mu sync.Mutex
		requests := 0
		w.around = func(_ string, do func() error) error {
			mu.Lock()
			now := requests == point
			requests++
			mu.Unlock()
			if now {
				require.NoError(t, dynamo.New(dynamo.Config{Client: client, Table: config.Table, Codec: config.Codec}).PutDue(t.Context(), timer(began, 2)))
			}
			return do()
		}
		s.due(began.Add(time.Hour))
		w.around = nil
		if point == last {
			require.NoError(t, s.PutDue(t.Context(), timer(began, 2)))
		}
		require.Equal(t, []int64{2}, s.due(began.Add(time.Hour)), "point %d", point)
	}
}

// TestListOfBucketsIsSpread: buckets are listed in many partitions, so that many functions may put timers
// of many minutes at one time.
func TestListOfBucketsIsSpread(t *testing.T) {
	store, config := open(t, dynamo.Config{})
	s := &subject{t, store}
	const many = 200
	for i := range many {
		at := began.Add(time.Duration(i) * time.Minute)
		require.NoError(t, s.PutDue(t.Context(), timer(at, int64(i))))
	}
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &config.Table})
	require.NoError(t, err)
	listed := map[string]int{}
	for _, r := range out.Items {
		if pk := r["pk"].(*types.AttributeValueMemberS).Value; strings.HasPrefix(pk, "buckets") {
			listed[pk]++
		}
	}
	require.Len(t, listed, 16)
	for list, buckets := range listed {
		require.Less(t, buckets, many/4, list)
	}
	require.Len(t, s.due(began.AddDate(1, 0, 0)), many)
}

// TestBucketsOfOlderVersions: a bucket that an older version put on its list is found, once, also when it
// is on the present one, too; and it leaves both.
func TestBucketsOfOlderVersions(t *testing.T) {
	store, config := open(t, dynamo.Config{})
	s := &subject{t, store}
	at := began.Add(30 * time.Minute)
	require.NoError(t, s.PutDue(t.Context(), timer(at, 1)))
	require.NoError(t, s.PutDue(t.Context(), timer(at.Add(time.Hour), 2)))
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &config.Table})
	require.NoError(t, err)
	for i, r := range out.Items {
		pk := r["pk"].(*types.AttributeValueMemberS)
		if !strings.HasPrefix(pk.Value, "buckets") {
			continue
		}
		older := maps.Clone(r)
		older["pk"] = &types.AttributeValueMemberS{Value: "buckets"}
		older["mark"] = &types.AttributeValueMemberS{Value: fmt.Sprint("older", i)}
		_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &config.Table, Item: older})
		require.NoError(t, err)
		if strings.HasPrefix(r["sk"].(*types.AttributeValueMemberS).Value, at.UTC().Format("2006-01-02T15:04")) {
			continue
		}
		_, err = client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &config.Table,
			Key: map[string]types.AttributeValue{"pk": r["pk"], "sk": r["sk"]}})
		require.NoError(t, err)
	}
	later := at.Add(24 * time.Hour)
	require.Equal(t, []int64{1, 2}, s.due(later))
	require.NoError(t, s.DeleteDue(t.Context(),
		[]port.DueTimer{timer(at, 1), timer(at.Add(time.Hour), 2)}))
	store.At(func() time.Time { return later })
	require.Empty(t, s.due(later))
	require.Zero(t, rows(t, config.Table))
}

func TestNoTimerIsLost(t *testing.T) {
	store, _ := open(t, dynamo.Config{})
	s := &subject{t, store}
	const writers, each = 4, 25
	var putting sync.WaitGroup
	for i := range writers {
		putting.Go(func() {
			for j := range each {
				assert.NoError(t, s.PutDue(t.Context(),
					port.DueTimer{At: began.Add(time.Duration(j%3) * time.Minute),
						Run: fmt.Sprint("r", i), Generation: 1, Seq: int64(j)}))
			}
		})
	}
	done := make(chan struct{})
	go func() {
		putting.Wait()
		close(done)
	}()
	fired := map[string]bool{}
	for last := false; !last; {
		select {
		case <-done:
			last = true
		default:
		}
		timers, err := s.DueBefore(t.Context(), began.Add(time.Hour))
		require.NoError(t, err)
		for _, timer := range timers {
			fired[fmt.Sprint(timer.Run, timer.Seq)] = true
		}
		require.NoError(t, s.DeleteDue(t.Context(), timers))
	}
	require.Len(t, fired, writers*each)
}

func TestOldestBucketsComeFirst(t *testing.T) {
	w := &wire{Client: client}
	store, _ := open(t, dynamo.Config{Client: w})
	s := &subject{t, store}
	var want []int64
	for i := range int64(60) {
		run := strings.Repeat("x", int(i%5)+1)
		require.NoError(t, s.PutDue(t.Context(),
			port.DueTimer{At: began.Add(time.Duration(i) * 20 * time.Second), Run: run,
				Generation: 1, Seq: i}))
		want = append(want, i)
	}
	require.Equal(t, want, s.due(began.Add(24*time.Hour)))
}
