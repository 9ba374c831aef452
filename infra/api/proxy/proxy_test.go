package proxy_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/proxy"
	"github.com/reprise-run/reprise/infra/aws/signing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// through starts an API at /prod and a proxy before it, and gives the proxy's address.
func through(t *testing.T, config proxy.Config, api http.HandlerFunc) string {
	t.Helper()
	behind := httptest.NewServer(http.StripPrefix("/prod", api))
	t.Cleanup(behind.Close)
	config.Address = behind.URL + "/prod"
	return before(t, config)
}

// before starts a proxy with a token, unless it has a transport.
func before(t *testing.T, config proxy.Config) string {
	t.Helper()
	c, err := client.New(client.Config{Address: config.Address, Token: "ours"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	if config.Transport == nil {
		config.Transport = c.Transport()
	}
	config.Listen = "127.0.0.1:8071"
	handler, err := proxy.New(config)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(nil)
	server.Config = proxy.Server(handler)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// ask sends a request, and gives the status and the body of the answer.
func ask(
	t *testing.T, method, address string, headers map[string]string, body io.Reader,
) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, body)
	require.NoError(t, err)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return response.StatusCode, string(text)
}

// The API gets the request as the caller sent it, with the credentials of the proxy alone.
func TestForwards(t *testing.T) {
	var got *http.Request
	address := through(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Reprise-Next", "7")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.Copy(w, r.Body)
	})
	status, text := ask(t, http.MethodPut,
		address+"/v1/runs/a%2Fb%20c?wait=1s&attribute=z%3D%22%C3%A4%2B%22", map[string]string{
			"Authorization":        "Bearer theirs",
			"Cookie":               "a=b",
			"X-Amz-Security-Token": "t",
			"X-Amz-Date":           "d",
			"X-Api-Key":            "k",
			"Proxy-Authorization":  "Basic eA==",
			"Content-Type":         "application/json",
			"Sec-Fetch-Site":       "none",
			"Referer":              "http://127.0.0.1/",
			"Accept-Language":      "de"}, strings.NewReader(`{"input":1}`))
	require.Equal(t, http.StatusAccepted, status)
	require.JSONEq(t, `{"input":1}`, text)
	require.Equal(t, "/prod/v1/runs/a%2Fb%20c?wait=1s&attribute=z%3D%22%C3%A4%2B%22",
		got.RequestURI)
	require.Equal(t, http.MethodPut, got.Method)
	require.Equal(t, []string{"Bearer ours"}, got.Header.Values("Authorization"))
	require.Equal(t, "de", got.Header.Get("Accept-Language"))
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	for _, name := range []string{"Cookie", "X-Amz-Security-Token", "X-Amz-Date", "X-Api-Key",
		"Proxy-Authorization", "Sec-Fetch-Site", "Referer", "X-Forwarded-For"} {
		require.Empty(t, got.Header.Values(name), name)
	}
}

// answerTo sends a request on a connection of its own.
func answerTo(t *testing.T, request *http.Request) *http.Response {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// Bodies pass as they come, both ways: the answer begins before the request has ended.
func TestStreams(t *testing.T) {
	address := through(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		w.WriteHeader(http.StatusOK)
		_ = control.Flush()
		part := make([]byte, 1)
		for {
			if _, err := io.ReadFull(r.Body, part); err != nil {
				return
			}
			_, _ = w.Write(part)
			_ = control.Flush()
		}
	})
	read, write := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/v1/x", read)
	require.NoError(t, err)
	response := answerTo(t, request)
	for _, sent := range []byte("abc") {
		_, err := write.Write([]byte{sent})
		require.NoError(t, err)
		got := make([]byte, 1)
		_, err = io.ReadFull(response.Body, got)
		require.NoError(t, err)
		require.Equal(t, sent, got[0])
	}
	require.NoError(t, write.Close())
	rest, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Empty(t, rest)
}

func TestLargeBodies(t *testing.T) {
	address := through(t, proxy.Config{}, func(w http.ResponseWriter, r *http.Request) {
		hash := sha256.New()
		n, err := io.Copy(hash, r.Body)
		_, _ = fmt.Fprintf(w, "%d %x %v %s", n, hash.Sum(nil), err, strings.Repeat("y", 20<<20))
	})
	body := make([]byte, 20<<20)
	_, _ = rand.Read(body)
	status, text := ask(t, http.MethodPost, address+"/v1/x", nil, bytes.NewReader(body))
	require.Equal(t, http.StatusOK, status)
	want := fmt.Sprintf("%d %x <nil> ", len(body), sha256.Sum256(body))
	require.True(t, strings.HasPrefix(text, want), "%.200s", text)
	require.Len(t, text, len(want)+20<<20)
}

