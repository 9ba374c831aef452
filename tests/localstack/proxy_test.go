//go:build localstack

package localstack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// proxy stands between the functions and LocalStack. It knows which function each call is of, and kills the process that makes
// the one call that it was told: before the call has reached LocalStack, or after, and before its answer comes back.
type proxy struct {
	address string
	server  *http.Server
	serving sync.WaitGroup
	client  http.Client

	mu      sync.Mutex
	watches map[string]*watch // by the name that all ids of a family of runs begin with
	timer   *watch            // whose the calls of functions/timer are: most of them name no run
}

// place of a call: the n-th of its kind that a function makes for a family of runs.
type place struct {
	function, operation string
	n                   int
}

func (p place) String() string { return fmt.Sprintf("%s, %s %d", p.function, p.operation, p.n) }

// watch is what is watched of one family of runs.
type watch struct {
	counts map[place]int // by places without a number
	calls  []place       // in the order in which they came
	// kill is where the process is killed. The zero place is nowhere.
	kill  place
	after bool // once LocalStack has done what it was asked to
	// killed: it has happened.
	killed bool
}

func newProxy(ctx context.Context) (*proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{address: "http://" + listener.Addr().String(), watches: map[string]*watch{}}
	p.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ConnContext: func(ctx context.Context, connection net.Conn) context.Context {
		return context.WithValue(ctx, callerKey{}, &caller{port: connection.RemoteAddr().(*net.TCPAddr).Port})
	}}
	p.serving.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

func (p *proxy) close() error {
	err := p.server.Close()
	p.serving.Wait()
	return err
}

// watch watches a family of runs from now on.
func (p *proxy) watch(family string, kill place, after bool) *watch {
	w := &watch{counts: map[place]int{}, kill: kill, after: after}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches[family] = w
	return w
}

// watchTimer has all calls of functions/timer counted for one watch; nil: for none.
func (p *proxy) watchTimer(w *watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = w
}

// seen says what has come of a watch.
func (p *proxy) seen(w *watch) (calls []place, killed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]place(nil), w.calls...), w.killed
}

// ServeHTTP hands a call on, and its answer back, unless its caller dies of it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the caller is dead already
	}
	function, pid := r.Context().Value(callerKey{}).(*caller).process(r.Context())
	kill, after := p.meets(function, r, body)
	if kill && !after {
		end(pid)
	}
	response, err := p.forward(r, body)
	if kill && after {
		end(pid)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // as it would see it without the proxy: no answer
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // the caller may be dead
}

// end kills a process, and the call with it.
func end(pid int) {
	_ = syscall.Kill(pid, syscall.SIGKILL) // if it is not there, it is dead
	panic(http.ErrAbortHandler)
}

// forward goes through to the end even if the caller dies meanwhile: LocalStack has the call.
func (p *proxy) forward(r *http.Request, body []byte) (*http.Response, error) {
	request := r.Clone(context.WithoutCancel(r.Context()))
	request.RequestURI, request.URL.Scheme, request.URL.Host = "", "http", strings.TrimPrefix(endpoint(), "http://")
	request.Body, request.ContentLength, request.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return p.client.Do(request)
}

var (
	families  = regexp.MustCompile(`between-\d{6}`)
	queried   = regexp.MustCompile(`":(run|buckets?|partition|listed)":`)
	sortKey   = regexp.MustCompile(`"sk":\{"S":"([a-z]+)`)
	queueName = regexp.MustCompile(`"QueueUrl":"[^"]*/` + stack + `-([A-Za-z]+)-`)
)

// meets counts a call, and says whether it is the one to die of.
func (p *proxy) meets(function string, r *http.Request, body []byte) (kill, after bool) {
	family := families.FindString(r.URL.Path)
	if family == "" {
		family = string(families.Find(body))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.watches[family]
	if function == "timer" {
		w = p.timer
	}
	if w == nil || function == "" {
		return false, false
	}
	at := place{function: function, operation: operation(r, body)}
	w.counts[at]++
	at.n = w.counts[at]
	w.calls = append(w.calls, at)
	if at != w.kill {
		return false, false
	}
	w.killed = true
	return true, w.after
}

// operation names a call: what is asked of which service, and of which sort of row, index or queue.
func operation(r *http.Request, body []byte) string {
	_, name, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !ok {
		return r.Method + " object"
	}
	kinds := []*regexp.Regexp{sortKey, queueName}
	if name == "Query" {
		kinds = []*regexp.Regexp{queried}
	}
	for _, kind := range kinds {
		if of := kind.FindSubmatch(body); of != nil {
			return name + " " + string(of[1])
		}
	}
	return name
}

// caller is the other end of a connection. Requests on one connection come one after the other.
type caller struct {
	port     int
	function string
	pid      int
}

type callerKey struct{}

// process looks who has the socket, among the processes of functions. One that has just started is among them in moments.
func (c *caller) process(ctx context.Context) (function string, pid int) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for c.pid == 0 && ctx.Err() == nil {
		c.find()
		if c.pid == 0 {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return c.function, c.pid
}

func (c *caller) find() {
	socket := socketOf(c.port)
	for _, name := range functions {
		for _, id := range pids(name) {
			if socket != "" && holds(id, socket) {
				c.function, c.pid = name, id
			}
		}
	}
}

var functions = []string{"api", "activate", "task", "timer", "deadletter"}

// socketOf gives the link that a process has to its end of a connection from a local port.
func socketOf(port int) string {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return ""
	}
	local := fmt.Sprintf("0100007F:%04X", port)
	for _, line := range strings.Split(string(table), "\n") {
		const localAddress, inode = 1, 9
		if fields := strings.Fields(line); len(fields) > inode && fields[localAddress] == local {
			return "socket:[" + fields[inode] + "]"
		}
	}
	return ""
}

func holds(pid int, socket string) bool {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false // it has ended
	}
	for _, entry := range entries {
		if link, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && link == socket {
			return true
		}
	}
	return false
}
