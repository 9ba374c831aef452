package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
)

// listening is a world whose server is the one that people run, with its limits of connections.
func listening(t *testing.T, change func(*api.Config)) *world {
	t.Helper()
	w := start(t, change)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- w.handler.Serve(ctx, listener) }()
	w.server.Close()
	w.server.URL = "http://" + listener.Addr().String()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		require.NoError(t, <-served)
	})
	return w
}

// wait has n requests wait, and gives what ends their wait.
func (w *world) wait(n int) (end func()) {
	w.Helper()
	c, err := client.New(client.Config{Address: w.server.URL, Retries: 1000}) // a probe may have been in the way
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, n)
	for range n {
		go func() {
			_, err := c.Wait(ctx, "b")
			ended <- err
		}()
	}
	return func() {
		cancel()
		for range n {
			require.Error(w, <-ended)
		}
		c.Close()
	}
}

func TestWaitsLeaveRoomForOthers(t *testing.T) {
	const most = 3
	w := start(t, func(c *api.Config) { c.Limits = api.Limits{Waits: most, Requests: most + 1} })
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	end := w.wait(most)
	var response *http.Response
	var text string
	require.Eventually(t, func() bool {
		response, text = w.call("GET", "/v1/runs/b?wait=1ms", "")
		return response.StatusCode == http.StatusServiceUnavailable
	}, time.Minute, 100*time.Millisecond) // seldom: a probe that waits takes the place of those who are to wait
	require.Contains(t, text, "3 requests wait at this moment, and there are no more at a time: try again, or ask without wait")
	require.Equal(t, "1", response.Header.Get("Retry-After"))

	w.ok(200, "GET", "/v1/runs/b", "")
	require.Equal(t, "running", w.ok(201, "POST", "/v1/runs?wait=50s", `{"run":"c","workflow":"basket","input":1}`)["status"], "it is started, whoever waits")
	w.ok(202, "POST", "/v1/runs/b/updates/never?wait=50s", "")
	end()
	require.Eventually(t, func() bool {
		response, _ := w.call("GET", "/v1/runs/b?wait=1ms", "")
		return response.StatusCode == http.StatusOK
	}, time.Minute, time.Millisecond)
}

func TestWaitsAreCutShort(t *testing.T) {
	w := start(t, func(c *api.Config) { c.LongestWait = time.Millisecond })
	w.ok(201, "POST", "/v1/runs?wait=1000h", `{"run":"b","workflow":"basket","input":1}`)
	require.Equal(t, "running", w.ok(200, "GET", "/v1/runs/b?wait=1000h", "")["status"])
}

func TestSoManyRequestsAtATime(t *testing.T) {
	w := start(t, func(c *api.Config) { c.Limits.Requests = 2 })
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	end := w.wait(2)
	var text string
	require.Eventually(t, func() bool {
		var response *http.Response
		response, text = w.call("GET", "/v1/info", "")
		return response.StatusCode == http.StatusServiceUnavailable
	}, 5*time.Second, time.Millisecond)
	require.Contains(t, text, "2 requests are worked on at this moment")
	w.ok(200, "GET", "/v1/health", "")
	end()
	require.Eventually(t, func() bool {
		response, _ := w.call("GET", "/v1/info", "")
		return response.StatusCode == http.StatusOK
	}, 5*time.Second, time.Millisecond)
}

// TestBodiesTogether: what is promised in Content-Length counts before it has come.
func TestBodiesTogether(t *testing.T) {
	w := start(t, func(c *api.Config) { c.Memory = memory.New(1_000_000) })
	body, promised := io.Pipe()
	read := make(chan struct{}) // the server has found room for it, and begins to read
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(read) }})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server.URL+"/v1/runs", body)
	require.NoError(t, err)
	r.ContentLength = 200_000
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue")
	ended := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			err = response.Body.Close()
		}
		ended <- err
	}()
	<-read
	large := `{"workflow":"echo","input":"` + strings.Repeat("x", 100_000) + `"}`
	response, text := w.call("POST", "/v1/runs", large)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Contains(t, text, "the runs and requests that are worked on hold 800000 of 1000000 bytes")
	w.ok(201, "POST", "/v1/runs", `{"workflow":"echo","input":1}`)
	require.NoError(t, promised.CloseWithError(errors.New("gives up")))
	require.Error(t, <-ended)
	require.Eventually(t, func() bool {
		response, _ := w.call("POST", "/v1/runs", large)
		return response.StatusCode == http.StatusCreated
	}, 20*time.Second, 10*time.Millisecond)
}

func TestSoManyConnections(t *testing.T) {
	const most = 4
	said := &lines{}
	w := listening(t, func(c *api.Config) {
		c.Limits.Connections = most
		c.Logger = slog.New(slog.NewTextHandler(said, nil))
	})
	var idle []net.Conn
	dial := func() net.Conn {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.server.URL, "http://"))
		require.NoError(t, err)
		return connection
	}
	ask := func(connection net.Conn) error {
		fmt.Fprintf(connection, "GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	for range most {
		idle = append(idle, dial())
		require.NoError(t, ask(idle[len(idle)-1]))
	}
	refused := dial()
	require.Error(t, ask(refused))
	require.NoError(t, refused.Close())
	require.Contains(t, said.text(), "connections are refused: there are too many")
	for _, connection := range idle {
		require.NoError(t, ask(connection), "those that are there are served")
	}
	for _, connection := range idle {
		require.NoError(t, connection.Close())
	}
	require.Eventually(t, func() bool {
		connection := dial()
		defer connection.Close()
		return ask(connection) == nil
	}, 5*time.Second, time.Millisecond)
}

func TestHeadersThatAreTooLong(t *testing.T) {
	w := listening(t, func(*api.Config) {})
	response, _ := w.call("GET", "/v1/health", "", "X-Long", strings.Repeat("x", 80<<10))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
}

// lines is what a logger has written.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
