//go:build dynamodb

package dynamo_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// TestRunOnTwoPages has a run whose inbox is more than one page of a scan.
func TestRunOnTwoPages(t *testing.T) {
	store, _ := open(t, dynamo.Config{})
	s := &subject{t, store}
	var want []string
	for i := range 3 {
		run := fmt.Sprint("r", i)
		want = append(want, run)
		summary := s.create(run)
		for seq := range int64(60) {
			s.file(run, newResult(seq, random(30_000)))
		}
		if i == 0 {
			s.end(summary, 1, began)
		}
	}
	var got []string
	pages := 0
	for next := ""; pages == 0 || next != ""; pages++ {
		page, cursor, err := s.Unfinished(t.Context(), next)
		require.NoError(t, err)
		got, next = append(got, page...), cursor
	}
	require.Greater(t, pages, 3)
	slices.Sort(got)
	require.Equal(t, want, got)
}

func TestTokenKeyIsMadeOnce(t *testing.T) {
	_, config := open(t, dynamo.Config{})
	keys := make([][]byte, 10)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			keys[i], err = dynamo.New(config).TokenKey(t.Context())
			assert.NoError(t, err)
		})
	}
	all.Wait()
	require.Len(t, keys[0], 32)
	for _, key := range keys {
		require.Equal(t, keys[0], key)
	}
}
