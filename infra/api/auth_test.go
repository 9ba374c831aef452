package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
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
		{"GET /v1/runs", "Basic " + base64.StdEncoding.EncodeToString([]byte("any:"+ann)), 200, ""},
		{"GET /v1/runs", "Basic " + base64.StdEncoding.EncodeToString([]byte(ann+":")),
			401, unknown},
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

// TestRoles asks for each operation with a token of each role, and compares with what the role may do.
func TestRoles(t *testing.T) {
	secrets, list := map[api.Role]string{}, ""
	for _, role := range append(api.Roles, "expired") {
		secrets[role] = api.NewSecret()
		token, err := api.NewToken(string(role), secrets[role])
		require.NoError(t, err)
		if token.Role = role; role == "expired" {
			token.Role, token.Expires = api.All, time.Now().Add(-time.Second)
		}
		list += token.String() + "\n"
	}
	tokens, err := api.ParseTokens(list)
	require.NoError(t, err)
	w := start(t, func(c *api.Config) { c.Tokens, c.Rebuild = tokens, true })
	for call, needs := range map[string]api.Role{
		"GET /v1/runs":                     api.Read,
		"GET /v1/runs/none":                api.Read,
		"GET /v1/runs/none/history":        api.Read,
		"GET /v1/runs/none/export":         api.Read,
		"GET /v1/info":                     api.Read,
		"GET /v1/doctor":                   api.Read,
		"GET /v1/doctor/runs":              api.Read,
		"GET /v1/runs/none/signals":        api.Read,
		"GET /v1/openapi.json":             api.Worker,
		"POST /v1/runs/none/queries/total": api.Read,
		"POST /v1/runs":                    api.Operate,
		"POST /v1/runs/none/signals/go":    api.Operate,
		"POST /v1/runs/none/updates/add":   api.Operate,
		"POST /v1/runs/none/cancel":        api.Operate,
		"POST /v1/activities/abc/complete": api.Operate,
		"POST /v1/activities/abc/fail":     api.Operate,
		"POST /v1/runs/none/terminate":     api.All,
		"POST /v1/runs/none/reset":         api.All,
		"POST /v1/runs/none/unblock":       api.All,
		"POST /v1/rebuild":                 api.All,
		"GET /v1/workers":                  api.Read,
	} {
		method, path, _ := strings.Cut(call, " ")
		for i, role := range api.Roles {
			response, text := w.call(method, path, "", "Authorization", "Bearer "+secrets[role])
			if i < slices.Index(api.Roles, needs) {
				require.Equal(t, http.StatusForbidden, response.StatusCode, "%s as %s", call, role)
				require.Contains(t, text, fmt.Sprintf("the token %s has the role %s, and this needs the role %s", role, role, needs))
			} else {
				require.NotEqual(t, http.StatusForbidden, response.StatusCode, "%s as %s: %s", call, role, text)
				require.NotEqual(t, http.StatusUnauthorized, response.StatusCode, "%s as %s: %s", call, role, text)
			}
		}
		response, text := w.call(method, path, "", "Authorization", "Bearer "+secrets["expired"])
		require.Equal(t, http.StatusUnauthorized, response.StatusCode)
		require.Contains(t, text, "the token expired expired at ")
	}
	// reading does not include them
	for _, call := range []string{"POST /v1/workers", "POST /v1/workers/heartbeat",
		"DELETE /v1/workers"} {
		method, path, _ := strings.Cut(call, " ")
		for role, status := range map[api.Role]int{api.Worker: 400, api.Read: 403, api.Operate: 400,
			api.All: 400} {
			response, text := w.call(method, path, "", "Authorization", "Bearer "+secrets[role])
			require.Equal(t, status, response.StatusCode, "%s as %s: %s", path, role, text)
		}
	}
}

// TestACompletionTokenIsEnough: on a server with tokens, a completion token opens its own activity, and nothing else.
func TestACompletionTokenIsEnough(t *testing.T) {
	ann, _, change := asking(t)
	w := start(t, change)
	_, _, err := w.node.Start(t.Context(), engine.StartRequest{Run: "a", Workflow: "reviewed", Input: history.Payload(`"text"`)})
	require.NoError(t, err)
	token := <-w.tokens
	for call, status := range map[string]int{
		"POST /v1/activities/" + token + "/heartbeat": 200, "GET /v1/activities/" + token + "/complete": 401, "GET /v1/runs/a": 401,
		"POST /v1/activities/" + token + "x/complete": 401, "POST /v1/activities/" + token[1:] + "/complete": 401,
		"POST /v1/activities/" + token + "/other": 401, "POST /v1/activities/" + token + "%2f..%2f../complete": 400, "POST /v1/runs/a/cancel": 401,
	} {
		method, path, _ := strings.Cut(call, " ")
		response, text := w.call(method, path, "")
		require.Equal(t, status, response.StatusCode, "%s: %s", call, text)
	}
	response, text := w.call("POST", "/v1/activities/"+token+"/complete", `{"result":"good"}`)
	require.Equal(t, http.StatusNoContent, response.StatusCode, text)
	summary, err := w.node.Wait(t.Context(), "a")
	require.NoError(t, err)
	require.JSONEq(t, `"good"`, string(summary.Result))
	response, _ = w.call("GET", "/v1/runs/a", "", "Authorization", "Bearer "+ann)
	require.Equal(t, http.StatusOK, response.StatusCode)
}
