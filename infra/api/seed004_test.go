package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
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
)

// seedSystem is a server with the routes of seed 004, as its clients and workers see it.
type seedSystem struct {
	*testing.T
	folder string
	tokens []api.Token
	base   string // as clients are given it: with userinfo and a prefix, perhaps
	user   *url.Userinfo
	stop   func()
}

func startSeed(t *testing.T, tokens ...api.Token) *seedSystem {
	t.Helper()
	s := &seedSystem{T: t, folder: t.TempDir(), tokens: tokens}
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
	handler, err := api.New(api.Config{Engine: node.Engine, Tokens: s.tokens, Seed004: true})
	require.NoError(s, err)
	server := httptest.NewServer(handler)
	s.base = server.URL
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

// send sends a request as an existing client does: the base and the path are glued together.
func (s *seedSystem) send(method, path, body string) (status int, text string) {
	s.Helper()
	base := s.base
	if s.user != nil {
		base = strings.Replace(base, "://", "://"+s.user.String()+"@", 1)
	}
	request, err := http.NewRequestWithContext(s.Context(), method, base+path, strings.NewReader(body))
	require.NoError(s, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(s, err)
	return response.StatusCode, strings.TrimSuffix(string(answer), "\n")
}

// id sends a request whose answer is read as an object of strings.
func (s *seedSystem) id(path, body string) string {
	s.Helper()
	status, text := s.send("POST", path, body)
	require.Equal(s, 200, status, text)
	var answer map[string]string
	require.NoError(s, json.Unmarshal([]byte(text), &answer), text)
	require.NotEmpty(s, answer["id"], text)
	require.Equal(s, url.QueryEscape(answer["id"]), answer["id"], "an id needs no escaping")
	return answer["id"]
}

// flow makes and publishes a flow.
func (s *seedSystem) flow(name, definition string) string {
	s.Helper()
	id := s.id("/flows", fmt.Sprintf(`{"Name":%q}`, name))
	require.Contains(s, id, name)
	s.id("/flows/version", fmt.Sprintf(`{"DefinitionJSON":%q,"FlowID":%q,"Status":"published","Version":1}`, definition, id))
	return id
}

func (s *seedSystem) task(flow, params string) string {
	s.Helper()
	return s.id("/tasks", fmt.Sprintf(`{"FlowID":%q,"ParamsJSON":%q}`, flow, params))
}

// oldTask is how an existing client declares a task.
type oldTask struct {
	ID, FlowVersionID, Status, ParamsJSON, SharedJSON, CurrentNodeKey, LastAction string
	StepCount                                                                     int
	RetryStateJSON, LeaseOwner                                                    string
	LeaseExpiry                                                                   int64
	RequestID                                                                     string
	CreatedAt, UpdatedAt                                                          int64
}

func (s *seedSystem) get(id string) (task oldTask) {
	s.Helper()
	status, text := s.send("GET", "/tasks/get?id="+id, "")
	require.Equal(s, 200, status, text)
	require.NoError(s, json.Unmarshal([]byte(text), &task))
	return task
}

// poll is the loop of an existing client: it ends when the task has ended.
func (s *seedSystem) poll(id string) (task oldTask) {
	s.Helper()
	require.Eventually(s, func() bool {
		task = s.get(id)
		return task.Status == "completed" || task.Status == "canceled" || task.Status == "failed"
	}, 30*time.Second, 5*time.Millisecond)
	return task
}

// at waits until a task is at a node.
func (s *seedSystem) at(id, node string) {
	s.Helper()
	require.Eventually(s, func() bool {
		task := s.get(id)
		return task.Status == "running" && task.CurrentNodeKey == node
	}, 30*time.Second, 5*time.Millisecond, node)
}

func (s *seedSystem) signal(task, key, value string) {
	s.Helper()
	status, text := s.send("POST", "/tasks/signal", fmt.Sprintf(`{"task_id":%q,"key":%q,"value":%s}`, task, key, value))
	require.Equal(s, []any{200, `{"ok":"1"}`}, []any{status, text})
}

var (
	timesOfRows  = regexp.MustCompile(`"(startedAt|finishedAt|CreatedAt|UpdatedAt|LastHeartbeat)":1[0-9]{9}\b`)
	portOfWorker = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)
)

// runs gives the body of /tasks/runs with what differs from test to test replaced.
func (s *seedSystem) runs(task string) string {
	s.Helper()
	status, text := s.send("GET", "/tasks/runs?task_id="+task, "")
	require.Equal(s, 200, status, text)
	return plain(text, task)
}

// plain replaces times, the worker's URL, and ids, which are numbered.
func plain(text string, ids ...string) string {
	text = timesOfRows.ReplaceAllString(text, `"$1":T`)
	text = portOfWorker.ReplaceAllString(text, "WORKER")
	for i, id := range ids {
		text = strings.ReplaceAll(text, id, fmt.Sprintf("ID%d", i))
	}
	return text
}

// shortRuns lists node, attempt, status, action, branch or inner node, and error of each node run.
func (s *seedSystem) shortRuns(task string) (lines []string) {
	s.Helper()
	_, text := s.send("GET", "/tasks/runs?task_id="+task, "")
	var runs []struct {
		NodeKey, Status, Action, ErrorText, PrepJSON, WorkerID string
		AttemptNo                                              int
	}
	require.NoError(s, json.Unmarshal([]byte(text), &runs), text)
	for _, r := range runs {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %d %s %s %s %s %s", r.NodeKey, r.AttemptNo, r.Status, r.Action, r.PrepJSON, r.WorkerID, r.ErrorText), " "))
	}
	return lines
}

// oldWorker serves the reference services, and registers as an existing worker does.
func (s *seedSystem) worker(id string, prefix string) (calls *atomic.Int64) {
	s.Helper()
	calls = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var call struct {
			Input  any            `json:"input"`
			Params map[string]any `json:"params"`
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		answer := map[string]any{"result": nil}
		switch service := strings.TrimPrefix(r.URL.Path, "/exec/"); service {
		case "sum":
			total := 0.0
			list, _ := call.Input.([]any)
			for _, n := range list {
				f, _ := n.(float64)
				total += f
			}
			answer["result"] = total
		case "transform":
			switch in := call.Input.(type) {
			case float64:
				mul, is := call.Params["mul"].(float64)
				if !is {
					mul = 1
				}
				answer["result"] = in * mul
			case string:
				answer["result"] = strings.ToUpper(in)
			default:
				answer["error"] = "bad input"
			}
		case "route":
			action, _ := call.Params["action"].(string)
			if action == "" {
				action = "goB"
			}
			answer["result"] = map[string]string{"action": action}
		default:
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	s.Cleanup(server.Close)
	status, text := s.send("POST", prefix+"/register",
		fmt.Sprintf(`{"id":%q,"url":%q,"services":["transform","sum","route"],"load":0,"lastHeartbeat":0}`, id, server.URL))
	require.Equal(s, []any{200, `{"ok":"1"}`}, []any{status, text})
	return calls
}

// The flows of the demonstration of seed 004 (S4.35).
const (
	branching = `{"start":"route","nodes":{
		"route":{"kind":"executor","service":"route","post":{"action_key":"action"}},
		"b":{"kind":"executor","service":"transform","params":{"mul":10},"prep":{"input_key":"$params.n"},"post":{"output_key":"out","action_static":"done"}},
		"c":{"kind":"executor","service":"sum","prep":{"input_key":"$params.list"},"post":{"output_key":"out"}}},
		"edges":[{"from":"route","action":"goB","to":"b"},{"from":"route","action":"goC","to":"c"}]}`
	fanning = `{"start":"both","nodes":{
		"both":{"kind":"parallel","parallel_services":["sum","transform"],"parallel_mode":"concurrent","failure_strategy":"ignore_errors","prep":{"input_key":"$params.list"},"post":{"output_key":"both","action_static":"go"}},
		"each":{"kind":"foreach","service":"transform","params":{"mul":2},"prep":{"input_key":"$params.list"},"post":{"output_key":"each"}}},
		"edges":[{"from":"both","action":"go","to":"each"}]}`
	nested = `{"start":"sub","nodes":{
		"sub":{"kind":"subflow","prep":{"input_key":"$params.list"},"subflow":{"start":"s","nodes":{
			"s":{"kind":"executor","service":"sum","prep":{"input_key":"$input"},"post":{"output_key":"s"}}}},"post":{"output_key":"sub","action_static":"go"}},
		"big":{"kind":"choice","choice_cases":[{"action":"big","expr":{"gt":["$shared.sub.s",5]}}],"default_action":"small"}},
		"edges":[{"from":"sub","action":"go","to":"big"}]}`
	waiting = `{"start":"pause","nodes":{
		"pause":{"kind":"timer","params":{"delay_ms":20},"post":{"action_static":"go"}},
		"wait":{"kind":"wait_event","params":{"signal_key":"$shared.ready"},"post":{"output_key":"got","action_static":"go"}},
		"next":{"kind":"wait_event","params":{"signal_key":"$shared.early"}}},
		"edges":[{"from":"pause","action":"go","to":"wait"},{"from":"wait","action":"go","to":"next"}]}`
	asking004 = `{"start":"ask","nodes":{"ask":{"kind":"approval","params":{"approval_key":"$shared.ok"}},
		"no":{"kind":"choice","default_action":"no"}},"edges":[{"from":"ask","action":"rejected","to":"no"}]}`
)

// S4.35: the demonstration, with five flows, six tasks and three signals. The server is restarted
// between its steps (S4.2). Each client keeps its base: one of them has a prefix.
func TestSeedDemonstration(t *testing.T) {
	s := startSeed(t)
	s.worker("w1", "")
	flows := map[string]string{}
	for name, definition := range map[string]string{"branching": branching, "fanning": fanning, "nested": nested, "waiting": waiting, "asking": asking004} {
		flows[name] = s.flow(name, definition)
	}
	s.restart()
	b := s.task(flows["branching"], `{"action": "goB", "n": 3}`)
	c := s.task(flows["branching"], `{"action":"goC","list":[1,2,3]}`)
	fan := s.task(flows["fanning"], `{"list":[1,2]}`)
	sub := s.task(flows["nested"], `{"list":[3,4]}`)
	wait := s.task(flows["waiting"], "no JSON")
	ask := s.task(flows["asking"], "")
	s.at(wait, "wait")
	s.at(ask, "ask")
	s.restart()
	s.signal(wait, "early", `{"n": 1}`)
	require.Equal(t, `{"early":{"n":1}}`, s.get(wait).SharedJSON, "a signal is visible once it is answered")
	s.at(wait, "wait")
	s.signal(wait, "ready", `"yes"`)
	s.signal(ask, "ok", "false")
	for id, expected := range map[string][]any{
		b:    {"completed", `{"action":"goB","n":3}`, `{"out":30}`, "", "done", 2},
		c:    {"completed", `{"action":"goC","list":[1,2,3]}`, `{"out":6}`, "", "", 2},
		fan:  {"completed", `{"list":[1,2]}`, `{"both":[3,null],"each":[2,4]}`, "", "", 2},
		sub:  {"completed", `{"list":[3,4]}`, `{"sub":{"s":7}}`, "", "big", 3},
		wait: {"completed", "{}", `{"early":{"n":1},"got":"yes","ready":"yes"}`, "", "", 3},
		ask:  {"completed", "{}", `{"ok":false}`, "", "no", 2},
	} {
		task := s.poll(id)
		require.Equal(t, expected, []any{task.Status, task.ParamsJSON, task.SharedJSON, task.CurrentNodeKey, task.LastAction, task.StepCount})
		require.Equal(t, []any{"{}", "", int64(0), ""}, []any{task.RetryStateJSON, task.LeaseOwner, task.LeaseExpiry, task.RequestID})
		require.InDelta(t, time.Now().Unix(), task.CreatedAt, 60)
		require.GreaterOrEqual(t, task.UpdatedAt, task.CreatedAt)
	}
	s.restart()
	require.Equal(t, []string{"route 1 ok goB {} w1", "b 1 ok done {} w1"}, s.shortRuns(b))
	require.ElementsMatch(t, []string{`both 1 ok  {"branch":"sum"} w1`, `both 1 error  {"branch":"transform"} w1 bad input`, "both 1 ok go {}",
		`each 1 ok  {"branch":"0"} w1`, `each 1 ok  {"branch":"1"} w1`, "each 1 ok  {}"}, s.shortRuns(fan))
	require.Equal(t, []string{`sub 1 ok  {"sub":"s"} w1`, "big 1 ok big {}"}, s.shortRuns(sub))
	require.Equal(t, []string{"pause 1 ok go {}", "wait 1 ok go {}", "next 1 ok  {}"}, s.shortRuns(wait))
	require.Equal(t, []string{"ask 1 ok rejected {}", "no 1 ok no {}"}, s.shortRuns(ask))
}

// The bodies of answers, byte by byte.
func TestSeedBodies(t *testing.T) {
	s := startSeed(t)
	s.worker("w1", "/api")
	flow := s.flow("order", branching)
	status, text := s.send("POST", "/api/flows/version", fmt.Sprintf(`{"definitionjson":%q,"flowid":%q,"STATUS":"published","version":1,"unknown":[1]}`, branching, flow))
	require.Equal(t, []any{200, `{"id":"ID0.1","status":"published"}`}, []any{status, plain(text, flow)})
	task := s.task(flow, `{"action":"goB","n":2}`)
	s.poll(task)
	_, text = s.send("GET", "/api/tasks/get?id="+task, "")
	const shown = `{"ID":"ID0","FlowVersionID":"ID1.1","Status":"completed","ParamsJSON":"{\"action\":\"goB\",\"n\":2}","SharedJSON":"{\"out\":20}",` +
		`"CurrentNodeKey":"","LastAction":"done","StepCount":2,"RetryStateJSON":"{}","LeaseOwner":"","LeaseExpiry":0,"RequestID":"","CreatedAt":T,"UpdatedAt":T}`
	require.Equal(t, shown, plain(text, task, flow))
	_, text = s.send("GET", "/tasks?status=completed", "")
	require.Equal(t, "["+shown+"]", plain(text, task, flow))
	require.Equal(t, `[{"id":"ID0.1","taskId":"ID0","nodeKey":"route","attemptNo":1,"status":"ok","prepJson":"{}","execInputJson":"{\"input\":null,\"params\":{\"action\":\"goB\",\"n\":2}}",`+
		`"execOutputJson":"{\"action\":\"goB\"}","errorText":"","action":"goB","startedAt":T,"finishedAt":T,"workerId":"w1","workerUrl":"WORKER"},`+
		`{"id":"ID0.2","taskId":"ID0","nodeKey":"b","attemptNo":1,"status":"ok","prepJson":"{}","execInputJson":"{\"input\":2,\"params\":{\"action\":\"goB\",\"mul\":10,\"n\":2}}",`+
		`"execOutputJson":"20","errorText":"","action":"done","startedAt":T,"finishedAt":T,"workerId":"w1","workerUrl":"WORKER"}]`, s.runs(task))
	_, text = s.send("GET", "/list?service=sum&ttl=bad", "")
	worker := `{"ID":"w1","URL":"WORKER","Services":["transform","sum","route"],"Load":0,"LastHeartbeat":T,"Status":"online"}`
	require.Equal(t, "["+worker+"]", plain(text))
	_, text = s.send("GET", "/workers/allocate?service=sum", "")
	require.Equal(t, worker, plain(text))

	draft := s.id("/flows", `{"name":"a b/ü","more":1}`)
	require.Equal(t, "a~20b~2f~c3~bc", draft[:len(draft)-len("-0123456789ab")])
	require.NotEqual(t, draft, s.id("/flows", `{"name":"a b/ü"}`), "names are not unique")
	s.id("/flows/version", fmt.Sprintf(`{"DefinitionJSON":%q,"FlowID":%q,"Version":4}`, branching, draft))
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
		status, text := s.send(method, path, c.body)
		require.Equal(t, []any{c.status, c.answer}, []any{status, text}, c.request)
	}
	s.id("/flows/version", fmt.Sprintf(`{"DefinitionJSON":%q,"FlowID":%q,"Version":4,"Status":"published"}`, branching, draft))
	require.Equal(t, draft+".4", s.get(s.task(draft, "[1]")).FlowVersionID, "a draft is published under its number")
}

// S4.19 S4.25: signals come several at once; a task that waits is running until it is canceled, and
// then has a node run that says so.
func TestSeedSignalsAndCancel(t *testing.T) {
	s := startSeed(t)
	task := s.task(s.flow("asking", `{"start":"ask","nodes":{"ask":{"kind":"approval","params":{"approval_key":"$shared.ok"}}}}`), `{"long":"`+strings.Repeat("x", 5000)+`"}`)
	s.at(task, "ask")
	done := make(chan int)
	for i := range 5 {
		go func() {
			s.signal(task, fmt.Sprint("k", i), fmt.Sprintf("%q", strings.Repeat("v", 2000)))
			done <- i
		}()
	}
	for range 5 {
		<-done
	}
	var shared map[string]string
	require.NoError(t, json.Unmarshal([]byte(s.get(task).SharedJSON), &shared))
	require.Len(t, shared, 5, "long members are shown, too")
	require.Len(t, shared["k3"], 2000)
	other := s.task(s.flow("asking", asking004), "")
	s.at(other, "ask")
	_, text := s.send("GET", "/tasks?status=running", "")
	var listed []oldTask
	require.NoError(t, json.Unmarshal([]byte(text), &listed))
	require.Len(t, listed, 2)
	require.Len(t, listed[0].ParamsJSON+listed[1].ParamsJSON, 5011+2, "params are whole")
	status, text := s.send("POST", "/tasks/cancel?id="+task, "")
	require.Equal(t, []any{200, `{"ok":"1"}`}, []any{status, text})
	ended := s.poll(task)
	require.Equal(t, []any{"canceled", "", "canceled"}, []any{ended.Status, ended.CurrentNodeKey, ended.LastAction})
	require.Equal(t, []string{"ask 0 canceled canceled {}"}, s.shortRuns(task))
}

// S4.5 S4.17: a task that was asked to stop is canceling until it has ended. Here it waits for a child
// that cannot run.
func TestSeedCanceling(t *testing.T) {
	s := startSeed(t)
	task := s.task(s.flow("parent", `{"start":"sub","nodes":{"sub":{"kind":"subflow","workflow":"absent"}}}`), "")
	s.at(task, "sub")
	status, _ := s.send("POST", "/tasks/cancel?id="+task, "")
	require.Equal(t, 200, status)
	require.Eventually(t, func() bool { return s.get(task).Status == "canceling" }, 10*time.Second, 5*time.Millisecond)
	s.restart()
	_, text := s.send("GET", "/tasks?status=canceling", "")
	require.Contains(t, text, task)
	_, text = s.send("GET", "/tasks?status=running", "")
	require.Equal(t, "[]", text)
}

// S4.14 S4.36: a worker registers once. After a restart of the server, its heartbeat is enough, and one
// that starts again under its URL is the same worker. Each attempt of a call is a node run.
func TestSeedWorkers(t *testing.T) {
	s := startSeed(t)
	flow := s.flow("retried", `{"start":"n","nodes":{"n":{"kind":"executor","service":"transform","max_retries":1,"prep":{"input_key":"$params.none"}}}}`)
	none := s.task(flow, "{}")
	require.Equal(t, "failed", s.poll(none).Status)
	require.Equal(t, []string{"n 1 error  {}  no worker", "n 2 error  {}  no worker"}, s.shortRuns(none))
	calls := s.worker("w1", "")
	s.restart()
	task := s.task(flow, "{}")
	require.Equal(t, "failed", s.poll(task).Status)
	require.Equal(t, []string{"n 1 error  {} w1 bad input", "n 2 error  {} w1 bad input"}, s.shortRuns(task))
	require.EqualValues(t, 2, calls.Load())
	_, text := s.send("GET", "/list", "")
	var listed []struct{ ID, URL string }
	require.NoError(t, json.Unmarshal([]byte(text), &listed))
	status, _ := s.send("POST", "/heartbeat", fmt.Sprintf(`{"id":"other","url":%q,"load":7}`, listed[0].URL))
	require.Equal(t, 200, status)
	status, _ = s.send("POST", "/workers/register", fmt.Sprintf(`{"ID":"w2","URL":%q,"Services":["sum"]}`, listed[0].URL))
	require.Equal(t, 200, status)
	_, text = s.send("GET", "/workers/list?ttl=0", "")
	require.Equal(t, `[{"ID":"w2","URL":"WORKER","Services":["sum"],"Load":0,"LastHeartbeat":T,"Status":"online"}]`, plain(text))
	status, text = s.send("POST", "/register", `{"id":"w","url":"http://169.254.169.254","services":["sum"]}`)
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
			s.user = url.UserPassword("any", secrets[role])
			status, text := s.send(method, path, "{}")
			allowed := i >= slices.Index(api.Roles, c.needs) && (c.needs != api.Worker || role != api.Read)
			require.Equal(t, allowed, status != http.StatusForbidden, "%s %s: %d %s", role, c.request, status, text)
			require.NotEqual(t, http.StatusUnauthorized, status)
		}
		for _, user := range []*url.Userinfo{nil, url.User(secrets[api.All]), url.UserPassword("any", "wrong")} {
			s.user = user
			status, text := s.send(method, path, "{}")
			require.Equal(t, http.StatusUnauthorized, status)
			require.Contains(t, text, `{"error":"`)
		}
	}
	s.user = url.UserPassword("ann", secrets[api.All])
	status, _ := s.send("GET", "/v1/runs", "")
	require.Equal(t, 200, status, "the routes of /v1 take it, too")
	require.Equal(t, "completed", s.poll(s.task(s.flow("choice", `{"start":"n","nodes":{"n":{"kind":"choice"}}}`), "")).Status)
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
	s.worker("w1", "")
	task := s.task(s.flow("many", `{"start":"each","nodes":{"each":{"kind":"foreach","service":"transform",
		"parallel_mode":"concurrent","max_parallel":50,"prep":{"input_key":"$params.list"}}}}`),
		`{"list":[`+strings.TrimSuffix(strings.Repeat("1,", 1100), ",")+`]}`)
	require.Equal(t, "completed", s.poll(task).Status)
	require.Len(t, s.shortRuns(task), 1101)
}

// A flow that has continued as new still shows the params that its task was started with.
func TestSeedParams(t *testing.T) {
	for input, shown := range map[string]string{
		"": "{}", `{"a":1}`: `{"a":1}`, `{"_rt":{"params":{"a":[1]},"frame":{}}}`: `{"a":[1]}`, `{"_rt":{}}`: "{}",
	} {
		require.Equal(t, shown, api.ShownParams(history.Payload(input)))
	}
}
