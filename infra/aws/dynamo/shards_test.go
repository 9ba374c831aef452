//go:build dynamodb

package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// TestShardsCanBeRaised: with more shards, new runs are in more partitions of the listing; runs from
// before are listed, blocked, unblocked and deleted as ever, and long timers fire.
func TestShardsCanBeRaised(t *testing.T) {
	few, config := open(t, dynamo.Config{})
	const more, many = 32, 100
	config.Shards = more
	store := dynamo.New(config)
	before, s := &subject{t, few}, &subject{t, store}
	for i := range many {
		before.create(fmt.Sprint("old", i))
		s.create(fmt.Sprint("new", i))
	}
	at := time.Now().Add(time.Hour)
	require.NoError(t, few.PutDue(t.Context(), timer(at, 1)))
	require.NoError(t, few.Block(t.Context(), "old1",
		&port.Block{ID: "b", Reason: port.ReasonStuck}))

	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &config.Table})
	require.NoError(t, err)
	shards := map[string]int{}
	for _, r := range out.Items {
		if listed, ok := r["listed"].(*types.AttributeValueMemberS); ok {
			shards[strings.TrimPrefix(listed.Value, "running#")]++
		}
	}
	require.Greater(t, len(shards), more/2)
	page, next, err := s.List(t.Context(), port.ListQuery{Limit: 1000})
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, page, 2*many)
	page, _, err = s.List(t.Context(), port.ListQuery{Blocked: true})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, []int64{1}, s.due(at.Add(time.Hour)))
	require.NoError(t, s.DeleteDue(t.Context(), []port.DueTimer{timer(at, 1)}))
	require.Empty(t, s.due(at.Add(time.Hour)))
	for _, summary := range page {
		require.Equal(t, "old1", summary.Run)
	}
	for i := range many {
		for _, age := range []string{"old", "new"} {
			summary, err := s.Summary(t.Context(), fmt.Sprint(age, i))
			require.NoError(t, err)
			s.end(summary, 1, began.Add(time.Hour))
		}
	}
	require.Equal(t, 2*many, s.deleteClosed(began.Add(2*time.Hour), 1000))
}

// TestShardsAreNotLowered: that runs are in more shards than a deployment knows is an error, which says what
// to do.
func TestShardsAreNotLowered(t *testing.T) {
	few, config := open(t, dynamo.Config{})
	require.NoError(t, few.CheckShards(t.Context()))
	config.Shards = 16
	require.NoError(t, dynamo.New(config).CheckShards(t.Context()))
	require.NoError(t, dynamo.New(config).CheckShards(t.Context()))
	require.ErrorContains(t, few.CheckShards(t.Context()), "set its parameter Shards to 16 or more")
}
