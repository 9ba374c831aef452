//go:build dynamodb

package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
)

// rows counts what is in a table.
func rows(t *testing.T, table string) int {
	t.Helper()
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	require.NoError(t, err)
	return len(out.Items)
}

// old is a run that ended, with something of everything.
func old(s *subject, run string) *port.Summary {
	s.t.Helper()
	summary := s.create(run)
	s.records(run, 1, 30, nil)
	commit := goOn(summary)
	commit.Record = newRecord(31, random(40_000))
	s.put(commit)
	s.records(run, 2, 2, nil)
	s.file(run, newResult(1, random(50_000)))
	require.NoError(s.t,
		s.SaveTask(s.t.Context(),
			&port.TaskState{TaskKey: port.TaskKey{Run: run, Generation: 1, Seq: 1}}))
	require.NoError(s.t, s.Block(s.t.Context(), run, &port.Block{Reason: port.ReasonStuck}))
	return s.end(commit.Summary, 3, began.Add(time.Hour))
}

func (s *subject) deleteClosed(before time.Time, limit int) int {
	s.t.Helper()
	n, err := s.DeleteClosed(s.t.Context(), before, limit)
	require.NoError(s.t, err)
	return n
}

func TestDeletedRunsLeaveNothing(t *testing.T) {
	store, config := open(t, dynamo.Config{})
	s := &subject{t, store}
	for i := range 4 {
		old(s, fmt.Sprint("old", i))
	}
	s.end(s.create("young"), 1, began.Add(3*time.Hour))
	s.create("open")
	require.Zero(t, s.deleteClosed(began, 100))
	require.Equal(t, 3, s.deleteClosed(began.Add(2*time.Hour), 3))
	require.Equal(t, 1, s.deleteClosed(began.Add(2*time.Hour), 3))
	require.Zero(t, s.deleteClosed(began.Add(2*time.Hour), 3))
	require.Equal(t, 5, rows(t, config.Table), "the summaries of two, a start each, and a record")
	require.Zero(t, config.Codec.Places.(*offloadtest.Places).Len())
	page, _, err := s.List(t.Context(), port.ListQuery{})
	require.NoError(t, err)
	require.Len(t, page, 2)
	s.create("old1")
	require.Empty(t, s.look("old1", port.Position{}).Records)
}

// TestRetentionAsksPlacesForRunsThatHaveSomethingThere: S3 is asked once for each run with a payload
// there, also if the payload's record lost its race; and for each run of an older version.
func TestRetentionAsksPlacesForRunsThatHaveSomethingThere(t *testing.T) {
	places := &forgotten{Places: offloadtest.New()}
	store, config := open(t, dynamo.Config{Codec: offload.Codec{Places: places}})
	s := &subject{t, store}
	ended := began.Add(time.Hour)
	for i := range 20 {
		s.end(s.create(fmt.Sprint("short", i)), 1, ended)
	}
	old(s, "long")
	lost := s.create("lost")
	s.records("lost", 1, 1, nil)
	commit := &port.Commit{Run: "lost", Generation: 1, Record: newRecord(1, random(40_000))}
	require.ErrorIs(t, store.Put(t.Context(), commit), port.ErrTaken)
	s.end(lost, 2, ended)
	s.end(s.create("older"), 1, ended)
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &config.Table,
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "run#older"},
			"sk": &types.AttributeValueMemberS{Value: "run"}},
		UpdateExpression: aws.String("REMOVE sayskept")})
	require.NoError(t, err)
	require.Equal(t, 23, s.deleteClosed(began.Add(2*time.Hour), 100))
	require.ElementsMatch(t, []string{"long", "lost", "older"}, places.runs)
	require.Zero(t, rows(t, config.Table))
	require.Zero(t, places.Len())
}

// forgotten are places that note which runs are forgotten.
type forgotten struct {
	*offloadtest.Places
	mu   sync.Mutex
	runs []string
}

func (f *forgotten) Forget(ctx context.Context, run string) error {
	f.mu.Lock()
	f.runs = append(f.runs, run)
	f.mu.Unlock()
	return f.Places.Forget(ctx, run)
}

// TestRetentionDeletesSideBySide: 32 runs are being deleted before the first of them is.
func TestRetentionDeletesSideBySide(t *testing.T) {
	w := &wire{Client: client}
	store, _ := open(t, dynamo.Config{Client: w})
	s := &subject{t, store}
	const many = 32
	for i := range many {
		s.end(s.create(fmt.Sprint("r", i)), 1, began.Add(time.Hour))
	}
	var begun atomic.Int32
	all := make(chan struct{})
	w.around = func(operation string, do func() error) error {
		if operation == "UpdateItem" {
			if begun.Add(1) == many {
				close(all)
			}
			select {
			case <-all:
			case <-time.After(10 * time.Second):
				return errors.New("the others wait until this one is deleted")
			}
		}
		return do()
	}
	require.Equal(t, many, s.deleteClosed(began.Add(2*time.Hour), math.MaxInt))
}

// partitions is a client that notes which partitions of the listing are read.
type partitions struct {
	dynamo.Client
	read []string
}

func (p *partitions) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	if in.IndexName != nil {
		p.read = append(p.read, in.ExpressionAttributeValues[":listed"].(*types.AttributeValueMemberS).Value)
	}
	return p.Client.Query(ctx, in, o...)
}

