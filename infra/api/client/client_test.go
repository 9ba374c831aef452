package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type cart struct {
	Items []string `json:"items"`
}

var (
	add    = workflow.NewUpdate[string, int]("add")
	size   = workflow.NewQuery[struct{}, int]("size")
	note   = workflow.NewSignal[string]("note")
	pay    = workflow.NewSignal[struct{}]("pay")
	nobody = workflow.Declare[string, string]("nobody")
	order  = workflow.New("order", func(ctx workflow.Context, c cart) (cart, error) {
		workflow.HandleQuery(ctx, size, func(struct{}) (int, error) { return len(c.Items), nil })
		workflow.HandleSignal(ctx, note, func(_ workflow.Context, text string) error {
			c.Items = append(c.Items, text)
			return nil
		})
		workflow.HandleUpdate(ctx, add, func(_ workflow.Context, item string) (int, error) {
			if item == "broken" {
				return 0, errors.New("it broke")
			}
			c.Items = append(c.Items, item)
			return len(c.Items), nil
		}, func(item string) error {
			if item == "" {
				return errors.New("no item")
			}
			return nil
		})
		_, err := workflow.AwaitSignal(ctx, pay)
		return c, err
	})
	failing = workflow.New("failing", func(workflow.Context, string) (string, error) { return "", errors.New("no luck") })
)

// door is the API of a real engine, behind a fault that a test can switch on.
type door struct {
	*client.Client
	address string
	api     http.Handler
	// fault answers a request instead of the API, if it says so.
	fault atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

func open(t *testing.T) *door {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), sqlite.Options{})
	require.NoError(t, err)
	node, err := local.Start(t.Context(), local.Config{Store: store, Definitions: []workflow.Definition{order, failing}})
	require.NoError(t, err)
	handler, err := api.New(api.Config{Engine: node.Engine, Version: "1"})
	require.NoError(t, err)
	d := &door{api: handler}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := d.fault.Load(); fault == nil || !(*fault)(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	d.address = server.URL
	d.Client, err = client.New(client.Config{Address: server.URL, Poll: 50 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() {
		handler.EndWaits()
		d.Close()
		server.Close()
		require.NoError(t, node.Close())
	})
	return d
}

func TestTyped(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	run, err := client.Start(ctx, d.Client, order, "o-1", cart{Items: []string{"book"}})
	require.NoError(t, err)
	again, err := client.Start(ctx, d.Client, order, "o-1", cart{Items: []string{"book"}})
	require.NoError(t, err)
	require.Equal(t, run.ID, again.ID)
	n, err := client.Update(ctx, d.Client, run.ID, add, "pen")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = client.Update(ctx, d.Client, run.ID, add, "")
	require.ErrorIs(t, err, client.ErrRejected)
	require.EqualError(t, err, "update add was rejected: no item")
	_, err = client.Update(ctx, d.Client, run.ID, add, "broken")
	require.EqualError(t, err, "update add failed: it broke")
	require.ErrorAs(t, err, new(*history.Failure))
	n, err = client.Query(ctx, d.Client, run.ID, size, struct{}{})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for i := range 20 {
		require.NoError(t, client.Signal(ctx, d.Client, run.ID, note, fmt.Sprint(i)))
	}
	require.NoError(t, client.Signal(ctx, d.Client, run.ID, pay, struct{}{}))
	result, err := run.Result(ctx)
	require.NoError(t, err)
	require.Len(t, result.Items, 22)
	require.Equal(t, "19", result.Items[21], "one sender's signals keep their order")
	same, err := client.RunOf(d.Client, order, "o-1").Result(ctx)
	require.NoError(t, err)
	require.Equal(t, result, same)
	summary, err := run.Summary(ctx)
	require.NoError(t, err)
	require.Equal(t, history.Completed, summary.Status)
}

var (
	customer = workflow.NewAttribute[string]("customer")
	tags     = workflow.NewAttribute[[]string]("tags")
)

// TestTypedAttributes: attributes are typed values from the start of a run to the list that it is in.
func TestTypedAttributes(t *testing.T) {
	d := open(t)
	for id, labels := range map[string][]string{"o-1": {"new", "gift"}, "o-2": {"new"}} {
		_, err := client.Start(t.Context(), d.Client, order, id, cart{}, client.WithAttributes(customer.Is("ada"), tags.Is(labels)))
		require.NoError(t, err)
	}
	find := func(filters ...workflow.AttributeFilter) (ids []string) {
		for summary, err := range client.Runs(t.Context(), d.Client, order, port.ListQuery{},
			filters...) {
			require.NoError(t, err)
			who, there := customer.Of(summary.Attributes)
			require.True(t, there)
			require.Equal(t, "ada", who)
			ids = append(ids, summary.Run)
		}
		slices.Sort(ids)
		return ids
	}
	require.Equal(t, []string{"o-1", "o-2"}, find(customer.Is("ada"), workflow.Containing(tags, "new")))
	require.Equal(t, []string{"o-1"}, find(workflow.Containing(tags, "gift")))
	require.Equal(t, []string{"o-2"}, find(tags.Is([]string{"new"})))
	require.Empty(t, find(customer.Is("bob")))
	_, there := tags.Of(history.Attributes{"tags": history.Payload(`"no list"`)})
	require.False(t, there)
}

// TestTypedCallsTakeAMessageID: a call that is repeated with its id does nothing twice, whichever client repeats it.
func TestTypedCallsTakeAMessageID(t *testing.T) {
	d := open(t)
	run, err := client.Start(t.Context(), d.Client, order, "o-1", cart{})
	require.NoError(t, err)
	for range 2 {
		n, err := client.Update(t.Context(), d.Client, run.ID, add, "pen", client.WithMessageID("req-7"))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.NoError(t, client.Signal(t.Context(), d.Client, run.ID, note, "wrap it", client.WithMessageID("req-8")))
	}
	require.NoError(t, client.Signal(t.Context(), d.Client, run.ID, pay, struct{}{}))
	result, err := run.Result(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"pen", "wrap it"}, result.Items)
}

