package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/infra/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// registry is a server that refuses some requests first, and shows the others.
type registry struct {
	mu      sync.Mutex
	refuses int
	unknown int // heartbeats that it does not know
	got     chan string
}

func (g *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Method == http.MethodPost && r.URL.Path == "/v1/workers" && g.refuses > 0 {
		g.refuses--
		http.Error(w, `{"detail":"not now"}`, http.StatusServiceUnavailable)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/heartbeat") {
		known := g.unknown == 0
		if !known {
			g.unknown--
		}
		_ = json.NewEncoder(w).Encode(map[string]bool{"known": known})
	}
	select {
	case g.got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " +
		string(body):
	default: // further heartbeats
	}
}

// S4.33 S4.34: a worker registers again and again until it is accepted, sends its load, registers
// again where it is not known, and leaves when it stops.
func TestAWorkersLife(t *testing.T) {
	g := &registry{refuses: 2, unknown: 1, got: make(chan string, 100)}
	server := httptest.NewServer(g)
	defer server.Close()
	taken := httptest.NewServer(http.NotFoundHandler()) // its port is in use
	defer taken.Close()
	w := worker.New(worker.Config{Registry: server.URL + "/", URL: taken.URL + "/prefix",
		Token: "secret", ID: "me",
		Heartbeat: 10 * time.Millisecond, Retry: time.Millisecond})
	let, came := make(chan struct{}), make(chan struct{})
	worker.Handle(w, "wait", func(context.Context, any, any) (string, error) {
		came <- struct{}{}
		<-let
		return "done", nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()

	first := <-g.got
	require.True(t, strings.HasPrefix(first,
		`POST /v1/workers Bearer secret {"id":"me","url":"http://127.0.0.1:`), first)
	require.True(t, strings.HasSuffix(first, `/prefix","services":["wait"],"load":0}`), first)
	require.NotContains(t, first, taken.URL)
	_, rest, _ := strings.Cut(first, `"url":"`)
	url, _, _ := strings.Cut(rest, `"`)
	require.Contains(t, <-g.got,
		`POST /v1/workers/heartbeat Bearer secret {"id":"me","url":"`+url+`","load":0}`)
	require.Equal(t, first, <-g.got, "a worker that is not known registers again")

	answered := make(chan string, 1)
	go func() {
		response, err := http.Post(url+"/exec/wait", "application/json", strings.NewReader(`{}`)) //nolint:noctx // a test
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		answered <- string(text)
	}()
	<-came
	for !strings.HasSuffix(<-g.got, `"load":1}`) { // a heartbeat says that a call runs
	}
	cancel()
	close(let)
	require.NoError(t, <-ended)
	require.JSONEq(t, `{"result":"done"}`, <-answered, "a call that runs is answered before the "+
		"worker ends")
	for !strings.HasPrefix(<-g.got, "DELETE /v1/workers Bearer secret") {
	}
	http.DefaultClient.CloseIdleConnections()
}

// S4.29: the body alone says what became of a call.
func TestServices(t *testing.T) {
	w := worker.New(worker.Config{LongestBody: 100})
	type params struct{ By int }
	worker.Handle(w, "times", func(_ context.Context, n int, p params) (int, error) {
		return n * p.By, nil
	})
	worker.Handle(w, "fails", func(context.Context, any, any) (any, error) {
		return nil, errors.New("no luck")
	})
	worker.Handle(w, "quiet", func(context.Context, any, any) (any, error) {
		return nil, errors.New("")
	})
	worker.Handle(w, "panics", func(context.Context, any, any) (any, error) { panic("ouch") })
	worker.Handle(w, "odd", func(context.Context, any, any) (any, error) { return func() {}, nil })
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string
	}{
		{"POST", "/exec/times", `{"input": 6, "params": {"by": 7}}`, 200, `{"result":42}`},
		{"POST", "/prefix/exec/times", `{"input": 6, "params": {"by": 7}}`, 200, `{"result":42}`},
		{"POST", "/exec/times", `{"Input": 6, "more": 1}`, 200, `{"result":0}`},
		{"POST", "/exec/times", `{"input": "6"}`, 200,
			`{"result":null,"error":"input: json: cannot unmarshal string into Go value of type int"}`},
		{"POST", "/exec/times", `[`, 200,
			`{"result":null,"error":"the call is not a JSON object with input and params"}`},
		{"POST", "/exec/times", `{"input":"` + strings.Repeat("x", 100) + `"}`, 200,
			`{"result":null,"error":"the call has more than 100 bytes"}`},
		{"POST", "/exec/fails", `{}`, 200, `{"result":null,"error":"no luck"}`},
		{"POST", "/exec/quiet", `{}`, 200,
			`{"result":null,"error":"an error of type *errors.errorString without a text"}`},
		{"POST", "/exec/panics", `{}`, 200, `{"result":null,"error":"the service panicked: ouch"}`},
		{"POST", "/exec/odd", `{}`, 200,
			`{"result":null,"error":"the result is not JSON: json: unsupported type: func()"}`},
		{"POST", "/exec/none", `{}`, 404, "no service \"none\" here\n"},
		{"GET", "/exec/times", ``, 405, "a service is called with POST\n"},
		{"POST", "/", `{}`, 404, "no service \"\" here\n"},
	} {
		answer := httptest.NewRecorder()
		w.ServeHTTP(answer, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		require.Equal(t, c.status, answer.Code, c.path)
		require.Equal(t, c.answer, answer.Body.String(), c.path)
	}
	page := httptest.NewRequest(http.MethodPost, "/exec/times", strings.NewReader("{}"))
	page.Header.Set("Origin", "http://evil.example")
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, page)
	require.Equal(t, http.StatusForbidden, answer.Code)
}

// A worker that was never registered does not ask to be removed.
func TestAWorkerThatIsRefused(t *testing.T) {
	var said bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		stop()
		if r.Method != http.MethodPost {
			t.Errorf("the worker sent %s %s", r.Method, r.URL)
		}
		http.Error(to, `{"detail":"not allowed"}`, http.StatusBadRequest)
	}))
	defer server.Close()
	w := worker.New(worker.Config{Registry: server.URL, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	worker.Handle(w, "s", func(context.Context, any, any) (any, error) { return nil, nil })
	require.NoError(t, w.Run(ctx))
	require.NotContains(t, said.String(), "removed")
}

func TestServicesKnowTheKeyOfTheirCall(t *testing.T) {
	w := worker.New(worker.Config{})
	worker.Handle(w, "key", func(ctx context.Context, _, _ any) (string, error) {
		return worker.IdempotencyKey(ctx), nil
	})
	for _, key := range []string{"run/1/7", ""} {
		call := httptest.NewRequest(http.MethodPost, "/exec/key", strings.NewReader("{}"))
		call.Header.Set("Idempotency-Key", key)
		answer := httptest.NewRecorder()
		w.ServeHTTP(answer, call)
		require.JSONEq(t, `{"result":"`+key+`"}`, answer.Body.String())
	}
	require.Empty(t, worker.IdempotencyKey(t.Context()))
}

func TestWorkersThatCannotRun(t *testing.T) {
	for want, config := range map[string]worker.Config{
		"worker.Config.URL or WORKER_URL: the worker's URL must be one such as " +
			"http://localhost:9000": {URL: "localhost"},
		"worker.Config.Registry or REGISTRY_URL: the server's URL must be one such as " +
			"http://127.0.0.1:7717": {Registry: "localhost:1"},
		"worker.Config.Listen: the worker cannot listen there: listen tcp 192.0.2.1:1": {URL: "http://localhost:9000", Listen: "192.0.2.1:1"},
		"worker.Config.URL or WORKER_URL: say where the server calls the worker, which listens " +
			"elsewhere": {Listen: "127.0.0.1:0"},
		"the token would go to example.com over plain HTTP":                                          {Registry: "http://example.com", Token: "secret"},
		"worker.Config.URL or WORKER_URL: the worker cannot listen there: listen tcp 192.0.2.1:9000": {URL: "http://192.0.2.1:9000"},
	} {
		w := worker.New(config)
		worker.Handle(w, "s", func(context.Context, any, any) (any, error) { return nil, nil })
		require.ErrorContains(t, w.Run(t.Context()), want)
		require.Panics(t, func() {
			worker.Handle(w, "s", func(context.Context, any, any) (any, error) { return nil, nil })
		})
	}
	require.ErrorContains(t, worker.New(worker.Config{}).Run(t.Context()),
		"the worker offers no service")
}
