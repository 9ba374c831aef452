package program_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/wire"
)

// online gives the workers that are online, once there are so many.
func (s *server) online(t *testing.T, count int) (found []wire.Worker) {
	t.Helper()
	require.Eventually(t, func() bool {
		listed := wire.Workers{}
		require.NoError(t, json.Unmarshal([]byte(s.ask(t.Context(), "", "workers", "list",
			"--online", "-o", "json").out), &listed))
		found = listed.Workers
		return len(found) == count
	}, 20*time.Second, 20*time.Millisecond, "so many workers must be online: %d", count)
	return found
}

// runWorker runs a worker in a process of its own.
func runWorker(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	process := exec.CommandContext(t.Context(), self)
	process.Env = append(os.Environ(),
		asProgram+"="+strings.Join(append([]string{"reprise", "worker"}, args...), "\n"))
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	return process
}

const callsResult = `{"loud":"ABC","total":6}`

// S4.23 S4.30 S4.31 S4.34 S4.37: a published flow runs with two workers, each a process of its own.
// The second one finds its port taken. When the first is killed, the second takes its calls.
func TestAWorkerTakesOver(t *testing.T) {
	s := serve(t, t.TempDir(), "--worker-ttl", "1h")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	first := runWorker(t, "--registry", s.Address, "--url", url)
	require.Equal(t, url, s.online(t, 1)[0].URL)
	runWorker(t, "--registry", s.Address, "--url", url)
	both := s.online(t, 2)
	require.NotEqual(t, url, both[1].URL)
	require.Equal(t, []string{"route", "sum", "transform"}, both[1].Services)

	require.Zero(t, s.ask(t.Context(), "", "publish", "testdata/flows/calls.json").code)
	start := func(run string) outcome {
		return s.ask(t.Context(), "", "start", "calls", "--run", run, "--wait", "--input",
			`{"text": "abc", "numbers": [1, "2", 3, null, "x"]}`)
	}
	out := start("r1")
	require.JSONEq(t, callsResult, out.out, out.err)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	out = start("r2")
	require.JSONEq(t, callsResult, out.out, out.err)
	history := s.ask(t.Context(), "", "history", "r2", "--json").out
	for _, worker := range both { // the log names each worker that was asked
		require.Contains(t, history, worker.URL)
	}
	require.Contains(t, history, "connection refused")
}

