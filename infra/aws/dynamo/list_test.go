package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// index is a client that has summaries and answers to a listing's requests. Its index is what the table was a moment ago.
type index struct {
	Client
	rows    map[string][]row // by partition, the latest start first
	table   map[string]row
	queries atomic.Int64
	read    atomic.Int64
}

func (x *index) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	x.queries.Add(1)
	at := textOf(in.ExpressionAttributeValues, ":at")
	rows := x.rows[textOf(in.ExpressionAttributeValues, ":partition")]
	if at != "" {
		begin, _ := slices.BinarySearchFunc(rows, at, func(r row, at string) int {
			if textOf(r, "started") < at {
				return 1
			}
			return -1
		})
		rows = rows[begin:]
	}
	out := &dynamodb.QueryOutput{}
	for i, r := range rows {
		if i == int(*in.Limit) {
			return out, nil
		}
		out.LastEvaluatedKey = r
		if in.FilterExpression == nil || textOf(r, "workflow") == textOf(in.ExpressionAttributeValues, ":workflow") {
			out.Items = append(out.Items, r)
		}
	}
	out.LastEvaluatedKey = nil
	return out, nil
}

func (x *index) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]row{}}
	for table, reads := range in.RequestItems {
		x.read.Add(int64(len(reads.Keys)))
		for _, key := range reads.Keys {
			if r := x.table[textOf(key, "pk")]; r != nil {
				out.Responses[table] = append(out.Responses[table], r)
			}
		}
	}
	return out, nil
}

// add puts a summary into the index, and one that may be newer into the table.
func (x *index) add(t *testing.T, indexed, there *port.Summary) {
	t.Helper()
	body, err := json.Marshal(there)
	require.NoError(t, err)
	r := keyOf(partition(there.Run), summaryKey)
	for name, value := range map[string]string{"body": string(body), "started": startedKey(there.Started, there.Run)} {
		r[name] = text(value)
	}
	r["generation"] = number(1)
	x.table[textOf(r, "pk")] = r
	entry := keyOf(partition(indexed.Run), summaryKey)
	entry["started"], entry["workflow"] = text(startedKey(indexed.Started, indexed.Run)), text(indexed.Workflow)
	listed := listedKey(indexed.Status, shardOf(indexed.Run, fewestShards))
	entry["listed"] = text(listed)
	x.rows[listed] = append(x.rows[listed], entry)
}

func (x *index) sort() {
	for _, rows := range x.rows {
		slices.SortFunc(rows, func(a, b row) int { return strings.Compare(textOf(b, "started"), textOf(a, "started")) })
	}
}

// TestListingIsWhole lists many runs, page by page, and compares with what a plain filter finds. No page takes more than its
// share of work.
func TestListingIsWhole(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	x := &index{rows: map[string][]row{}, table: map[string]row{}}
	var all []*port.Summary
	const many = 36_000
	for i := range many {
		summary := &port.Summary{Run: fmt.Sprint("r", i), Generation: 1,
			Started: time.Unix(int64(random.IntN(many)), 0).UTC(),
			Status: []history.Status{history.Running, history.Failed,
				history.Completed}[min(2, random.IntN(20))],
			Workflow: fmt.Sprint("w", random.IntN(3)/2)}
		if random.IntN(8000) == 0 {
			summary.Workflow = "rare"
		}
		if random.IntN(4000) == 0 {
			summary.Definition = 3
		}
		if random.IntN(4000) == 0 {
			summary.Attributes = history.Attributes{"n": history.Payload(`1`)}
		}
		all = append(all, summary)
		x.add(t, summary, summary)
	}
	x.sort()
	slices.SortFunc(all, func(a, b *port.Summary) int {
		return strings.Compare(startedKey(b.Started, b.Run), startedKey(a.Started, a.Run))
	})
	s := New(Config{Client: x, Table: "t"})
	one := history.Attributes{"n": history.Payload(` 1 `)}
	for _, query := range []port.ListQuery{
		{Status: history.Failed}, {Limit: 1000}, {Limit: 777, Status: history.Completed}, {Limit: 700, Workflow: "w1"}, {Workflow: "rare"}, {Limit: 3, Attributes: one},
		{Limit: 7, Workflow: "rare", Status: history.Failed}, {Workflow: "none"}, {Status: history.Cancelled}, {Workflow: "w0", Attributes: one},
		{Limit: 5, Workflow: "w0", Definition: 3},
	} {
		var want, got []string
		for _, summary := range all {
			if query.Matches(summary) {
				want = append(want, summary.Run)
			}
		}
		pages := 0
		for next := ""; pages == 0 || next != ""; pages++ {
			x.queries.Store(0)
			x.read.Store(0)
			query.Cursor = next
			page, cursor, err := s.List(t.Context(), query)
			require.NoError(t, err)
			next = cursor
			require.LessOrEqual(t, len(page), max(query.Limit, defaultPage))
			require.LessOrEqual(t, x.queries.Load(), int64(300))
			require.LessOrEqual(t, x.read.Load(), int64(candidates+readsInBatch))
			for _, summary := range page {
				got = append(got, summary.Run)
			}
			require.Less(t, pages, many)
		}
		require.Equal(t, want, got, "%+v", query)
	}
}

// TestIndexThatLagsBehind: an entry says what was so a moment ago, or of a run that is gone, or comes twice.
func TestIndexThatLagsBehind(t *testing.T) {
	x := &index{rows: map[string][]row{}, table: map[string]row{}}
	at := time.Unix(1000, 0).UTC()
	of := func(run string, status history.Status, started time.Time) *port.Summary {
		return &port.Summary{Run: run, Generation: 1, Status: status, Started: started}
	}
	x.add(t, of("ended", history.Running, at), of("ended", history.Completed, at))
	x.add(t, of("ended", history.Completed, at), of("ended", history.Completed, at))
	x.add(t, of("anew", history.Completed, at), of("anew", history.Running, at.Add(time.Hour)))
	x.add(t, of("gone", history.Running, at), of("gone", history.Running, at))
	delete(x.table, partition("gone"))
	x.add(t, of("deleted", history.Completed, at), of("deleted", history.Completed, at))
	delete(x.table[partition("deleted")], "generation")
	x.sort()
	s := New(Config{Client: x, Table: "t"})
	for status, want := range map[history.Status][]string{"": {"ended"}, history.Running: nil, history.Completed: {"ended"}} {
		page, next, err := s.List(t.Context(), port.ListQuery{Status: status})
		require.NoError(t, err)
		require.Empty(t, next)
		var got []string
		for _, summary := range page {
			got = append(got, summary.Run)
		}
		require.Equal(t, want, got, status)
	}
}