func TestResultOfWhatWentWrong(t *testing.T) {
	d := open(t)
	_, err := client.Execute(t.Context(), d.Client, failing, "f", "")
	require.EqualError(t, err, `run "f" ended (failed): no luck`)
	require.ErrorAs(t, err, new(*history.Failure))
	_, err = client.Execute(t.Context(), d.Client, nobody, "n", "x")
	require.Equal(t, port.Blocked, client.CodeOf(err))
	require.ErrorContains(t, err, `run "n" is blocked (unknown-workflow): `)
	_, err = client.Result[string](t.Context(), d.Client, "none")
	var problem *client.Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, client.Problem{Type: "urn:reprise:problem:not-found", Title: "Not found",
		Status: 404, Code: port.NotFound,
		Detail: `there is no run with the id "none"`}, *problem)
	_, err = client.Start(t.Context(), d.Client, order, "n", cart{})
	require.Equal(t, port.Conflict, client.CodeOf(err))
}

func TestWaitOutlivesItsPolls(t *testing.T) {
	d := open(t)
	_, err := d.Start(t.Context(), engine.StartRequest{Run: "o", Workflow: "order"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
	defer cancel()
	summary, err := d.Wait(ctx, "o")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, history.Running, summary.Status)
	polls := atomic.Int64{}
	third := make(chan struct{})
	count := func(http.ResponseWriter, *http.Request) bool {
		if polls.Add(1) == 3 {
			close(third)
		}
		return false
	}
	d.fault.Store(&count)
	ended := make(chan *wire.Summary)
	go func() {
		summary, err := d.StartAndWait(t.Context(), engine.StartRequest{Run: "o", Workflow: "order"})
		if err == nil {
			ended <- summary.Summary
		}
		close(ended)
	}()
	<-third
	other, err := client.New(client.Config{Address: d.address})
	require.NoError(t, err)
	defer other.Close()
	_, err = other.Signal(t.Context(), engine.MessageRequest{Run: "o"}, "pay", nil)
	require.NoError(t, err)
	require.Equal(t, history.Completed, (<-ended).Status)
}

// An answer that is lost after the work was done: the repetition finds it done.
func TestRepeatsAreSafe(t *testing.T) {
	d := open(t)
	var calls atomic.Int64
	unavailable := func(w http.ResponseWriter, _ *http.Request) bool {
		if calls.Add(1)%2 == 1 {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"code":"unavailable","status":503,"detail":"not now"}`)
			return true
		}
		return false
	}
	d.fault.Store(&unavailable)
	run, err := client.Start(t.Context(), d.Client, order, "", cart{})
	require.NoError(t, err)
	require.NotEmpty(t, run.ID)
	require.EqualValues(t, 2, calls.Load())

	var torn sync.Map
	tear := func(_ http.ResponseWriter, r *http.Request) bool {
		text, _ := io.ReadAll(r.Body)
		if _, seen := torn.LoadOrStore(r.URL.Path+string(text), true); seen {
			r.Body = io.NopCloser(bytes.NewReader(text))
			return false
		}
		forward, err := http.NewRequestWithContext(r.Context(), r.Method, d.address+r.URL.String(), bytes.NewReader(text))
		if err == nil {
			forward.Header = r.Header
			if response, err := http.DefaultTransport.RoundTrip(forward); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		}
		http.DefaultClient.CloseIdleConnections()
		panic(http.ErrAbortHandler) // done, and the answer is lost
	}
	d.fault.Store(&tear)
	n, err := client.Update(t.Context(), d.Client, run.ID, add, "pen")
	require.NoError(t, err)
	require.Equal(t, 1, n, "added once")
}

func TestNobodyThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := "http://" + listener.Addr().String()
	listener.Close()
	c, err := client.New(client.Config{Address: address, Retries: 2})
	require.NoError(t, err)
	require.ErrorContains(t, c.Health(t.Context()), "connection refused")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Health(ctx), context.Canceled)
	for _, wrong := range []string{"localhost:7717", "ftp://x", "http://"} {
		_, err := client.New(client.Config{Address: wrong})
		require.EqualError(t, err, fmt.Sprintf("the address %q is not of the form http://host:port or https://host", wrong))
	}
}

func TestSomethingElseAnswers(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c, err := client.New(client.Config{Address: server.URL})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Get(t.Context(), "x")
	require.ErrorContains(t, err, `answered 404 Not Found, and not as this API does: "404 page not found\n"`)
	_, err = c.Get(t.Context(), "")
	require.EqualError(t, err, "GET /v1/runs/: an id or a name is empty")
}

func TestListingsAndLogs(t *testing.T) {
	d := open(t)
	for i := range 5 {
		_, err := d.Start(t.Context(), engine.StartRequest{Run: fmt.Sprint("r/", i)[0:1] + fmt.Sprint(i), Workflow: "failing",
			Attributes: history.Attributes{"n": history.Payload(fmt.Sprint(i % 2))}})
		require.NoError(t, err)
		_, err = d.Wait(t.Context(), fmt.Sprint("r", i))
		require.NoError(t, err)
	}
	var found []string
	for summary, err := range d.All(t.Context(),
		port.ListQuery{Status: history.Failed, Workflow: "failing", Limit: 2,
			Attributes: history.Attributes{"n": history.Payload("0")}}) {
		require.NoError(t, err)
		found = append(found, summary.Run)
	}
	require.Equal(t, []string{"r4", "r2", "r0"}, found)
	for record, err := range d.Records(t.Context(), "r1", 0) {
		require.NoError(t, err)
		_, err = history.DecodeRecord(record)
		require.NoError(t, err)
	}
	info, err := d.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"failing", "order"}, info.Workflows)
	for _, stop := range []func(context.Context, engine.MessageRequest, string) (wire.Accepted, error){d.Cancel, d.Terminate} {
		_, err = stop(t.Context(), engine.MessageRequest{Run: "r1"}, "late")
		require.Equal(t, port.Closed, client.CodeOf(err))
	}
	accepted, err := d.Reset(t.Context(), engine.MessageRequest{Run: "none"}, engine.ResetPoint{Record: 1}, "")
	require.Zero(t, accepted)
	require.Equal(t, port.NotFound, client.CodeOf(err))
	require.NoError(t, d.Unblock(t.Context(), "r1"))
	states, err := d.Activities(t.Context(), "r1")
	require.NoError(t, err)
	require.Empty(t, states)
}
