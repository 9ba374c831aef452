package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
)

// asking has a server ask for one of two tokens.
func asking(t *testing.T) (ann, bob string, change func(*api.Config)) {
	t.Helper()
	ann, bob = api.NewSecret(), api.NewSecret()
	var lines []string
	for name, secret := range map[string]string{"ann": ann, "bob": bob} {
		token, err := api.NewToken(name, secret)
		require.NoError(t, err)
		lines = append(lines, token.String())
	}
	tokens, err := api.ParseTokens("# who may\n\n" + strings.Join(lines, "\n"))
	require.NoError(t, err)
	return ann, bob, func(c *api.Config) { c.Tokens = tokens }
}

func TestWhoIsLetIn(t *testing.T) {
	ann, bob, change := asking(t)
	w := start(t, change)
	const unknown, none = `Bearer realm="reprise", error="invalid_token"`, `Bearer realm="reprise"`
	for _, c := range []struct {
		call, authorization string
		status              int
		challenge           string
	}{
		{"GET /v1/runs", "Bearer " + ann, 200, ""},
		{"GET /v1/runs", "bearer  " + bob, 200, ""},
		{"GET /v1/health", "", 200, ""},
		{"GET /v1/health", "Bearer wrong", 200, ""},
		{"GET /v1/runs", "", 401, none},
		{"GET /v1/runs", "Basic " + ann, 401, none},
		{"GET /v1/runs", "Bearer", 401, unknown},
		{"GET /v1/runs", "Bearer ", 401, unknown},
		{"GET /v1/runs", "Bearer " + ann[:len(ann)-1], 401, unknown},
		{"GET /v1/runs", "Bearer " + ann + "x", 401, unknown},
		{"GET /v1/runs", "Bearer " + strings.ToUpper(ann), 401, unknown},
		{"GET /v1/runs", "Bearer " + ann + " " + bob, 401, unknown},
		{"GET /v1/info", "", 401, none},
		{"GET /v1/openapi.json", "", 401, none},
		{"GET /v1/health/", "", 401, none},
		{"GET /v1/runs/%2e%2e/health", "", 401, none},
		{"GET /v1/nothing", "", 401, none},
		{"OPTIONS /v1/runs", "", 401, none},
		{"POST /v1/runs", "", 401, none},
		{"POST /v1/activities/abc/complete", "", 401, none},
	} {
		method, path, _ := strings.Cut(c.call, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, w.server.URL+path, nil)
		require.NoError(t, err)
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		response, err := http.DefaultTransport.RoundTrip(r) // no redirection is followed
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, c.status, response.StatusCode, "%s with %s", c.call, c.authorization)
		require.Equal(t, c.challenge, response.Header.Get("WWW-Authenticate"), "%s with %s", c.call, c.authorization)
	}
	p := w.problem("POST", "/v1/runs", `{"workflow":"echo"}`)
	require.Equal(t, client.Unauthenticated, p.Code)
	response, text := w.call("GET", "/v1/runs", "", "Authorization", "Bearer "+ann)
	require.Equal(t, 200, response.StatusCode)
	require.JSONEq(t, `{"runs":[]}`, text, "what was refused did nothing")
}

func TestTokensThatAreRefused(t *testing.T) {
	for _, c := range [][2]string{{"", api.NewSecret()}, {"a:b", api.NewSecret()}, {"a b", api.NewSecret()}, {"ann", "guessed"}} {
		_, err := api.NewToken(c[0], c[1])
		require.Error(t, err, c[0])
	}
	good, err := api.NewToken("ann", api.NewSecret())
	require.NoError(t, err)
	for _, list := range []string{"ann", "ann:", ":" + good.String()[4:], good.String()[:40], good.String() + "00", good.String() + "\n" + good.String()} {
		_, err := api.ParseTokens(list)
		require.Error(t, err, list)
	}
}
