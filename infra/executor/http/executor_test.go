package httpexec_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	budgets "github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	httpexec "github.com/reprise-run/reprise/infra/executor/http"
	"github.com/reprise-run/reprise/infra/system"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// calls is an executor with workers that a test adds.
type calls struct {
	t        *testing.T
	registry *memory.Store
	executor *httpexec.Executor
	added    int
}

func newCalls(t *testing.T, change ...func(*httpexec.Config)) *calls {
	t.Helper()
	allow, err := httpexec.ParseAllow([]string{httpexec.Loopback})
	require.NoError(t, err)
	c := &calls{t: t, registry: memory.New()}
	config := httpexec.Config{Workers: c.registry, Clock: system.Clock{}, Allow: allow}
	for _, do := range change {
		do(&config)
	}
	c.executor = httpexec.New(config)
	t.Cleanup(c.executor.Close)
	return c
}

// worker adds one that answers so, and gives its URL.
func (c *calls) worker(load int64, answer http.HandlerFunc) string {
	c.t.Helper()
	server := httptest.NewServer(answer)
	c.t.Cleanup(server.Close)
	c.put(server.URL, load, time.Now())
	return server.URL
}

func (c *calls) put(url string, load int64, heartbeat time.Time) {
	c.t.Helper()
	c.added++
	require.NoError(c.t,
		c.registry.PutWorker(c.t.Context(), &port.Worker{ID: fmt.Sprint("w", c.added), URL: url,
			Services:   []string{"a b/ü", "sum"},
			Load:       load,
			Heartbeat:  heartbeat,
			Registered: time.Unix(int64(c.added), 0)}))
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func (c *calls) call(call flow.Call) flow.Answer {
	c.t.Helper()
	return c.perform(engine.Work{Name: "sum"}, call)
}

func (c *calls) perform(work engine.Work, call flow.Call) flow.Answer {
	c.t.Helper()
	var err error
	work.Input, err = history.Encode(call)
	require.NoError(c.t, err)
	result, err := c.executor.Perform(c.t.Context(), work)
	require.NoError(c.t, err)
	answer, err := history.Decode[flow.Answer](result)
	require.NoError(c.t, err)
	return answer
}

// S4.29: a worker gets input and params as they are, and only the body of its answer counts.
func TestCallOfAWorker(t *testing.T) {
	c := newCalls(t)
	var path, kind, body string
	url := c.worker(0, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		path, kind, body = r.URL.EscapedPath(), r.Method+" "+r.Header.Get("Content-Type"),
			string(text)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w,
			`{"Result": {"n": 12345678901234567890.10}, "more": 1, "error": ""}`)
	})
	answer := c.perform(engine.Work{Name: "a b/ü"}, flow.Call{Input: json.RawMessage(`"<x>"`),
		Params: json.RawMessage(`{"key":"$params.x"}`)})
	require.JSONEq(t, `{"n":12345678901234567890.10}`, string(answer.Result))
	require.Equal(t, "/exec/a%20b%2F%C3%BC", path)
	require.Equal(t, "POST application/json", kind)
	require.JSONEq(t, `{"input":"<x>","params":{"key":"$params.x"}}`, body)
	require.Len(t, answer.Tries, 1)
	require.Equal(t, "w1", answer.Tries[0].WorkerID)
	require.Equal(t, url, answer.Tries[0].WorkerURL)
	require.False(t, answer.Tries[0].Finished.Before(answer.Tries[0].Started))
}

// TestAnswersAreCounted: what calls hold of answers counts against the budget that runs and requests
// share. Calls wait for it, and all of them get their answer.
func TestAnswersAreCounted(t *testing.T) {
	const calls, length = 8, 1 << 20
	budget := budgets.New(4 * length)
	c := newCalls(t, func(config *httpexec.Config) { config.Memory = budget })
	var most atomic.Int64
	c.worker(0, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"result": "`+strings.Repeat("x", length-1000))
		_ = http.NewResponseController(w).Flush()
		most.Store(max(most.Load(), budget.Used()))
		_, _ = io.WriteString(w, strings.Repeat("x", 1000)+`"}`)
	})
	var all sync.WaitGroup
	for range calls {
		all.Go(func() { require.Len(t, c.call(flow.Call{}).Result, length+2) })
	}
	all.Wait()
	require.Greater(t, most.Load(), int64(length), "answers count")
	require.Less(t, most.Load(), int64(2*4*length), "and few of them are read at a time")
	require.Zero(t, budget.Used())
}

