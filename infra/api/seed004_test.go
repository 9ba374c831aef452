package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api"
	httpexec "github.com/reprise-run/reprise/infra/executor/http"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/local"
	"github.com/reprise-run/reprise/infra/local/sqlite"
	"github.com/reprise-run/reprise/infra/system"
	"github.com/reprise-run/reprise/tests/seed004"
)

// seedSystem is a server with the routes of seed 004, as its clients and workers see it.
type seedSystem struct {
	*seed004.Client
	folder string
	config api.Config
	stop   func()
}

func startSeed(t *testing.T, tokens ...api.Token) *seedSystem {
	t.Helper()
	s := &seedSystem{folder: t.TempDir(), config: api.Config{Tokens: tokens, Seed004: true},
		Client: &seed004.Client{T: t, Pace: 5 * time.Millisecond, Patience: 2 * time.Minute}}
	s.open()
	t.Cleanup(func() { s.stop() })
	return s
}

// open starts the server on its folder. Its address changes, as bases of clients do.
func (s *seedSystem) open() {
	s.Helper()
	store, err := sqlite.Open(filepath.Join(s.folder, "runs.db"), sqlite.Options{})
	require.NoError(s, err)
	allow, err := httpexec.ParseAllow([]string{httpexec.Loopback})
	require.NoError(s, err)
	calls := httpexec.New(httpexec.Config{Workers: store, Clock: system.Clock{}, Allow: allow})
	node, err := local.Start(s.Context(), local.Config{Store: store, TokenKey: make([]byte, 32), Version: "7", DataFolder: s.folder,
		Interpreters: frontend.Interpreters(), AllowWorker: allow.Check,
		Performers: map[string]engine.Performer{httpexec.Prefix: calls.Perform}})
	require.NoError(s, err)
	s.config.Engine = node.Engine
	handler, err := api.New(s.config)
	require.NoError(s, err)
	server := httptest.NewServer(handler)
	s.Base = server.URL
	s.stop = func() {
		handler.EndWaits()
		http.DefaultClient.CloseIdleConnections()
		server.Close()
		calls.Close()
		require.NoError(s, node.Close())
	}
}

func (s *seedSystem) restart() {
	s.Helper()
	s.stop()
	s.open()
}

// S4.35: the demonstration. The server is restarted between its steps (S4.2).
func TestSeedDemonstration(t *testing.T) {
	s := startSeed(t)
	s.Worker("w1", "")
	s.Demonstrate(s.restart)
}

