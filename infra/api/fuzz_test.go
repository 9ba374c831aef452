package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/system"
)

// FuzzEndpoint sends a request to one of the endpoints that the document lists. Whatever it says, it is answered: never by a fault
// of ours, a refusal by a problem that says what is wrong and where, in few words.
//
// A place is what stands for {run} or {token} in the address, name for {name}. "RUN" is a run that waits for messages, "TOKEN"
// the token of an activity that waits.
func FuzzEndpoint(f *testing.F) {
	endpoints, handler := documented(f)
	for i, endpoint := range endpoints {
		place := "RUN"
		if strings.Contains(endpoint, "{token}") {
			place = "TOKEN"
		}
		f.Add(i, place, "approve", "", []byte(`{"input":"yes"}`))
		f.Add(i, place, "add", "wait=1ns", []byte(`{"input":1,"id":"m","after":"5"}`))
		f.Add(i, place, "total", "generation=1&after=1", []byte(`{}`))
	}
	f.Add(slices.Index(endpoints, "POST /v1/runs"), "", "", "wait=1ns", []byte(`{"run":"new","workflow":"echo","input":[1],"attributes":{"a":1},"reuse":true}`))
	f.Add(slices.Index(endpoints, "GET /v1/runs"), "", "", "status=running&limit=2&cursor=1.2&attribute=a%3D1&blocked=true&workflow=echo", []byte(nil))
	f.Add(slices.Index(endpoints, "POST /v1/runs/{run}/reset"), "RUN", "", "", []byte(`{"record":1,"reason":"wrong price"}`))
	f.Add(slices.Index(endpoints, "POST /v1/activities/{token}/fail"), "TOKEN", "", "", []byte(`{"type":"T","message":"m","details":[1],"nonRetryable":true}`))
	f.Add(slices.Index(endpoints, "POST /v1/activities/{token}/complete"), "TOKEN", "", "", []byte(`{"result":{"a":1}}`))
	f.Fuzz(func(t *testing.T, which int, place, name, query string, body []byte) {
		w := newBench(t, handler)
		defer w.engine.Close()
		method, path, _ := strings.Cut(endpoints[((which%len(endpoints))+len(endpoints))%len(endpoints)], " ")
		place = strings.NewReplacer("RUN", "waiting", "TOKEN", w.token).Replace(place)
		path = strings.NewReplacer("{run}", url.PathEscape(place), "{token}", url.PathEscape(place), "{name}", url.PathEscape(name)).Replace(path)
		address, err := url.Parse("http://localhost" + path)
		require.NoError(t, err)
		address.RawQuery = query
		request := &http.Request{Method: method, URL: address, Host: "localhost", Header: http.Header{"Content-Type": {"application/json"}},
			Body: http.NoBody, ContentLength: int64(len(body))}
		if len(body) > 0 {
			request.Body = &closing{bytes.NewReader(body)}
		}
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, request.WithContext(t.Context()))
		answered(t, method+" "+path, answer)
		w.deliver(t)
	})
}

type closing struct{ *bytes.Reader }

func (*closing) Close() error { return nil }

// answered checks an answer.
func answered(t *testing.T, what string, answer *httptest.ResponseRecorder) {
	t.Helper()
	text, kind := answer.Body.Bytes(), answer.Header().Get("Content-Type")
	if answer.Code == http.StatusServiceUnavailable && strings.Contains(string(text), context.DeadlineExceeded.Error()) {
		return // it took longer than a wait may take here
	}
	require.Less(t, answer.Code, http.StatusInternalServerError, "%s: %s", what, text)
	if answer.Code < http.StatusBadRequest {
		if kind == "application/json" && !strings.HasSuffix(what, "/export") { // a piece of an export is part of a text
			require.True(t, json.Valid(text), "%s: %s", what, text)
		}
		return
	}
	require.Equal(t, "application/problem+json", kind, what)
	var problem client.Problem
	require.NoError(t, json.Unmarshal(text, &problem))
	require.Equal(t, answer.Code, problem.Status)
	require.NotEmpty(t, problem.Code)
	require.NotEmpty(t, problem.Detail)
	require.Less(t, len(problem.Detail), 2000+4*len(what), "a refusal is no place for what was sent")
}