// TestInputsAreCounted: a call that finds no room for its input says so.
func TestInputsAreCounted(t *testing.T) {
	budget := budgets.New(1 << 20)
	c := newCalls(t, func(config *httpexec.Config) { config.Memory = budget })
	blocked, release := make(chan struct{}), make(chan struct{})
	c.worker(0, func(w http.ResponseWriter, _ *http.Request) {
		close(blocked)
		<-release
		_, _ = io.WriteString(w, `{"result": 1}`)
	})
	large, err := history.Encode(flow.Call{Input: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)})
	require.NoError(t, err)
	var first sync.WaitGroup
	first.Go(func() {
		_, err := c.executor.Perform(t.Context(), engine.Work{Name: "sum", Input: large})
		require.NoError(t, err, "one call may exceed the budget")
	})
	<-blocked
	require.Greater(t, budget.Used(), int64(2<<20))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = c.executor.Perform(ctx, engine.Work{Name: "sum", Input: large})
	require.ErrorContains(t, err, "the memory of this server is taken")
	close(release)
	first.Wait()
	require.Zero(t, budget.Used())
}

// S4.37: a service without a worker that is online fails at once.
func TestNoWorker(t *testing.T) {
	c := newCalls(t)
	require.Equal(t, flow.Answer{Result: json.RawMessage("null"), Error: "no worker"},
		c.call(flow.Call{}))
	c.put("http://127.0.0.1:1", 0, time.Now().Add(-16*time.Second))
	require.Equal(t, "no worker", c.call(flow.Call{}).Error)
}

// S4.23: a call tries each worker once. Errors that workers answer with count toward max_attempts,
// and requests that fail do not.
func TestNextWorkers(t *testing.T) {
	c := newCalls(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	c.put(gone.URL, 0, time.Now())
	c.worker(0, says(`{"result": null, "error": "unsupported op"}`))
	c.worker(0, says(`{"result": null, "error": "bad input"}`))
	errorsOf := func(answer flow.Answer) (all []string) {
		for _, try := range answer.Tries {
			all = append(all, try.WorkerID+": "+try.Error)
		}
		return all
	}
	answer := c.call(flow.Call{MaxAttempts: 2})
	require.Equal(t, "unsupported op", answer.Error)
	require.Len(t, answer.Tries, 2)
	require.Contains(t, answer.Tries[0].Error, "connection refused")

	answer = c.call(flow.Call{MaxAttempts: 1})
	require.Equal(t, "unsupported op", answer.Error, "a failed request is followed by the next "+
		"worker")
	require.Len(t, answer.Tries, 2)

	answer = c.call(flow.Call{})
	require.Equal(t, "bad input", answer.Error)
	require.Equal(t, []string{"w2: unsupported op", "w3: bad input"}, errorsOf(answer)[1:])

	c.worker(0, says(`{"result": 7}`))
	answer = c.call(flow.Call{AttemptDelayMS: 30})
	require.Empty(t, answer.Error)
	require.JSONEq(t, "7", string(answer.Result))
	require.Equal(t, "w4: ", errorsOf(answer)[3])
	require.GreaterOrEqual(t, answer.Tries[3].Started.Sub(answer.Tries[0].Started),
		90*time.Millisecond)
}

// S4.23 S4.58: without weighted_by_load the first to register is asked first, else the least
// loaded.
func TestLoad(t *testing.T) {
	c := newCalls(t)
	for i, load := range []int64{9, 3, 3, 0} {
		c.worker(load, says(fmt.Sprintf(`{"result": "w%d"}`, i+1)))
	}
	c.put("http://127.0.0.1:1", -1, time.Now().Add(-time.Minute)) // offline
	require.JSONEq(t, `"w1"`, string(c.call(flow.Call{}).Result))
	require.JSONEq(t, `"w4"`, string(c.call(flow.Call{WeightedByLoad: true}).Result))
}

// TestLoadBetweenHeartbeats: calls that run count, though no heartbeat has told of them.
func TestLoadBetweenHeartbeats(t *testing.T) {
	c := newCalls(t)
	let, came := make(chan struct{}), make(chan string, 2)
	for _, name := range []string{"a", "b"} {
		c.worker(0, func(w http.ResponseWriter, _ *http.Request) {
			came <- name
			<-let
			_, _ = io.WriteString(w, `{"result": 1}`)
		})
	}
	ended := make(chan flow.Answer, 2)
	go func() { ended <- c.call(flow.Call{WeightedByLoad: true}) }()
	require.Equal(t, "a", <-came)
	go func() { ended <- c.call(flow.Call{WeightedByLoad: true}) }()
	require.Equal(t, "b", <-came)
	close(let)
	require.Empty(t, (<-ended).Error+(<-ended).Error)
}

// TestHostileWorkers: an answer that is not a worker's counts as a failed request, and the next
// worker is tried. What it says is not repeated: it may be that of a service which is not a worker.
func TestHostileWorkers(t *testing.T) {
	var redirected atomic.Bool
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		redirected.Store(true)
		_, _ = io.WriteString(w, `{"result": "secret"}`)
	}))
	defer secret.Close()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		error  string
	}{
		"not JSON": {says("<html>secret</html>"), "the answer, of status 200, is not a JSON " +
			"object"},
		"not found": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "secret", http.StatusNotFound)
		}, "of status 404"},
		"empty":        {says(""), "is not a JSON object"},
		"an array":     {says(`["secret"]`), "is not a JSON object"},
		"two values":   {says(`{"result":1}{"result":"secret"}`), "is not a JSON object"},
		"error object": {says(`{"error":{"secret":1}}`), "is not a JSON object"},
		"not UTF-8":    {says("{\"result\":\"\xff secret\"}"), "is not a JSON object"},
		"deep": {says(`{"result":` + strings.Repeat("[", 6000) + strings.Repeat("]", 6000) +
			`}`), "nested more than 5000 levels"},
		"huge": {says(`{"result":"` + strings.Repeat("secret", 1000) + `"}`),
			"the answer has more than 1000 bytes"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, strings.Repeat("secret", 1000)); err != nil {
					return
				}
			}
		}, "the answer has more than 1000 bytes"},
		"long headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Secret", strings.Repeat("secret", 100_000))
		}, "server response headers exceeded"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, secret.URL, http.StatusTemporaryRedirect)
		}, "it redirects, which is refused"},
		"see other": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, secret.URL, http.StatusSeeOther)
		}, "it redirects, which is refused"},
		"slow": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"result":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "no answer in time"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			// else the server does not see that its caller is gone
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "no answer in time"},
		"hangs up": {func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := newCalls(t, func(config *httpexec.Config) {
				config.Timeout = 200 * time.Millisecond
				if name != "deep" {
					config.LongestAnswer = 1000
				}
			})
			calls.worker(0, c.answer)
			calls.worker(0, says(`{"result": "good"}`))
			answer := calls.call(flow.Call{MaxAttempts: 1})
			require.JSONEq(t, `"good"`, string(answer.Result))
			require.Len(t, answer.Tries, 2)
			require.Contains(t, answer.Tries[0].Error, c.error)
			require.NotContains(t, answer.Tries[0].Error, "secret")
		})
	}
	require.False(t, redirected.Load(), "the target of a redirect must not be called")
}