// TestAWorkerSigns: a worker registers with a deployed API, which its environment names.
func TestAWorkerSigns(t *testing.T) {
	seen := make(chan string, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case seen <- r.URL.Path + " " + r.Header.Get("Authorization"):
		default: // a heartbeat
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer api.Close()
	t.Setenv("REPRISE_ADDRESS", api.URL+"/live")
	t.Setenv("REPRISE_SIGN", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	runWorker(t)
	select {
	case got := <-seen:
		require.Contains(t, got, "/live/v1/workers AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
	case <-time.After(20 * time.Second):
		require.Fail(t, "the worker did not register")
	}
}

// S4.2: the registry outlives a restart of the server, and a worker is known by its heartbeat. A
// worker that does not answer fails the call, and one that stops in good order is gone at once.
func TestWorkersOutliveTheServer(t *testing.T) {
	s := serve(t, t.TempDir())
	dead := httptest.NewServer(http.NotFoundHandler())
	defer dead.Close()
	body := `{"id":"odd","url":"` + dead.URL + `","services":["transform","sum"]}`
	response, err := http.Post(s.Address+"/v1/workers", "application/json", strings.NewReader(body)) //nolint:noctx // a test
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	s.stop()
	s = serve(t, s.Data)
	require.Equal(t, "odd", s.online(t, 1)[0].ID)
	require.Zero(t, s.ask(t.Context(), "", "publish", "testdata/flows/calls.json").code)
	out := s.ask(t.Context(), "", "start", "calls", "--run", "r", "--wait", "--input",
		`{"text": "abc"}`)
	require.NotZero(t, out.code)
	require.Contains(t, out.err+out.out, "all workers failed: the answer, of status 404, is not "+
		"a JSON object")
	require.Contains(t, s.ask(t.Context(), "", "workers", "list").out, "odd  online")
	require.Equal(t, "the worker is removed\n", s.ask(t.Context(), "", "workers", "remove",
		dead.URL).err)
	require.Contains(t, s.ask(t.Context(), "", "workers", "list").err,
		"no worker is registered; `reprise worker` runs one")
}

// TestServeCallsNoWorker: only what the operator allows is called.
func TestServeCallsNoWorker(t *testing.T) {
	s := serve(t, t.TempDir(), "--allow-worker", "10.0.0.0/8", "--allow-worker", "*.example.com")
	out := command(t.Context(), "", "dev", "--allow-worker", "http://a")
	require.NotZero(t, out.code)
	require.Contains(t, out.err,
		`--allow-worker: rule "http://a" for workers: it is loopback, an address`)
	response, err := http.Post(s.Address+"/v1/workers", "application/json", //nolint:noctx // a test
		strings.NewReader(`{"id":"a","url":"http://127.0.0.1:9000","services":["s"]}`))
	require.NoError(t, err)
	defer response.Body.Close()
	problem := struct{ Detail string }{}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&problem))
	require.Equal(t, `worker URL "http://127.0.0.1:9000" is not allowed: no rule allows it: the operator can add "127.0.0.1" with `+
		`--allow-worker, or with the parameter AllowWorkers of template.yaml`, problem.Detail)
}

// S4.30 S4.31 S4.32 S4.36: the example services, which are served while the registry is not there
// yet.
func TestExampleServices(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	t.Setenv("REGISTRY_URL", "http://127.0.0.1:1")
	t.Setenv("WORKER_URL", url)
	runWorker(t)
	call := func(service, body string) (string, error) {
		response, err := http.Post(url+"/exec/"+service, "application/json", strings.NewReader(body)) //nolint:noctx // a test
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	}
	require.Eventually(t, func() bool {
		_, err := call("route", "{}")
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	for _, c := range [][3]string{
		{"transform", `{"input":"aé","params":{"op":"upper"}}`, `{"result":"AÉ"}`},
		{"transform", `{"input":"AB","params":{"op":"lower"}}`, `{"result":"ab"}`},
		{"transform", `{"input":"AB","params":{"op":7}}`,
			`{"result":null,"error":"unsupported op"}`},
		{"transform", `{"input":"AB"}`, `{"result":null,"error":"unsupported op"}`},
		{"transform", `{"input":2,"params":{"mul":1.5}}`, `{"result":3}`},
		{"transform", `{"input":2,"params":{}}`, `{"result":2}`},
		{"transform", `{"input":null,"params":{}}`, `{"result":null,"error":"bad input"}`},
		{"transform", `{"input":[1]}`, `{"result":null,"error":"bad input"}`},
		{"sum", `{"input":[1,"2.5",null,"x",true,[7]]}`, `{"result":3.5}`},
		{"sum", `{"input":[]}`, `{"result":0}`},
		{"sum", `{"input":"1"}`, `{"result":null,"error":"bad input"}`},
		{"route", `{"params":{"action":"goZ"}}`, `{"result":{"action":"goZ"}}`},
		{"route", `{"params":{"action":""}}`, `{"result":{"action":"goB"}}`},
		{"route", `{"params":null}`, `{"result":{"action":"goB"}}`},
	} {
		answer, err := call(c[0], c[1])
		require.NoError(t, err)
		require.Equal(t, c[2], answer, "%s %s", c[0], c[1])
	}
	http.DefaultClient.CloseIdleConnections()
}

// Wrong places of a worker or its server are misuse, and the message names the flag.
func TestAWorkerSaysWhatIsWrong(t *testing.T) {
	t.Setenv("REGISTRY_URL", "")
	t.Setenv("WORKER_URL", "")
	for flags, want := range map[string]string{
		"--registry ftp://localhost": `the address "ftp://localhost" is not of the form`,
		"--url localhost": "--url: the worker's URL must be one such as " +
			"http://localhost:9000",
		"--url http://192.0.2.1:9000": "--url: the worker cannot listen there: listen " +
			"tcp 192.0.2.1:9000",
		"--listen 127.0.0.1:0": "--url: say where the server calls the worker, " +
			"which listens elsewhere",
		"--url http://a --listen 192.0.2.1:1": "--listen: the worker cannot listen there: listen " +
			"tcp 192.0.2.1:1",
	} {
		out := command(t.Context(), "", append([]string{"worker"}, strings.Fields(flags)...)...)
		require.Equal(t, 2, out.code, flags)
		require.Contains(t, out.err, want)
		require.Contains(t, out.err, "reprise worker --help says more")
	}
}

// A publication says which services no worker offers yet. The flow is published all the same.
func TestPublicationsNameMissingWorkers(t *testing.T) {
	s := serve(t, t.TempDir())
	published := s.ask(t.Context(), "", "publish", "testdata/flows/calls.json")
	require.Zero(t, published.code)
	require.Contains(t, published.err,
		`no worker that is online offers service "sum": until one does, its calls fail; `+"`reprise workers list` shows the workers")
	require.Contains(t, published.err, `"transform"`)
	require.Contains(t, s.ask(t.Context(), "", "flow", "run", "testdata/flows/calls.json").err,
		`offers service "sum"`)
	require.Contains(t, s.ask(t.Context(), "", "workers", "list", "--service", "sum",
		"--online").err, `no worker offers service "sum" and is online`)
	runWorker(t, "--registry", s.Address)
	s.online(t, 1)
	require.NotContains(t, s.ask(t.Context(), "", "publish", "testdata/flows/calls.json").err,
		"no worker")
}