// The bodies of answers, byte by byte.
func TestSeedBodies(t *testing.T) {
	s := startSeed(t)
	s.Worker("w1", "/api")
	flow := s.Flow("order", seed004.Branching)
	status, text := s.Send("POST", "/api/flows/version", fmt.Sprintf(`{"definitionjson":%q,"flowid":%q,"STATUS":"published","version":1,"unknown":[1]}`, seed004.Branching, flow))
	require.Equal(t, []any{200, `{"id":"ID0.1","status":"published"}`}, []any{status, seed004.Plain(text, flow)})
	task := s.Start(flow, `{"action":"goB","n":2}`)
	s.Poll(task)
	_, text = s.Send("GET", "/api/tasks/get?id="+task, "")
	const shown = `{"ID":"ID0","FlowVersionID":"ID1.1","Status":"completed","ParamsJSON":"{\"action\":\"goB\",\"n\":2}","SharedJSON":"{\"out\":20}",` +
		`"CurrentNodeKey":"","LastAction":"done","StepCount":2,"RetryStateJSON":"{}","LeaseOwner":"","LeaseExpiry":0,"RequestID":"","CreatedAt":T,"UpdatedAt":T}`
	require.Equal(t, shown, seed004.Plain(text, task, flow))
	_, text = s.Send("GET", "/tasks?status=completed", "")
	require.Equal(t, "["+shown+"]", seed004.Plain(text, task, flow))
	require.Equal(t, `[{"id":"ID0.1","taskId":"ID0","nodeKey":"route","attemptNo":1,"status":"ok","prepJson":"{}","execInputJson":"{\"input\":null,\"params\":{\"action\":\"goB\",\"n\":2}}",`+
		`"execOutputJson":"{\"action\":\"goB\"}","errorText":"","action":"goB","startedAt":T,"finishedAt":T,"workerId":"w1","workerUrl":"WORKER"},`+
		`{"id":"ID0.2","taskId":"ID0","nodeKey":"b","attemptNo":1,"status":"ok","prepJson":"{}","execInputJson":"{\"input\":2,\"params\":{\"action\":\"goB\",\"mul\":10,\"n\":2}}",`+
		`"execOutputJson":"20","errorText":"","action":"done","startedAt":T,"finishedAt":T,"workerId":"w1","workerUrl":"WORKER"}]`, s.Runs(task))
	_, text = s.Send("GET", "/list?service=sum&ttl=bad", "")
	worker := `{"ID":"w1","URL":"WORKER","Services":["transform","sum","route"],"Load":0,"LastHeartbeat":T,"Status":"online"}`
	require.Equal(t, "["+worker+"]", seed004.Plain(text))
	_, text = s.Send("GET", "/workers/allocate?service=sum", "")
	require.Equal(t, worker, seed004.Plain(text))

	draft := s.ID("/flows", `{"name":"a b/ü","more":1}`)
	require.Equal(t, "a~20b~2f~c3~bc", draft[:len(draft)-len("-0123456789ab")])
	require.NotEqual(t, draft, s.ID("/flows", `{"name":"a b/ü"}`), "names are not unique")
	s.ID("/flows/version", fmt.Sprintf(`{"DefinitionJSON":%q,"FlowID":%q,"Version":4}`, seed004.Branching, draft))
	for _, c := range []struct {
		request, body string
		status        int
		answer        string
	}{
		{"GET /flows", "", 405, `{"error":"method"}`},
		{"POST /tasks/get?id=x", "", 405, `{"error":"method"}`},
		{"PUT /api/tasks", "{}", 405, `{"error":"method"}`},
		{"POST /flows", "no JSON", 400, `{"error":"the body is not JSON: invalid character 'o' in literal null (expecting 'u')"}`},
		{"POST /flows", `{"Name":1}`, 400, `{"error":"the field \"Name\" must not be a JSON number"}`},
		{"POST /flows", `{"Name":"` + strings.Repeat("n", 100) + `"}`, 400, `{"error":"the name \"` + strings.Repeat("n", 100) + `\" is too long: the id that contains it has 113 bytes, the limit is 100"}`},
		{"POST /flows/version", `{"FlowID":"` + flow + `","Version":1,"Status":"published","DefinitionJSON":"{\"start\":\"n\",\"nodes\":{\"n\":{\"kind\":\"choice\"}}}"}`, 409,
			`{"error":"version 1 of definition \"` + flow + `\" has another source: versions do not change, publish this one under another number"}`},
		{"POST /tasks", `{"FlowID":"` + draft + `","ParamsJSON":"{}"}`, 500, `{"error":"no version of the flow \"` + draft + `\" is published: POST one to /flows/version"}`},
		{"POST /tasks", `{"FlowID":"never"}`, 500, `{"error":"no version of the flow \"never\" is published: POST one to /flows/version"}`},
		{"POST /tasks", `{"FlowID":"` + flow + `","ParamsJSON":"{\"_rt\":1}"}`, 400, `{"error":"the params contain the key \"_rt\", which belongs to the engine: use another name"}`},
		{"GET /tasks?status=failed", "", 200, "[]"},
		{"GET /tasks?status=bad", "", 200, "[]"},
		{"GET /tasks/get?id=never", "", 404, `{"error":"there is no run with the id \"never\""}`},
		{"GET /tasks/runs?task_id=never", "", 200, "[]"},
		{"GET /tasks/runs", "", 200, "[]"},
		{"POST /tasks/cancel?id=never", "", 200, `{"ok":"1"}`},
		{"POST /tasks/cancel?id=" + task, "", 200, `{"ok":"1"}`},
		{"POST /tasks/run_once?id=" + task, "", 200, `{"ok":"1"}`},
		{"POST /tasks/signal", `{"task_id":"` + task + `","key":"k","value":1}`, 200, `{"ok":"1"}`},
		{"POST /tasks/signal", `{"task_id":"` + task + `","key":"_rt","value":1}`, 400, `{"error":"the key \"_rt\" belongs to the engine: use another key"}`},
		{"POST /api/heartbeat", `{"id":"never","url":"http://localhost:1","load":1}`, 200, `{"ok":"1"}`},
		{"GET /list?service=never", "", 200, "[]"},
		{"GET /allocate?service=never", "", 500, `{"error":"no worker"}`},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		status, text := s.Send(method, path, c.body)
		require.Equal(t, []any{c.status, c.answer}, []any{status, text}, c.request)
	}
	s.ID("/flows/version", fmt.Sprintf(`{"DefinitionJSON":%q,"FlowID":%q,"Version":4,"Status":"published"}`, seed004.Branching, draft))
	require.Equal(t, draft+".4", s.Get(s.Start(draft, "[1]")).FlowVersionID, "a draft is published under its number")
}

