package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/api"
)

// wrapping are keys of a service.
type wrapping struct{ *seal.Keyring }

func (w wrapping) Current(ctx context.Context) (*seal.Key, error) {
	key, err := w.Keyring.Current(ctx)
	return &seal.Key{ID: key.ID, Secret: key.Secret, Wrapped: "as the service wraps it"}, err
}

// TestExportLeavesSealed: in pieces that fit together, with the wrapped key; the same request without it is in the clear.
func TestExportLeavesSealed(t *testing.T) {
	ring, err := seal.ParseKeyring(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", seal.KeyBytes))))
	require.NoError(t, err)
	codec := seal.New(wrapping{ring})
	w := start(t, func(c *api.Config) { c.Seal = codec })
	var value strings.Builder
	for i := range 400_000 { // about 2 MB that hardly compress
		value.WriteString(base64.RawStdEncoding.EncodeToString([]byte{byte(i * i >> 3), byte(i * 7919 >> 5), byte(i * i * i >> 7)}))
	}
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"long","workflow":"echo","input":"the-marker`+value.String()+`"}`)
	var plain, sealed bytes.Buffer
	require.NoError(t, w.client.Export(t.Context(), "long", 0, &plain))
	require.Contains(t, plain.String(), "the-marker")
	require.NoError(t, w.client.ExportSealed(t.Context(), "long", 0, &sealed))
	require.NotContains(t, sealed.String(), "the-marker")
	require.Greater(t, sealed.Len(), 1_000_000, "more than one piece")
	_, err = history.DecodeExport(sealed.Bytes())
	require.ErrorIs(t, err, history.ErrUnreadable)
	opened, err := seal.DecodeExport(t.Context(), sealed.Bytes(), func(keys map[string]string) (seal.Codec, error) {
		require.Equal(t, map[string]string{ring.String(): "as the service wraps it"}, keys)
		return codec, nil
	})
	require.NoError(t, err)
	require.True(t, plain.String() == string(history.AppendExport(nil, opened)))
}
