package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
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

// TestBrowsersOfOtherSites: what pages of other sites can have a browser send, and names that they can have it send it to.
func TestBrowsersOfOtherSites(t *testing.T) {
	w := start(t)
	const start = `{"workflow":"echo","input":1}`
	type headers map[string]string
	page := headers{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
	for name, c := range map[string]struct {
		listen, method, host string
		headers              headers
		want                 string // empty: the API answers
	}{
		"no browser":                      {"127.0.0.1:7717", "POST", "127.0.0.1:7717", nil, ""},
		"no browser, no port":             {"127.0.0.1:7717", "POST", "localhost", nil, ""},
		"no browser, HTTP 1.0":            {"127.0.0.1:7717", "POST", "", nil, ""},
		"another loopback address":        {"127.0.0.1:7717", "POST", "127.9.9.9:7717", nil, ""},
		"its own page":                    {"[::1]:7717", "POST", "[::1]:7717", headers{"Origin": "http://[::1]:7717", "Sec-Fetch-Site": "same-origin"}, ""},
		"its own page, older browser":     {"0.0.0.0:80", "POST", "flows.example", headers{"Origin": "http://flows.example"}, ""},
		"typed into the address bar":      {"127.0.0.1:7717", "GET", "localhost:7717", headers{"Sec-Fetch-Site": "none"}, ""},
		"fetch":                           {"127.0.0.1:7717", "POST", "localhost:7717", page, "a request from a page of http://evil.example is refused"},
		"fetch no-cors, text/plain":       {"127.0.0.1:7717", "POST", "localhost:7717", headers{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}, "a request from a page"},
		"form":                            {"127.0.0.1:7717", "POST", "localhost:7717", headers{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "application/x-www-form-urlencoded"}, "a request from a page"},
		"form, multipart":                 {"127.0.0.1:7717", "POST", "localhost:7717", headers{"Origin": "http://evil.example", "Content-Type": "multipart/form-data; boundary=x"}, "a request from a page"},
		"sandboxed frame":                 {"127.0.0.1:7717", "POST", "localhost:7717", headers{"Origin": "null"}, "a request from a page of null is refused"},
		"file, data address":              {"127.0.0.1:7717", "POST", "localhost:7717", headers{"Origin": "null", "Sec-Fetch-Site": "cross-site"}, "a request from a page of null is refused"},
		"no Origin, as of an image":       {"127.0.0.1:7717", "GET", "localhost:7717", headers{"Sec-Fetch-Site": "cross-site"}, "a request from a page of another site (cross-site) is refused"},
		"script, older browser":           {"127.0.0.1:7717", "GET", "localhost:7717", headers{"Origin": "http://evil.example"}, "a request from a page"},
		"HEAD":                            {"127.0.0.1:7717", "HEAD", "localhost:7717", page, "a request from a page"},
		"preflight":                       {"127.0.0.1:7717", "OPTIONS", "localhost:7717", page, "a request from a page"},
		"beacon":                          {"127.0.0.1:7717", "POST", "localhost:7717", headers{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "application/json"}, "a request from a page"},
		"websocket":                       {"127.0.0.1:7717", "GET", "localhost:7717", headers{"Origin": "http://evil.example", "Connection": "Upgrade", "Upgrade": "websocket"}, "a request from a page"},
		"another server here":             {"127.0.0.1:7717", "POST", "localhost:7717", headers{"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}, "a request from a page of http://localhost:3000"},
		"another server here, GET":        {"127.0.0.1:7717", "GET", "localhost:7717", headers{"Sec-Fetch-Site": "same-site"}, "a request from a page of another site (same-site)"},
		"another name of its own":         {"127.0.0.1:7717", "POST", "127.0.0.1:7717", headers{"Origin": "http://localhost:7717"}, "a request from a page of http://localhost:7717"},
		"a site that a value has no name": {"127.0.0.1:7717", "POST", "localhost:7717", headers{"Sec-Fetch-Site": "nonsense"}, "a request from a page"},
		"served beyond this machine":      {"0.0.0.0:80", "POST", "flows.example", page, "a request from a page"},

		"rebound name":               {"127.0.0.1:7717", "POST", "evil.example:7717", headers{"Origin": "http://evil.example:7717", "Sec-Fetch-Site": "same-origin"}, `requests for the host "evil.example:7717" are refused: this server is for this machine alone, use localhost or 127.0.0.1:7717`},
		"rebound name, GET":          {"127.0.0.1:7717", "GET", "evil.example:7717", headers{"Sec-Fetch-Site": "same-origin"}, "requests for the host"},
		"rebound name, no header":    {"[::1]:7717", "GET", "evil.example", nil, "requests for the host"},
		"localhost of somebody":      {"127.0.0.1:7717", "GET", "localhost.evil.example:7717", nil, "requests for the host"},
		"an address's name":          {"127.0.0.1:7717", "GET", "127.0.0.1.evil.example", nil, "requests for the host"},
		"trailing dot":               {"127.0.0.1:7717", "GET", "localhost.:7717", nil, "requests for the host"},
		"trailing dot of an address": {"127.0.0.1:7717", "GET", "127.0.0.1.:7717", nil, "requests for the host"},
		"decimal":                    {"127.0.0.1:7717", "GET", "2130706433:7717", nil, "requests for the host"},
		"octal":                      {"127.0.0.1:7717", "GET", "0177.0.0.1:7717", nil, "requests for the host"},
		"short":                      {"127.0.0.1:7717", "GET", "127.1:7717", nil, "requests for the host"},
		"any address":                {"127.0.0.1:7717", "GET", "0.0.0.0:7717", nil, "requests for the host"},
		"any address of IPv6":        {"[::1]:7717", "GET", "[::]:7717", nil, "requests for the host"},
		"address of the network":     {"127.0.0.1:7717", "GET", "10.0.0.7:7717", nil, "requests for the host"},
		"with a user's name":         {"127.0.0.1:7717", "GET", "localhost@evil.example", nil, "requests for the host"},
	} {
		t.Run(name, func(t *testing.T) {
			path, body := "/v1/runs", start
			if c.method != http.MethodPost {
				body = ""
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, path, strings.NewReader(body))
			r.Host = c.host
			for name, value := range c.headers {
				r.Header.Set(name, value)
			}
			recorder := httptest.NewRecorder()
			w.handler.Server(c.listen).Handler.ServeHTTP(recorder, r)
			require.Empty(t, recorder.Header().Get("Access-Control-Allow-Origin"))
			if c.want == "" {
				require.Less(t, recorder.Code, 300, recorder.Body.String())
				return
			}
			require.Contains(t, problemText(t, recorder), "403 forbidden: "+c.want)
		})
	}
	runs, err := w.client.List(t.Context(), port.ListQuery{})
	require.NoError(t, err)
	require.Len(t, runs.Runs, 6, "what was refused started nothing")
}

func TestServeUntilTheContextEnds(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
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