// S4.19 S4.25: signals come several at once; a task that waits is running until it is canceled, and
// then has a node run that says so.
func TestSeedSignalsAndCancel(t *testing.T) {
	s := startSeed(t)
	task := s.Start(s.Flow("asking", `{"start":"ask","nodes":{"ask":{"kind":"approval","params":{"approval_key":"$shared.ok"}}}}`), `{"long":"`+strings.Repeat("x", 5000)+`"}`)
	s.At(task, "ask")
	done := make(chan int)
	for i := range 5 {
		go func() {
			s.Signal(task, fmt.Sprint("k", i), fmt.Sprintf("%q", strings.Repeat("v", 2000)))
			done <- i
		}()
	}
	for range 5 {
		<-done
	}
	var shared map[string]string
	require.NoError(t, json.Unmarshal([]byte(s.Get(task).SharedJSON), &shared))
	require.Len(t, shared, 5, "long members are shown, too")
	require.Len(t, shared["k3"], 2000)
	other := s.Start(s.Flow("asking", seed004.Asking), "")
	s.At(other, "ask")
	_, text := s.Send("GET", "/tasks?status=running", "")
	var listed []seed004.Task
	require.NoError(t, json.Unmarshal([]byte(text), &listed))
	require.Len(t, listed, 2)
	require.Len(t, listed[0].ParamsJSON+listed[1].ParamsJSON, 5011+2, "params are whole")
	status, text := s.Send("POST", "/tasks/cancel?id="+task, "")
	require.Equal(t, []any{200, `{"ok":"1"}`}, []any{status, text})
	ended := s.Poll(task)
	require.Equal(t, []any{"canceled", "", "canceled"}, []any{ended.Status, ended.CurrentNodeKey, ended.LastAction})
	require.Equal(t, []string{"ask 0 canceled canceled {}"}, s.ShortRuns(task))
}

// S4.5 S4.17: a task that was asked to stop is canceling until it has ended. Here it waits for a child
// that cannot run.
func TestSeedCanceling(t *testing.T) {
	s := startSeed(t)
	task := s.Start(s.Flow("parent", `{"start":"sub","nodes":{"sub":{"kind":"subflow","workflow":"absent"}}}`), "")
	s.At(task, "sub")
	status, _ := s.Send("POST", "/tasks/cancel?id="+task, "")
	require.Equal(t, 200, status)
	require.Eventually(t, func() bool { return s.Get(task).Status == "canceling" }, 10*time.Second, 5*time.Millisecond)
	s.restart()
	_, text := s.Send("GET", "/tasks?status=canceling", "")
	require.Contains(t, text, task)
	_, text = s.Send("GET", "/tasks?status=running", "")
	require.Equal(t, "[]", text)
}

// S4.14 S4.36: a worker registers once. After a restart of the server, its heartbeat is enough, and one
// that starts again under its URL is the same worker. Each attempt of a call is a node run.
func TestSeedWorkers(t *testing.T) {
	s := startSeed(t)
	flow := s.Flow("retried", `{"start":"n","nodes":{"n":{"kind":"executor","service":"transform","max_retries":1,"prep":{"input_key":"$params.none"}}}}`)
	none := s.Start(flow, "{}")
	require.Equal(t, "failed", s.Poll(none).Status)
	require.Equal(t, []string{"n 1 error  {}  no worker", "n 2 error  {}  no worker"}, s.ShortRuns(none))
	_, calls := s.Worker("w1", "")
	s.restart()
	task := s.Start(flow, "{}")
	require.Equal(t, "failed", s.Poll(task).Status)
	require.Equal(t, []string{"n 1 error  {} w1 bad input", "n 2 error  {} w1 bad input"}, s.ShortRuns(task))
	require.EqualValues(t, 2, calls.Load())
	_, text := s.Send("GET", "/list", "")
	var listed []struct{ ID, URL string }
	require.NoError(t, json.Unmarshal([]byte(text), &listed))
	status, _ := s.Send("POST", "/heartbeat", fmt.Sprintf(`{"id":"other","url":%q,"load":7}`, listed[0].URL))
	require.Equal(t, 200, status)
	status, _ = s.Send("POST", "/workers/register", fmt.Sprintf(`{"ID":"w2","URL":%q,"Services":["sum"]}`, listed[0].URL))
	require.Equal(t, 200, status)
	_, text = s.Send("GET", "/workers/list?ttl=0", "")
	require.Equal(t, `[{"ID":"w2","URL":"WORKER","Services":["sum"],"Load":0,"LastHeartbeat":T,"Status":"online"}]`, seed004.Plain(text))
	status, text = s.Send("POST", "/register", `{"id":"w","url":"http://169.254.169.254","services":["sum"]}`)
	require.Equal(t, 400, status)
	require.Contains(t, text, "is not allowed")
}