// documented lists the endpoints that the API's document has, as in "GET /v1/runs".
func documented(f *testing.F) (endpoints []string, handler *api.Handler) {
	f.Helper()
	w := newBench(f, nil)
	defer w.engine.Close()
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v1/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	require.NoError(f, json.Unmarshal(answer.Body.Bytes(), &document))
	for path, methods := range document.Paths {
		for method := range methods {
			endpoints = append(endpoints, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(endpoints) // the number of one is part of the corpus's files
	require.Greater(f, len(endpoints), 10)
	return endpoints, w.handler
}

// bench is the API over an engine whose store is memory and whose queue delivers when it is told to. It has a run that waits for
// messages, and one that waits for an activity's completion.
type bench struct {
	handler *api.Handler
	engine  *engine.Engine
	token   string
	resumes []port.Resume
	tasks   []port.Task
}

// newBench makes one; with a handler that was made before, if it is not nil.
func newBench(tb testing.TB, handler *api.Handler) *bench {
	tb.Helper()
	r := reviewer{make(chan string, 1)}
	review := r.activity()
	reviewed := workflow.New("reviewed", func(ctx workflow.Context, what string) (string, error) { return workflow.Execute(ctx, review, what) })
	b, store := &bench{}, memory.New()
	var err error
	b.engine, err = engine.New(port.Ports{Runs: store, Directory: store, Due: store, Tasks: store,
		Queue: b, Clock: system.Clock{}, Authors: immortal{},
		NewID: func() string { return strings.ToLower(rand.Text()) }},
		engine.Config{Definitions: []workflow.Definition{echo, fails, basket, reviewed, review}, TokenKey: make([]byte, 32), StuckAfter: -1})
	require.NoError(tb, err)
	if b.handler = handler; handler != nil {
		handler.Over(b.engine)
	} else {
		b.handler, err = api.New(api.Config{Engine: b.engine, Version: "1", LongestWait: time.Microsecond, Rebuild: true})
		require.NoError(tb, err)
	}
	for run, workflow := range map[string]string{"waiting": "basket", "reviewed": "reviewed"} {
		request := engine.StartRequest{Run: run, Workflow: workflow}
		if run == "reviewed" {
			request.Input = history.Payload(`"x"`)
		}
		_, _, err := b.engine.Start(tb.Context(), request)
		require.NoError(tb, err)
	}
	b.deliver(tb)
	require.Len(tb, b.tasks, 1)
	require.NoError(tb, b.engine.Task(tb.Context(), time.Time{}, b.tasks[0]))
	b.token = <-r.tokens
	return b
}

func (b *bench) SendResumes(_ context.Context, messages ...port.Resume) error {
	b.resumes = append(b.resumes, messages...)
	return nil
}

func (b *bench) SendTasks(_ context.Context, messages ...port.Task) error {
	b.tasks = append(b.tasks, messages...)
	return nil
}

// deliver hands out what was sent and is due.
func (b *bench) deliver(tb testing.TB) {
	tb.Helper()
	for len(b.resumes) > 0 {
		message := b.resumes[0]
		b.resumes = b.resumes[1:]
		if message.Delay == 0 {
			require.NoError(tb, b.engine.Activate(tb.Context(), time.Time{},
				[]port.Resume{message})[0])
		}
	}
}

// immortal authors end with their call all the same: here, no two are under way at a time.
type immortal struct{}

func (immortal) Begin(time.Time) (string, time.Time) {
	return fmt.Sprint("a", rand.Text()), time.Time{}
}
func (immortal) End(string)                             {}
func (immortal) Dead(string, time.Time, time.Time) bool { return true }

// TestDepth: what is nested too deeply to be read back is refused; what is not comes back.
func TestDepth(t *testing.T) {
	w := newBench(t, nil)
	defer w.engine.Close()
	send := func(method, path, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, httptest.NewRequest(method, path, strings.NewReader(body)))
		answered(t, method+" "+path, answer)
		return answer
	}
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	for _, c := range []struct{ path, body string }{
		{"/v1/runs", `{"workflow":"echo","input":%s}`}, {"/v1/runs", `{"workflow":"echo","attributes":{"a":%s}}`},
		{"/v1/runs/waiting/signals/approve", `{"input":%s}`}, {"/v1/runs/waiting/updates/add", `{"input":%s}`}, {"/v1/runs/waiting/queries/total", `{"input":%s}`},
		{"/v1/activities/" + w.token + "/heartbeat", `{"details":%s}`}, {"/v1/activities/" + w.token + "/complete", `{"result":%s}`},
		{"/v1/activities/" + w.token + "/fail", `{"message":"m","details":%s}`},
	} {
		for _, depth := range []int{history.MaxDepth + 1, 9_990, 100_000} {
			require.Equal(t, http.StatusBadRequest, send("POST", c.path, fmt.Sprintf(c.body, nested(depth))).Code, c.path)
		}
	}
	deepest := nested(history.MaxDepth)
	require.Equal(t, http.StatusCreated, send("POST", "/v1/runs", `{"run":"deep","workflow":"echo","input":`+deepest+`,"attributes":{"a":`+nested(2000)+`}}`).Code)
	w.deliver(t)
	for _, path := range []string{"/v1/runs/deep", "/v1/runs/deep/values/input", "/v1/runs/deep/history", "/v1/runs/deep/export"} {
		answer := send("GET", path, "")
		require.Equal(t, http.StatusOK, answer.Code)
		require.Contains(t, answer.Body.String(), deepest)
		require.True(t, json.Valid(answer.Body.Bytes()))
	}
}