// A request that is signed has a body of a limited length, and a caller cannot add to the
// signature.
func TestSigns(t *testing.T) {
	var got []*http.Request
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	signed := signing.New(signing.Config{Region: "eu-west-1", Next: transport,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")})
	address := through(t, proxy.Config{Transport: signed, LongestBody: 100},
		func(_ http.ResponseWriter, r *http.Request) {
			got = append(got, r)
		})
	status, text := ask(t, http.MethodPost, address+"/v1/runs",
		map[string]string{"Authorization": "AWS4-HMAC-SHA256 theirs",
			"X-Amz-Security-Token": "theirs"}, strings.NewReader(strings.Repeat("x", 100)))
	require.Equal(t, http.StatusOK, status, text)
	require.Len(t, got, 1)
	require.Contains(t, got[0].Header.Get("Authorization"), "Credential=AKIDEXAMPLE/")
	require.Empty(t, got[0].Header.Get("X-Amz-Security-Token"))

	status, text = ask(t, http.MethodPost, address+"/v1/runs", nil,
		strings.NewReader(strings.Repeat("x", 101)))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Contains(t, text, "longer than the 100 bytes")
	require.Len(t, got, 1)
}

// What the API did not get may be repeated by each client. What it may have done may not.
func TestErrors(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	status, text := ask(t, http.MethodGet, before(t, proxy.Config{Address: gone.URL})+"/v1/runs",
		nil, nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	problem := client.Problem{}
	require.NoError(t, json.Unmarshal([]byte(text), &problem))
	require.Equal(t, port.Unavailable, problem.Code)
	require.Contains(t, problem.Detail,
		"the proxy does not reach the API at "+strings.TrimPrefix(gone.URL, "http://"))

	cut := through(t, proxy.Config{}, func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})
	status, text = ask(t, http.MethodPost, cut+"/v1/runs", nil, strings.NewReader("{}"))
	require.Equal(t, http.StatusBadGateway, status)
	require.Contains(t, text, `{"message":"the proxy got no answer from the API at`)

	refuses := through(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "as it is")
	})
	status, text = ask(t, http.MethodGet, refuses+"/v1/runs", nil, nil)
	require.Equal(t, []any{http.StatusTeapot, "as it is"}, []any{status, text})
	for _, path := range []string{"/../other", "/v1/%2e%2e/x", "/v1/./x"} {
		status, text = ask(t, http.MethodGet, refuses+path, nil, nil)
		require.Equal(t, http.StatusBadRequest, status, path)
		require.Contains(t, text, "could lead out of the API")
	}
	status, _ = ask(t, http.MethodGet, refuses+"/v1/runs?a=%zz", nil, nil)
	require.Equal(t, http.StatusBadRequest, status)
}

// An answer that breaks off is not taken for a whole one.
func TestAnswerThatBreaksOff(t *testing.T) {
	address := through(t, proxy.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "the first half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/v1/runs", nil)
	require.NoError(t, err)
	response := answerTo(t, request)
	_, err = io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// The request of a caller that goes away is canceled.
func TestCallerGoesAway(t *testing.T) {
	came, ended := make(chan struct{}), make(chan struct{})
	address := through(t, proxy.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
		close(ended)
	})
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/v1/runs/r?wait=20s",
		nil)
	require.NoError(t, err)
	go func() { <-came; leave() }()
	_, err = http.DefaultTransport.RoundTrip(request)
	require.ErrorIs(t, err, context.Canceled)
	<-ended
}

// Pages of other sites, and names that a site points here, do not get the credentials.
func TestPagesOfOtherSites(t *testing.T) {
	asked := 0
	address := through(t, proxy.Config{}, func(http.ResponseWriter, *http.Request) { asked++ })
	for _, headers := range []map[string]string{{"Origin": "http://evil.example"},
		{"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}} {
		status, text := ask(t, http.MethodPost, address+"/v1/runs", headers,
			strings.NewReader("{}"))
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, text, "a request from a page of")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/v1/runs", nil)
	require.NoError(t, err)
	request.Host = "evil.example"
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	require.Zero(t, asked)

	status, _ := ask(t, http.MethodPost, address+"/v1/runs",
		map[string]string{"Origin": address,
			"Sec-Fetch-Site": "same-origin"}, strings.NewReader("{}"))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, asked)
}