// HTTP Basic with a token as the password counts as that token, in each of its roles.
func TestSeedTokens(t *testing.T) {
	secrets, tokens := map[api.Role]string{}, []api.Token{}
	for _, role := range api.Roles {
		secrets[role] = api.NewSecret()
		token, err := api.NewToken(string(role), secrets[role])
		require.NoError(t, err)
		token.Role = role
		tokens = append(tokens, token)
	}
	s := startSeed(t, tokens...)
	for _, c := range []struct {
		request string
		needs   api.Role
	}{
		{"POST /flows", api.All}, {"POST /api/flows/version", api.All}, {"POST /tasks", api.Operate}, {"POST /tasks/signal", api.Operate},
		{"POST /tasks/cancel?id=x", api.Operate}, {"POST /tasks/run_once", api.Operate}, {"GET /api/tasks", api.Read}, {"GET /tasks/get", api.Read},
		{"GET /tasks/runs", api.Read}, {"GET /list", api.Read}, {"GET /workers/allocate", api.Read}, {"POST /heartbeat", api.Worker}, {"POST /workers/register", api.Worker},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		for i, role := range api.Roles {
			s.User = url.UserPassword("any", secrets[role])
			status, text := s.Send(method, path, "{}")
			allowed := i >= slices.Index(api.Roles, c.needs) && (c.needs != api.Worker || role != api.Read)
			require.Equal(t, allowed, status != http.StatusForbidden, "%s %s: %d %s", role, c.request, status, text)
			require.NotEqual(t, http.StatusUnauthorized, status)
		}
		for _, user := range []*url.Userinfo{nil, url.User(secrets[api.All]), url.UserPassword("any", "wrong")} {
			s.User = user
			status, text := s.Send(method, path, "{}")
			require.Equal(t, http.StatusUnauthorized, status)
			require.Contains(t, text, `{"error":"`)
		}
	}
	s.User = url.UserPassword("ann", secrets[api.All])
	status, _ := s.Send("GET", "/v1/runs", "")
	require.Equal(t, 200, status, "the routes of /v1 take it, too")
	require.Equal(t, "completed", s.Poll(s.Start(s.Flow("choice", `{"start":"n","nodes":{"n":{"kind":"choice"}}}`), "")).Status)
}

// A server serves the routes only where it is told to.
func TestSeedRoutesAreOff(t *testing.T) {
	w := start(t)
	require.Equal(t, port.NotFound, w.problem("POST", "/flows", `{}`).Code)
	require.Equal(t, port.NotFound, w.problem("GET", "/api/tasks", "").Code)
}

// S4.18: a task with more node runs than one page of rows has all of them.
func TestSeedManyNodeRuns(t *testing.T) {
	s := startSeed(t)
	s.Worker("w1", "")
	task := s.Start(s.Flow("many", `{"start":"each","nodes":{"each":{"kind":"foreach","service":"transform",
		"parallel_mode":"concurrent","max_parallel":50,"prep":{"input_key":"$params.list"}}}}`),
		`{"list":[`+strings.TrimSuffix(strings.Repeat("1,", 1100), ",")+`]}`)
	require.Equal(t, "completed", s.Poll(task).Status)
	require.Len(t, s.ShortRuns(task), 1101)
}

// Where a gateway limits answers, a listing has as many tasks as fit, and what cannot be shorter is
// an error that clients can read.
func TestSeedLongAnswers(t *testing.T) {
	s := startSeed(t)
	const longest, long = 8000, 3000
	s.config.LongestAnswer = longest
	s.restart()
	flow := s.Flow("choice", `{"start":"n","nodes":{"n":{"kind":"choice"}}}`)
	for range 4 {
		s.Poll(s.Start(flow, `{"long":"`+strings.Repeat("x", long)+`"}`))
	}
	_, text := s.Send("GET", "/tasks", "")
	var listed []seed004.Task
	require.NoError(t, json.Unmarshal([]byte(text), &listed))
	require.Len(t, listed, longest/long)
	task := s.Start(flow, `{"long":"`+strings.Repeat("x", longest)+`"}`)
	status, text := s.Send("GET", "/tasks/get?id="+task, "")
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Regexp(t, `^{"error":"the answer has [0-9]+ bytes, and no more than 8000 can be given here`, text)
}

// A flow that has continued as new still shows the params that its task was started with.
func TestSeedParams(t *testing.T) {
	for input, shown := range map[string]string{
		"": "{}", `{"a":1}`: `{"a":1}`, `{"_rt":{"params":{"a":[1]},"frame":{}}}`: `{"a":[1]}`, `{"_rt":{}}`: "{}",
	} {
		require.Equal(t, shown, api.ShownParams(history.Payload(input)))
	}
}
