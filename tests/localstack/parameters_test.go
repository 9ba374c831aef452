//go:build localstack

package localstack

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVariables(t *testing.T) {
	gives(t, start(t, "environment", "GREETING"), []string{"hello", "hello"})
}

// TestDocument: the deployed API says where it is, and how to call it.
func TestDocument(t *testing.T) {
	ctx := within(t, patience)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, trial.address+"/v1/openapi.json", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var document struct {
		Servers  []struct{ URL string }
		Security []any
	}
	require.NoError(t, json.Unmarshal(text, &document))
	require.Regexp(t, "^https://.*/live$", document.Servers[0].URL)
	require.Empty(t, document.Security, "ApiAuthorizer is NONE here")
}
