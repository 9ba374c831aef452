package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/client"
)

// TestTokenStaysWithItsServer: who redirects a client does not get its token.
func TestTokenStaysWithItsServer(t *testing.T) {
	var ours, theirs []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		theirs = append(theirs, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	}))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ours = append(ours, r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect) // the same host name, another port
	}))
	defer server.Close()
	c, err := client.New(client.Config{Address: server.URL, Token: "secret"})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Health(t.Context()))
	require.Equal(t, []string{"Bearer secret"}, ours)
	require.Equal(t, []string{""}, theirs)
}

func TestTokenIsNotShownToTheNetwork(t *testing.T) {
	for address, allowed := range map[string]bool{
		"": true, "http://127.0.0.1:1": true, "http://127.9.9.9": true, "http://[::1]:1": true, "http://LOCALHOST": true, "http://[::ffff:127.0.0.1]:1": true,
		"https://api.example": true, "http://api.example": false, "http://localhost.example": false, "http://localhost.:1": false, "http://127.0.0.1.example": false,
		"http://0.0.0.0:1": false, "http://[::]:1": false, "http://10.0.0.1": false, "http://2130706433": false,
	} {
		_, err := client.New(client.Config{Address: address, Token: "secret"})
		if allowed {
			require.NoError(t, err, address)
			continue
		}
		require.ErrorIs(t, err, client.ErrPlainHTTP, address)
		_, err = client.New(client.Config{Address: address, Token: "secret", PlainHTTP: true})
		require.NoError(t, err, address)
		_, err = client.New(client.Config{Address: address})
		require.NoError(t, err, address)
	}
}
