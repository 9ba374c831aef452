package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/client"
)

// record has the handler answer a request without a connection.
func (w *world) record(r *http.Request) string {
	w.Helper()
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	return problemText(w.T, recorder)
}

func problemText(t *testing.T, recorder *httptest.ResponseRecorder) string {
	t.Helper()
	var p client.Problem
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &p), recorder.Body.String())
	return fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail)
}

func TestBrowsersOfOtherSites(t *testing.T) {
	w := start(t)
	for _, c := range []struct{ listen, host, origin, site, want string }{
		{"127.0.0.1:7717", "127.0.0.1:7717", "", "", ""},
		{"127.0.0.1:7717", "localhost:7717", "", "", ""},
		{"[::1]:7717", "[::1]:7717", "http://[::1]:7717", "same-origin", ""},
		{"127.0.0.1:7717", "localhost", "", "none", ""},
		{"0.0.0.0:80", "flows.example", "http://flows.example", "", ""},
		{"127.0.0.1:7717", "evil.example:7717", "", "", `requests for the host "evil.example:7717" are refused: this server is for this machine alone, use localhost or 127.0.0.1:7717`},
		{"127.0.0.1:7717", "localhost:7717", "http://evil.example", "", "a request from a page of http://evil.example is refused: browsers may use this server only from its own pages"},
		{"127.0.0.1:7717", "localhost:7717", "null", "", "a request from a page of null is refused"},
		{"127.0.0.1:7717", "localhost:7717", "http://localhost:3000", "", "a request from a page of http://localhost:3000 is refused"},
		{"127.0.0.1:7717", "localhost:7717", "", "cross-site", "a request from a page of another site (cross-site) is refused"},
		{"0.0.0.0:80", "flows.example", "http://evil.example", "", "a request from a page of http://evil.example is refused"},
	} {
		t.Run(c.listen+" "+c.host+" "+c.origin, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.host+"/v1/health", nil)
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			recorder := httptest.NewRecorder()
			w.handler.Server(c.listen).Handler.ServeHTTP(recorder, r)
			if c.want == "" {
				require.Equal(t, http.StatusOK, recorder.Code)
				return
			}
			require.Contains(t, problemText(t, recorder), "403 forbidden: "+c.want)
		})
	}
}

func TestServeUntilTheContextEnds(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"id":"b","workflow":"basket","input":1}`)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- w.handler.Serve(ctx, listener) }()
	c, err := client.New(client.Config{Address: "http://" + listener.Addr().String(), Retries: -1})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Health(t.Context()))
	waited := make(chan error)
	go func() {
		_, err := c.Wait(t.Context(), "b") // its first poll is answered, the next one finds nobody
		waited <- err
	}()
	stop()
	require.NoError(t, <-served)
	require.Error(t, <-waited)
}
