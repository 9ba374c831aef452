//go:build unix

package api_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
)

// attack is a page that tries what a page can to have its browser start runs on a server, reads what it can, and then says
// that it is done. What a browser is to do with each is written down nowhere but in the browser.
const attack = `<!doctype html><script>
const target = %q, body = '{"workflow":"echo","input":"from a page"}';
const settle = p => Promise.race([p.catch(() => {}), new Promise(r => setTimeout(r, 3000))]);
const loads = e => settle(new Promise(r => { e.onload = e.onerror = r; document.documentElement.append(e); }));
const element = (name, change) => Object.assign(document.createElement(name), change);
const form = (enctype, name, value) => {
  const frame = element("iframe", {name: "f" + Math.random()});
  const loaded = loads(frame);
  const f = element("form", {method: "post", enctype, action: target + "/v1/runs", target: frame.name});
  f.append(element("input", {name, value}));
  document.documentElement.append(f);
  return loaded.then(() => { const answered = settle(new Promise(r => frame.onload = r)); f.submit(); return answered; });
};
(async () => {
  const post = init => settle(fetch(target + "/v1/runs", {method: "POST", body, mode: "no-cors", ...init}));
  await post({headers: {"Content-Type": "text/plain"}});
  await post({body: new Blob([body])});                         // of no type at all
  await post({body: new Blob([body], {type: "application/x-www-form-urlencoded"})});
  await post({mode: "cors", headers: {"Content-Type": "application/json"}}); // asks first
  await post({credentials: "include", keepalive: true, referrerPolicy: "no-referrer", body: new Blob([body])});
  navigator.sendBeacon(target + "/v1/runs", new Blob([body]));
  await form("text/plain", '{"workflow":"echo","input":"', '"}');
  await form("application/x-www-form-urlencoded", "workflow", "echo");
  await form("multipart/form-data", "workflow", "echo");
  await loads(element("iframe", {sandbox: "allow-scripts allow-forms", srcdoc:
    "<script>fetch('" + target + "/v1/runs', {method: 'POST', mode: 'no-cors', body: new Blob(['" + body + "'])})<" + "/script>"}));
  await loads(element("img", {src: target + "/v1/runs"}));
  await loads(element("script", {src: target + "/v1/runs"}));
  await loads(element("link", {rel: "stylesheet", href: target + "/v1/runs"}));
  await loads(element("iframe", {src: target + "/v1/runs"}));
  await settle(new Promise(r => { const s = new WebSocket(target.replace("http", "ws") + "/v1/runs"); s.onopen = s.onerror = r; }));
  await settle(fetch("/done", {method: "POST"}));
})();
</script>`

// browser finds a Chromium; there is none on most machines that run tests.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if file, err := exec.LookPath(name); err == nil {
			return file
		}
	}
	t.Skip("no Chromium is installed: TestBrowsersOfOtherSites plays what it sends")
	return ""
}

// asked is what came to a server, by what browsers say of it, with how it was answered.
type asked struct {
	mu  sync.Mutex
	all map[string]int
}

func (a *asked) by(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		a.mu.Lock()
		a.all[fmt.Sprintf("%s %s %s %s", r.Method, r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest"), r.Header.Get("Sec-Fetch-Site"))] = answer.Code
		a.mu.Unlock()
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// visit has a browser open a page and stay until the page says that it is done. Names of pages mean this machine.
func visit(t *testing.T, file, page string, done <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, file, "--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server", "--no-first-run", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-port=0", "--host-resolver-rules=MAP *.example 127.0.0.1", page)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a browser is a script, and many processes: all end
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	require.NoError(t, command.Start())
	select {
	case <-done:
	case <-ctx.Done():
		t.Error("the page did not come to its end")
	}
	cancel()
	require.Error(t, command.Wait())
}

// TestARealBrowser: a page of another site starts nothing, and everything that it has its browser send is refused. The same page
// does start runs on a handler without the guard: else the test would show nothing.
func TestARealBrowser(t *testing.T) {
	file := browser(t)
	for _, c := range []struct {
		name    string
		guarded bool
	}{{"guarded", true}, {"without the guard", false}} {
		t.Run(c.name, func(t *testing.T) {
			w := start(t)
			handler := http.Handler(w.handler)
			if c.guarded {
				handler = w.handler.Server("127.0.0.1:7717").Handler
			}
			came := &asked{all: map[string]int{}}
			target := httptest.NewServer(came.by(handler))
			defer target.Close()
			done := make(chan struct{}, 1)
			evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/done" {
					done <- struct{}{}
					return
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, attack, target.URL)
			}))
			defer evil.Close()
			visit(t, file, named(t, evil.URL, "evil.example"), done)

			runs, err := w.client.List(t.Context(), port.ListQuery{})
			require.NoError(t, err)
			came.mu.Lock()
			defer came.mu.Unlock()
			t.Logf("%d kinds of requests: %v", len(came.all), came.all)
			require.Greater(t, len(came.all), 5)
			if !c.guarded {
				require.NotEmpty(t, runs.Runs)
				return
			}
			require.Empty(t, runs.Runs)
			for kind, status := range came.all {
				require.Equal(t, http.StatusForbidden, status, kind)
			}
		})
	}
}

// named is an address under a name that the browser takes for this machine.
func named(t *testing.T, address, name string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	parsed.Host = net.JoinHostPort(name, parsed.Port())
	return parsed.String()
}