// TestRulesHoldAtEachCall: a worker that registered under other rules is not called any more, and a
// name is checked by what it resolves to when the call connects.
func TestRulesHoldAtEachCall(t *testing.T) {
	for name, c := range map[string]struct {
		rules []string
		host  string
		error string
	}{
		"no rules": {nil, "127.0.0.1", "no rule allows it"},
		"a name becomes local": {[]string{"localhost"}, "localhost",
			"is not public, and no rule allows it"},
	} {
		t.Run(name, func(t *testing.T) {
			allow, err := httpexec.ParseAllow(c.rules)
			require.NoError(t, err)
			calls := newCalls(t, func(config *httpexec.Config) { config.Allow = allow })
			called := false
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				called = true
			}))
			defer server.Close()
			_, port, err := net.SplitHostPort(server.Listener.Addr().String())
			require.NoError(t, err)
			calls.put("http://"+net.JoinHostPort(c.host, port), 0, time.Now())
			answer := calls.call(flow.Call{})
			require.Contains(t, answer.Error, "all workers failed: ")
			require.Contains(t, answer.Tries[0].Error, c.error)
			require.False(t, called)
		})
	}
}

// TestTimeOfACall: the call's own time limit is that of each request, and the tries are known when
// it is over.
func TestTimeOfACall(t *testing.T) {
	c := newCalls(t)
	c.worker(0, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	result, err := c.executor.Perform(ctx, engine.Work{Name: "sum", Input: history.Payload(`{}`),
		Timeout: 300 * time.Millisecond})
	require.NoError(t, err)
	require.Contains(t, string(result), "no answer in time")
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = c.executor.Perform(ctx, engine.Work{Name: "sum", Input: history.Payload(`{}`)})
	require.ErrorIs(t, err, context.Canceled)
}

// TestAWorkerThatHangs: a worker that does not answer in the time of one request leaves time for
// another one.
func TestAWorkerThatHangs(t *testing.T) {
	c := newCalls(t)
	c.worker(0, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	c.worker(0, says(`{"result": "good"}`))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	input, err := history.Encode(flow.Call{TimeoutMS: 200})
	require.NoError(t, err)
	result, err := c.executor.Perform(ctx, engine.Work{Name: "sum", Input: input, Timeout: time.Minute})
	require.NoError(t, err)
	answer, err := history.Decode[flow.Answer](result)
	require.NoError(t, err)
	require.JSONEq(t, `"good"`, string(answer.Result))
	require.Contains(t, answer.Tries[0].Error, "no answer in time")
}

// TestTasksOfScripts: a worker gets a task's input, and no params. The task has the worker's
// result, or fails with its error.
func TestTasksOfScripts(t *testing.T) {
	c := newCalls(t)
	var body []byte
	answer := `{"result": {"n": 6}}`
	c.worker(0, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, answer)
	})
	task := engine.Work{Name: "sum", Input: history.Payload(`[1,2,3]`)}
	result, err := c.executor.PerformTask(t.Context(), task)
	require.NoError(t, err)
	require.JSONEq(t, `{"n":6}`, string(result))
	require.JSONEq(t, `{"input":[1,2,3],"params":{}}`, string(body))
	answer = `{"error": "no such list"}`
	_, err = c.executor.PerformTask(t.Context(), task)
	require.EqualError(t, err, "no such list")
}

