//go:build dynamodb

package dynamo_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/aws/dynamo"
)

// TestDeployed: the version that was noted last is there with the time at which it was first noted.
func TestDeployed(t *testing.T) {
	store, _ := open(t, dynamo.Config{})
	deployed, err := store.Deployed(t.Context())
	require.NoError(t, err)
	require.Empty(t, deployed.Version)
	now := began
	store.At(func() time.Time { return now })
	for _, version := range []string{"a", "a", "b", "b"} {
		require.NoError(t, store.Deploy(t.Context(), version))
		now = now.Add(time.Minute)
	}
	deployed, err = store.Deployed(t.Context())
	require.NoError(t, err)
	require.True(t, deployed.Learned)
	require.Equal(t, "b", deployed.Version)
	require.WithinDuration(t, began.Add(2*time.Minute), deployed.Since, 0)
}
