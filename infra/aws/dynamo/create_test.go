//go:build dynamodb

package dynamo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
)

// forgetful places forget each payload at once: the run that had the id before is deleted just when a new one is created.
type forgetful struct{ *offloadtest.Places }

func (f forgetful) Keep(ctx context.Context, run string, data []byte) (string, error) {
	place, err := f.Places.Keep(ctx, run, data)
	if err == nil {
		err = f.Forget(ctx, run)
	}
	return place, err
}

func TestANewRunHasItsPayloads(t *testing.T) {
	store, _ := open(t, dynamo.Config{Codec: offload.Codec{Places: forgetful{offloadtest.New()}}})
	summary, start := newRun("r")
	summary.Input = random(50_000)
	require.NoError(t, store.Create(t.Context(), summary, start))
	got, err := store.Summary(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, summary.Input, got.Input)
}