func TestInputsThatAreNotCalls(t *testing.T) {
	_, err := newCalls(t).executor.Perform(t.Context(),
		engine.Work{Name: "sum", Input: history.Payload(`[1]`)})
	require.ErrorContains(t, err,
		`the input of a call of service "sum" must have the members input and params`)
	require.True(t, history.FailureOf(err).NonRetryable)
}

// listings counts how often workers are listed.
type listings struct {
	port.Workers
	count int
	fails error
}

func (l *listings) ListWorkers(
	ctx context.Context, query port.WorkerQuery,
) ([]*port.Worker, error) {
	l.count++
	if l.fails != nil {
		return nil, l.fails
	}
	return l.Workers.ListWorkers(ctx, query)
}

// TestTheListIsRemembered: on AWS, workers are listed each few seconds, not for each call or
// service.
func TestTheListIsRemembered(t *testing.T) {
	read := &listings{}
	c := newCalls(t, func(config *httpexec.Config) {
		read.Workers, config.Workers, config.Remember = config.Workers, read, time.Hour
	})
	require.Equal(t, "no worker", c.call(flow.Call{}).Error)
	url := c.worker(0, says(`{"result": 1}`))
	require.Empty(t, c.call(flow.Call{}).Error, "that there is none is not remembered")
	require.NoError(t, c.registry.DeleteWorker(t.Context(), url))
	require.Empty(t, c.call(flow.Call{}).Error)
	require.Empty(t, c.perform(engine.Work{Name: "a b/ü"}, flow.Call{}).Error)
	require.Equal(t, 2, read.count)
}

// TestTheRegistryIsDown: a call goes to the workers that were listed before.
func TestTheRegistryIsDown(t *testing.T) {
	read := &listings{}
	c := newCalls(t, func(config *httpexec.Config) {
		read.Workers, config.Workers, config.Remember = config.Workers, read, 1
	})
	c.worker(0, says(`{"result": 1}`))
	require.Empty(t, c.call(flow.Call{}).Error)
	read.fails = errors.New("throttled")
	require.Empty(t, c.call(flow.Call{}).Error)
	_, err := c.executor.Perform(t.Context(),
		engine.Work{Name: "other", Input: history.Payload(`{}`)})
	require.ErrorContains(t, err, `the workers of service "other" were not listed: throttled`)
}

// TestWorkersThatArrive: where all workers of a remembered list have gone, those that registered
// since get the call.
func TestWorkersThatArrive(t *testing.T) {
	c := newCalls(t, func(config *httpexec.Config) { config.Remember = time.Hour })
	old := httptest.NewServer(says(`{"result": 1}`))
	c.put(old.URL, 0, time.Now())
	require.Empty(t, c.call(flow.Call{}).Error)
	old.Close()
	require.Contains(t, c.call(flow.Call{}).Error, "all workers failed: ")
	c.worker(0, says(`{"result": 2}`))
	answer := c.call(flow.Call{WeightedByLoad: true})
	require.JSONEq(t, "2", string(answer.Result))
	require.Len(t, answer.Tries, 2)
	require.Contains(t, answer.Tries[0].Error, "connection refused")
	require.Empty(t, c.call(flow.Call{}).Error, "the list is the new one from then on")
}
