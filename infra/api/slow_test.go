package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
)

// pipes is a listener whose connections are made in memory, so that time can pass in a bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	connection, more := <-p
	if !more {
		return nil, net.ErrClosed
	}
	return connection, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7717} }

// slowly has a server, in time that skips, serve a caller who has just connected.
func slowly(t *testing.T, call func(t *testing.T, connection net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ports := instant{}
		e, err := engine.New(port.Ports{Runs: ports, Queue: ports, Clock: ports,
			NewID: func() string {
				return "abcdefghijklmnopqrstuvwxyz"
			}, Together: true},
			engine.Config{Definitions: []workflow.Definition{echo}})
		require.NoError(t, err)
		handler, err := api.New(api.Config{Engine: e})
		require.NoError(t, err)
		server := handler.Server("127.0.0.1:7717")
		listener := make(pipes)
		served := make(chan error)
		go func() { served <- server.Serve(listener) }()
		near, far := net.Pipe()
		listener <- far
		call(t, near)
		require.NoError(t, near.Close())
		close(listener)
		require.NoError(t, server.Close())
		require.Error(t, <-served)
	})
}

// trickle writes a text byte by byte, with a pause before each, until nobody takes it any more.
func trickle(connection net.Conn, text string, pause time.Duration) {
	for i := range len(text) {
		<-time.After(pause)
		if _, err := connection.Write([]byte(text[i : i+1])); err != nil {
			return
		}
	}
}

// ended is how long it takes until the server ends the connection, and what it has said by then.
func ended(t *testing.T, connection net.Conn) (time.Duration, string) {
	t.Helper()
	begun := time.Now()
	said, _ := io.ReadAll(connection)
	return time.Since(begun), string(said)
}

const startHead = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

func TestSlowCallers(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		head, slow string
		within     time.Duration
		says       string
	}{
		"says nothing":                   {"", "", 10 * time.Second, ""},
		"headers that trickle":           {"GET /v1/health HTTP/1.1\r\n", "X-Slow: " + long, 10 * time.Second, ""},
		"a body that trickles":           {startHead + "Content-Length: 1000\r\n\r\n", long, 30 * time.Second, "408 Request Timeout"},
		"a body that does not come":      {startHead + "Content-Length: 1000\r\n\r\n", "", 30 * time.Second, "the request's body came too slowly: 0 bytes in 30s"},
		"chunks that trickle":            {startHead + "Transfer-Encoding: chunked\r\n\r\n", "3e8\r\n" + long, 30 * time.Second, "came too slowly"},
		"a body that nobody reads":       {"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", long, 30 * time.Second, "200 OK"},
		"a body of a request in vain":    {"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", long, 30 * time.Second, "404 Not Found"},
		"a body of a page of elsewhere":  {"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\nContent-Length: 1000\r\n\r\n", long, 30 * time.Second, "403 Forbidden"},
		"nothing after the first answer": {"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n", "", 2 * time.Minute, "200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			slowly(t, func(t *testing.T, connection net.Conn) {
				t.Helper()
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = io.WriteString(connection, c.head)
					trickle(connection, c.slow, time.Second)
				}()
				took, said := ended(t, connection)
				require.LessOrEqual(t, took, c.within+time.Second)
				require.Contains(t, said, c.says)
				require.NoError(t, connection.Close())
				<-done
			})
		})
	}
}

// TestSteadyCallers: who sends a long body at a modest pace is served, also by one connection after another pause.
func TestSteadyCallers(t *testing.T) {
	slowly(t, func(t *testing.T, connection net.Conn) {
		t.Helper()
		answers := bufio.NewReader(connection)
		for range 2 {
			body := `{"workflow":"echo","input":"` + strings.Repeat("x", 4<<20) + `"}`
			fmt.Fprintf(connection, "%sContent-Length: %d\r\n\r\n", startHead, len(body))
			for len(body) > 0 {
				n := min(len(body), 64<<10)
				_, err := io.WriteString(connection, body[:n])
				require.NoError(t, err)
				body = body[n:]
				<-time.After(time.Second)
			}
			response, err := http.ReadResponse(answers, nil)
			require.NoError(t, err)
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusCreated, response.StatusCode, string(text[:min(len(text), 200)]))
			<-time.After(time.Minute)
		}
	})
}

// TestAnswersThatNobodyReads: a caller who does not take an answer cannot keep it for ever.
func TestAnswersThatNobodyReads(t *testing.T) {
	slowly(t, func(t *testing.T, connection net.Conn) {
		t.Helper()
		body := `{"workflow":"echo","input":"` + strings.Repeat("x", 4<<20) + `"}`
		fmt.Fprintf(connection, "%sContent-Length: %d\r\n\r\n%s", startHead, len(body), body)
		<-time.After(10 * time.Minute)
		_, said := ended(t, connection)
		require.Less(t, len(said), 4<<20, "the rest was given up")
	})
}
