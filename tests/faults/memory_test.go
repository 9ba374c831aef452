//go:build faults

package faults

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
)

// mostMemory is what the kernel lets the server have, where this test may make a control group.
const mostMemory = 1 << 30

// TestLittleMemory: the server is told to use 512 MiB. More runs wait than fit, more large values
// come at a time than fit, and many callers take theirs slowly. The server refuses what it must
// with 503, and ends nothing.
//
// FAULTS_LARGE says how many runs wait; 1000 is the whole load, for minutes and 15 GB of disk.
func TestLittleMemory(t *testing.T) {
	ctx := t.Context()
	runs, waiting, starts := number(t, "FAULTS_LARGE", 30), value(5_000_000), 3
	if runs >= 1000 {
		starts = 20
	}
	s := newServer(t, enclosed(t)...)
	s.Flags = []string{"--memory", "512MiB"}
	s.Start()
	c := s.Client()
	s.Await(ctx, c)
	h := &harness{t: t, base: "http://" + s.Address}
	started := time.Now()
	h.together(8, runs, func(i int) { h.start(ctx, fmt.Sprint("waiting-", i), waiting) })
	t.Logf("%d runs of 5 MB: %s, %d answers of 503, peak %s", runs, since(started), h.refused.Swap(0), memory(t, s.PID()))

	started = time.Now()
	large := value(history.MaxPayload - 1000)
	h.together(starts, starts, func(i int) { h.start(ctx, fmt.Sprint("large-", i), large) })
	t.Logf("%d starts of 50 MB at a time: %s, %d answers of 503, peak %s", starts, since(started), h.refused.Swap(0), memory(t, s.PID()))

	started = time.Now()
	readers, done := context.WithCancel(ctx)
	var reading sync.WaitGroup
	var served, refused atomic.Int64
	for range 200 {
		reading.Go(func() { h.readSlowly(readers, "large-0", &served, &refused) })
	}
	require.Eventually(t, func() bool { return served.Load() == 200 }, 5*time.Minute, 10*time.Millisecond,
		"a reader that takes its time holds little, so that all are served at a time")
	t.Logf("200 slow readers: all served after %s, %d answers of 503, peak %s", since(started), refused.Load(), memory(t, s.PID()))
	for i := range 20 { // others are served meanwhile
		run := fmt.Sprint("small-", i)
		require.NoError(t, begin(ctx, c, napping.Name(), run, []int{1}))
		ended(ctx, t, c, run)
	}
	page, err := c.List(ctx, port.ListQuery{Limit: 50})
	require.NoError(t, err)
	require.Equal(t, 50, len(page.Runs), "a list of large runs is not shorter")
	done()
	reading.Wait()
	t.Logf("others were served meanwhile: %s, peak %s", since(started), memory(t, s.PID()))

	started = time.Now()
	checked := min(runs, 20)
	h.together(8, checked, func(i int) {
		run := fmt.Sprint("waiting-", i*(runs/checked))
		_, err := c.Signal(ctx, engine.MessageRequest{Run: run, ID: "go"}, goOn.Name(), history.Payload("1"))
		require.NoError(t, err)
		ended(ctx, t, c, run)
		summary, err := c.Get(ctx, run)
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(len(waiting)-2), string(summary.Result))
	})
	var read bytes.Buffer
	require.NoError(t, h.patient().Value(ctx, fmt.Sprint("large-", starts-1), port.ValueInput, &read))
	require.True(t, bytes.Equal(read.Bytes(), large), "a large value comes back as it was")
	t.Logf("%d of them go on, and a large value is read: %s, peak %s", checked, since(started), memory(t, s.PID()))
	s.Stop()
}

func since(t time.Time) time.Duration { return time.Since(t).Round(100 * time.Millisecond) }

// value is a JSON string of so many bytes.
func value(length int) history.Payload {
	return history.Payload(`"` + strings.Repeat("x", length-2) + `"`)
}

// harness sends requests, again as often as the server says that it has no room.
type harness struct {
	t       *testing.T
	base    string
	refused atomic.Int64
}

// patient is a client that repeats its calls for a long time.
func (h *harness) patient() *client.Client {
	c, err := client.New(client.Config{Address: h.base, Retries: 100})
	require.NoError(h.t, err)
	h.t.Cleanup(c.Close)
	return c
}

// together does something n times, so many at a time.
func (h *harness) together(atOnce, n int, do func(i int)) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range atOnce {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

// start starts a run, and counts the answers of 503. Each must say when to try again.
func (h *harness) start(ctx context.Context, run string, input history.Payload) {
	head := fmt.Sprintf(`{"run":%q,"workflow":%q,"input":`, run, holding.Name())
	const longest = 10 * time.Minute // a slow disk takes its time
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for ctx.Err() == nil {
		body := io.MultiReader(strings.NewReader(head), bytes.NewReader(input), strings.NewReader("}"))
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+"/v1/runs", body)
		require.NoError(h.t, err)
		request.ContentLength = int64(len(head) + len(input) + 1)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode < http.StatusBadRequest {
				return
			}
			require.Equal(h.t, http.StatusServiceUnavailable, response.StatusCode, "%s: %s", run, text)
			require.NotEmpty(h.t, response.Header.Get("Retry-After"))
		} // else it was refused before it was sent whole
		h.refused.Add(1)
		_ = wait(ctx, 200*time.Millisecond)
	}
	h.t.Errorf("run %s was not started", run)
}

// readSlowly asks for a large value, again as often as it is refused, and takes 32 KB of it each tenth
// of a second.
func (h *harness) readSlowly(ctx context.Context, run string, served, refused *atomic.Int64) {
	for ctx.Err() == nil && !h.readOnce(ctx, run, served) {
		if ctx.Err() == nil {
			refused.Add(1)
		}
		_ = wait(ctx, time.Second)
	}
}

// readOnce says whether the value was given.
func (h *harness) readOnce(ctx context.Context, run string, served *atomic.Int64) bool {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(h.base, "http://"))
	if err != nil {
		return false
	}
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	_ = connection.(*net.TCPConn).SetReadBuffer(32 << 10)
	fmt.Fprintf(connection, "GET /v1/runs/%s/values/input HTTP/1.1\r\nHost: localhost\r\n\r\n", run)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
			h.t.Errorf("a reader was answered %s", response.Status)
		}
		return false
	}
	served.Add(1)
	for ctx.Err() == nil {
		if _, err := io.CopyN(io.Discard, response.Body, 32<<10); err != nil {
			return true
		}
		_ = wait(ctx, 100*time.Millisecond)
	}
	return true
}

// enclosed is what runs a command within a control group that may have [mostMemory]. Where this
// user cannot make one, the command runs without, and the test says so: then the peak that it
// prints is all there is.
func enclosed(t *testing.T) []string {
	t.Helper()
	parent, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		parent, file = "/sys/fs/cgroup", "memory.max"
	}
	group := filepath.Join(parent, fmt.Sprintf("reprise-faults-%d", os.Getpid()))
	err := os.Mkdir(group, 0o755)
	if err == nil {
		t.Cleanup(func() { _ = os.Remove(group) })
		err = os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(mostMemory)), 0o600)
	}
	if err != nil {
		t.Logf("this user cannot make a control group, so nothing but the server itself bounds its memory: %v", err)
		return nil
	}
	t.Logf("the server may have %d MiB, by the control group %s", mostMemory>>20, group)
	return []string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group}
}
