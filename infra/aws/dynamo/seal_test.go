//go:build dynamodb

package dynamo_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/aws/offload"
	"github.com/reprise-run/reprise/infra/aws/offload/offloadtest"
)

// sealing is a codec with a key that is made of a letter.
func sealing(t *testing.T, letter string) offload.Codec {
	t.Helper()
	ring, err := seal.ParseKeyring(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, seal.KeyBytes))))
	require.NoError(t, err)
	return offload.Codec{Places: offloadtest.New(), Seal: seal.New(ring)}
}

// TestSealedSameAsMemory does the same random operations on a store that seals and on one that does not.
func TestSealedSameAsMemory(t *testing.T) {
	s, config := open(t, dynamo.Config{Codec: sealing(t, "a")})
	m := memory.New()
	want := porttest.Stores{Runs: m, Directory: m, Due: m, Tasks: m, DeleteClosed: m.DeleteClosed}
	porttest.TestSame(t, want, hurried(s, config, &clock{now: began.AddDate(1, 0, 0)}),
		porttest.Likeness{Steps: 500, Runs: 8, Large: true})
}

// TestNoValueIsInTheTable writes a marker wherever an author's or a caller's value can be, and looks for it in the table and in
// what is kept elsewhere: with short values, which are in the items, and with long ones, which are not.
func TestNoValueIsInTheTable(t *testing.T) {
	for _, marker := range []string{"the-marker", strings.Repeat("the-marker", 5000)} {
		for _, sealed := range []bool{false, true} {
			config := dynamo.Config{Codec: offload.Codec{Places: offloadtest.New()}}
			if sealed {
				config.Codec = sealing(t, "a")
			}
			s, config := open(t, config)
			porttest.WriteEverywhere(t, porttest.Stores{Runs: s, Directory: s, Due: s, Tasks: s},
				marker)
			places := config.Codec.Places.(*offloadtest.Places)
			found := places.Count("the-marker") + inTable(t, config, "the-marker")
			if sealed {
				require.Zero(t, found)
			} else {
				require.Greater(t, found, 20, "the test must be able to find it")
			}
		}
	}
}

// inTable counts a text in all attributes of all items of a table, inflated.
func inTable(t *testing.T, config dynamo.Config, text string) (found int) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &config.Table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, item := range page.Items {
			for _, attribute := range item {
				switch value := attribute.(type) {
				case *types.AttributeValueMemberS:
					found += strings.Count(value.Value, text)
				case *types.AttributeValueMemberB:
					content, err := config.Codec.Unpack(t.Context(), value.Value)
					require.NoError(t, err)
					found += strings.Count(string(content), text)
				}
			}
		}
	}
	return found
}

// TestSealedValuesNeedTheKey: whoever lacks it, or finds a value that was changed, is told so, and the run can be blocked.
func TestSealedValuesNeedTheKey(t *testing.T) {
	s, config := open(t, dynamo.Config{Codec: sealing(t, "a")})
	porttest.WriteEverywhere(t, porttest.Stores{Runs: s, Directory: s, Due: s, Tasks: s}, "value")
	for says, seals := range map[string]seal.Codec{"given no key": nil, "which is not here": sealing(t, "b").Seal} {
		config.Codec.Seal = seals
		other := dynamo.New(config)
		_, err := other.Look(t.Context(), "everywhere", port.Position{})
		require.ErrorIs(t, err, history.ErrUnreadable)
		require.NotErrorIs(t, err, port.ErrUnavailable)
		require.ErrorContains(t, err, says)
		require.NoError(t, other.Block(t.Context(), "everywhere",
			&port.Block{Reason: port.ReasonUnreadable, Message: err.Error()}))
	}
}

// TestDataKeys: the first one stays.
func TestDataKeys(t *testing.T) {
	s, _ := open(t, dynamo.Config{})
	there, err := s.WrappedKey(t.Context(), "2026-11")
	require.NoError(t, err)
	require.Empty(t, there)
	for _, mine := range []string{"first", "second"} {
		there, err = s.AddWrappedKey(t.Context(), "2026-11", mine)
		require.NoError(t, err)
		require.Equal(t, "first", there)
	}
	there, err = s.WrappedKey(t.Context(), "2026-11")
	require.NoError(t, err)
	require.Equal(t, "first", there)
}