// TestRetentionTakesPartitionsInTurn: a partition with more than a page of runs is read on after all
// others were read.
func TestRetentionTakesPartitionsInTurn(t *testing.T) {
	p := &partitions{Client: client}
	store, _ := open(t, dynamo.Config{Client: p})
	s := &subject{t, store}
	const page = 100
	for i, found := 0, 0; found <= page; i++ {
		hash := fnv.New32a()
		id := fmt.Sprint("r", i)
		if _, _ = hash.Write([]byte(id)); hash.Sum32()%8 == 3 {
			s.end(s.create(id), 1, began.Add(time.Hour))
			found++
		}
	}
	require.Equal(t, page+1, s.deleteClosed(began.Add(2*time.Hour), math.MaxInt))
	const all = 4 * 8
	require.Len(t, p.read, all+1)
	require.Equal(t, "completed#3", p.read[all])
	slices.Sort(p.read[:all])
	require.Len(t, slices.Compact(p.read[:all]), all)
}

// TestRetentionEndsInTime: near its deadline it begins nothing more and finishes what it has begun, so
// that the next call need not wait until the claim is over.
func TestRetentionEndsInTime(t *testing.T) {
	w := &wire{Client: client}
	store, _ := open(t, dynamo.Config{Client: w})
	s := &subject{t, store}
	const many = 300
	for i := range many {
		s.end(s.create(fmt.Sprint("r", i)), 1, began.Add(time.Hour))
	}
	w.around = func(operation string, do func() error) error {
		if operation != "Query" {
			<-time.After(200 * time.Millisecond) // so slow is the table
		}
		return do()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	deleted, err := s.DeleteClosed(ctx, began.Add(2*time.Hour), math.MaxInt)
	require.NoError(t, err)
	require.Positive(t, deleted)
	require.Less(t, deleted, many)
	w.around = nil
	require.Equal(t, many-deleted, s.deleteClosed(began.Add(2*time.Hour), math.MaxInt))
}

// TestRunThatGoesOnIsNotDeleted has a run go on just before the request that would delete it.
func TestRunThatGoesOnIsNotDeleted(t *testing.T) {
	w := &wire{Client: client}
	store, _ := open(t, dynamo.Config{Client: w})
	s := &subject{t, store}
	summary := old(s, "r")
	w.around = func(operation string, do func() error) error {
		if operation == "UpdateItem" {
			w.around = nil
			s.put(goOn(summary))
		}
		return do()
	}
	require.Zero(t, s.deleteClosed(began.Add(2*time.Hour), 10))
	view := s.look("r", port.Position{})
	require.Equal(t, 3, view.Summary.Generation)
	log, err := s.Records(t.Context(), "r", 2, 0)
	require.NoError(t, err)
	require.Equal(t, upTo(3), numbers(log))
}

// TestInterruptedDeletion fails each of its requests in turn, before or after it is done. The run is whole or not there; it
// cannot be brought back; and a later call finishes the work.
func TestInterruptedDeletion(t *testing.T) {
	for _, done := range []bool{false, true} {
		for point, interrupted := 0, true; interrupted; point++ {
			interrupted = interruptDeletion(t, point, done)
		}
	}
}

func interruptDeletion(t *testing.T, point int, done bool) (interrupted bool) {
	t.Helper()
	w := &wire{Client: client}
	store, config := open(t, dynamo.Config{Client: w})
	s := &subject{t, store}
	now := time.Now()
	store.At(func() time.Time { return now })
	summary := old(s, "r")
	before := began.Add(2 * time.Hour)
	requests, at := 0, false
	w.around = func(operation string, do func() error) error {
		if at = at || operation == "UpdateItem"; !at || interrupted {
			return do()
		}
		at = operation != "DeleteItem" // after which come the listings of other shards
		if requests++; requests <= point {
			return do()
		}
		interrupted = true
		if done {
			require.NoError(t, do())
		}
		return errors.New("connection reset by peer")
	}
	_, err := s.DeleteClosed(t.Context(), before, 10)
	w.around = nil
	if interrupted {
		require.ErrorIs(t, err, port.ErrUnavailable)
		view, err := s.Look(t.Context(), "r", port.Position{})
		_, start := newRun("r")
		if err == nil {
			require.Len(t, view.Inbox, 3, "it is whole")
			require.Equal(t, upTo(3), numbers(view.Records))
		} else {
			require.ErrorIs(t, err, port.ErrNoRun)
			_, err = s.Summary(t.Context(), "r")
			require.ErrorIs(t, err, port.ErrNoRun)
			require.ErrorIs(t, s.Put(t.Context(), goOn(summary)), port.ErrNoRun)
			require.ErrorIs(t, s.Block(t.Context(), "r", &port.Block{Reason: port.ReasonStuck}),
				port.ErrNoRun)
			page, _, err := s.List(t.Context(), port.ListQuery{})
			require.NoError(t, err)
			require.Empty(t, page)
			if rows(t, config.Table) > 0 {
				require.ErrorIs(t, s.Create(t.Context(), summary, start), port.ErrUnavailable)
			}
		}
	}
	if rows(t, config.Table) > 0 {
		s.deleteClosed(before, 10)
		if interrupted && rows(t, config.Table) > 0 {
			require.Equal(t, 1, leftovers(s), "somebody else may still be at it")
		}
	}
	now = now.Add(time.Hour)
	s.deleteClosed(before, 10)
	require.Zero(t, rows(t, config.Table))
	require.Zero(t, config.Codec.Places.(*offloadtest.Places).Len())
	s.create("r")
	require.Empty(t, s.look("r", port.Position{}).Records)
	return interrupted
}

// leftovers is 1 where the id of the run is still in use by a deletion.
func leftovers(s *subject) int {
	s.t.Helper()
	summary, start := newRun("r")
	summary.Status = history.Running
	if errors.Is(s.Create(s.t.Context(), summary, start), port.ErrUnavailable) {
		return 1
	}
	return 0
}
