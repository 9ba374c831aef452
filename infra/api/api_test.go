package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the tests' runs are made of.
var (
	echo  = workflow.New("echo", func(_ workflow.Context, v any) (any, error) { return v, nil })
	fails = workflow.New("fails", func(workflow.Context, struct{}) (int, error) { return 0, errors.New("no luck") })

	approve = workflow.NewSignal[string]("approve")
	addTo   = workflow.NewUpdate[int, int]("add")
	never   = workflow.NewUpdate[int, int]("never")
	total   = workflow.NewQuery[struct{}, int]("total")
	broken  = workflow.NewQuery[struct{}, int]("broken")

	basket = workflow.New("basket", func(ctx workflow.Context, sum int) (string, error) {
		workflow.HandleQuery(ctx, total, func(struct{}) (int, error) { return sum, nil })
		workflow.HandleQuery(ctx, broken, func(struct{}) (int, error) { return 0, errors.New("no answer") })
		workflow.HandleUpdate(ctx, addTo, func(_ workflow.Context, n int) (int, error) {
			sum += n
			return sum, nil
		}, func(n int) error {
			if n < 0 {
				return errors.New("negative")
			}
			return nil
		})
		workflow.HandleUpdate(ctx, never, func(ctx workflow.Context, _ int) (int, error) {
			return 0, workflow.Sleep(ctx, time.Hour)
		})
		workflow.PublishState(ctx, map[string]string{"stage": "open"})
		return workflow.AwaitSignal(ctx, approve)
	})
)

var (
	page    = workflow.NewQuery[int, string]("page")
	printed = workflow.NewUpdate[int, string]("print")

	// library answers with texts of any length.
	library = workflow.New("library", func(ctx workflow.Context, _ struct{}) (string, error) {
		workflow.HandleQuery(ctx, page, func(length int) (string, error) {
			return strings.Repeat("ö", length), nil
		})
		workflow.HandleUpdate(ctx, printed, func(_ workflow.Context, length int) (string, error) {
			return strings.Repeat("ü", length), nil
		})
		return workflow.AwaitSignal(ctx, approve)
	})
)

// reviewer is an activity that is completed from outside: it hands its token to the test.
type reviewer struct{ tokens chan string }

func (r reviewer) activity() *activity.Activity[string, string] {
	return activity.New("review", func(ctx context.Context, _ string) (string, error) {
		r.tokens <- activity.Token(ctx)
		return "", activity.ErrPending
	})
}

// world is a server on a real engine.
type world struct {
	*testing.T
	store   *sqlite.Store
	node    *local.Node
	handler *api.Handler
	server  *httptest.Server
	client  *client.Client
	tokens  chan string
}

func start(t *testing.T, change ...func(*api.Config)) *world {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	r := reviewer{make(chan string, 10)}
	review := r.activity()
	reviewed := workflow.New("reviewed", func(ctx workflow.Context, what string) (string, error) {
		return workflow.Execute(ctx, review, what)
	})
	node, err := local.Start(t.Context(), local.Config{Store: store, TokenKey: bytes.Repeat([]byte("k"), 32), Version: "7",
		AllowWorker: func(_ context.Context, url string) error {
			if !strings.HasPrefix(url, "http://localhost:") {
				return errors.New("worker URL " + url + " is not allowed: no rule allows it")
			}
			return nil
		},
		Definitions:  []workflow.Definition{echo, fails, basket, library, reviewed, review, approve},
		Interpreters: frontend.Interpreters()})
	require.NoError(t, err)
	config := api.Config{Engine: node.Engine, Version: "7", Uptime: func() time.Duration { return 90 * time.Second }, Backlog: node.Backlog}
	for _, c := range change {
		c(&config)
	}
	handler, err := api.New(config)
	require.NoError(t, err)
	w := &world{T: t, store: store, node: node, handler: handler, server: httptest.NewServer(handler), tokens: r.tokens}
	w.client, err = client.New(client.Config{Address: w.server.URL, Poll: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() {
		handler.EndWaits()
		w.client.Close()
		w.server.Close()
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, node.Close())
	})
	return w
}

// call sends a request as it is, and gives the answer.
func (w *world) call(method, path, body string, headers ...string) (*http.Response, string) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+path, strings.NewReader(body))
	require.NoError(w, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(w, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w, err)
	return response, string(text)
}

// problem sends a request that fails.
func (w *world) problem(method, path, body string, headers ...string) client.Problem {
	w.Helper()
	response, text := w.call(method, path, body, headers...)
	require.Equal(w, "application/problem+json", response.Header.Get("Content-Type"), text)
	var p client.Problem
	require.NoError(w, json.Unmarshal([]byte(text), &p))
	require.Equal(w, response.StatusCode, p.Status)
	require.Equal(w, "urn:reprise:problem:"+string(p.Code), p.Type)
	require.NotEmpty(w, p.Title)
	return p
}

// ok sends a request that succeeds with a status.
func (w *world) ok(status int, method, path, body string) map[string]any {
	w.Helper()
	response, text := w.call(method, path, body)
	require.Equal(w, status, response.StatusCode, text)
	var value map[string]any
	if text != "" {
		require.NoError(w, json.Unmarshal([]byte(text), &value), text)
	}
	return value
}
