package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api"
)

// TestLargeValues: a gateway that takes 3 MB, as functions/api has, and a run of 5.5 MB beside a
// small one.
func TestLargeValues(t *testing.T) {
	const longest = 3 << 20
	w := start(t, func(c *api.Config) { c.LongestAnswer = longest })
	value := `{"note":"` + strings.Repeat("ä", 2_750_000) + `"}`
	started := w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"large","workflow":"echo","input":`+value+`}`)
	require.Equal(t, "large", started["run"])
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"small","workflow":"echo","input":1}`)

	page := w.ok(200, "GET", "/v1/runs", "")["runs"].([]any)
	require.Len(t, page, 2, "neither run keeps the other from being listed")
	for _, shown := range []map[string]any{page[1].(map[string]any), w.ok(200, "GET", "/v1/runs/large", "")} {
		require.Equal(t, "completed", shown["status"])
		require.NotContains(t, shown, "input")
		require.NotContains(t, shown, "result")
		input := shown["large"].(map[string]any)["input"].(map[string]any)
		require.EqualValues(t, len(value), input["bytes"])
		require.Contains(t, input["preview"], `{"note":"ää`)
	}
	for _, path := range []string{"/v1/runs/large/values/input", "/v1/runs/large/values/result"} {
		whole, pieces := "", 0
		for after := ""; ; pieces++ {
			response, text := w.call(http.MethodGet, path+after, "")
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.LessOrEqual(t, len(text), 1_000_000)
			whole += text
			next := response.Header.Get("Reprise-Next")
			if next == "" {
				break
			}
			after = "?after=" + next
		}
		require.Equal(t, 5, pieces)
		require.True(t, whole == value)
	}
	var given bytes.Buffer
	require.NoError(t, w.client.Value(t.Context(), "large", port.ValueInput, &given))
	require.True(t, given.String() == value)
	summary, err := w.client.Wait(t.Context(), "large")
	require.NoError(t, err)
	require.True(t, string(summary.Result) == value, "a client that waits gets the result whole")
	require.Contains(t, summary.Large, port.ValueInput)
}

// TestValueInOneAnswer: without a gateway, one answer has all of a value.
func TestValueInOneAnswer(t *testing.T) {
	w := start(t)
	value := `"` + strings.Repeat("x", 5_500_000) + `"`
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"large","workflow":"echo","input":`+value+`}`)
	response, text := w.call(http.MethodGet, "/v1/runs/large/values/result", "")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Empty(t, response.Header.Get("Reprise-Next"))
	require.True(t, text == value)
	_, text = w.call(http.MethodGet, "/v1/runs/large/values/state", "")
	require.Equal(t, "null", text)

	require.Equal(t, port.NotFound, w.problem("GET", "/v1/runs/none/values/result", "").Code)
	require.Contains(t, w.problem("GET", "/v1/runs/large/values/output", "").Detail,
		"input, result, state, failure")
	require.Equal(t, port.Invalid,
		w.problem("GET", "/v1/runs/large/values/result?after=7", "").Code)
	changed := w.problem("GET", "/v1/runs/large/values/result?after=00000000.5", "")
	require.Equal(t, port.Conflict, changed.Code)
	require.Contains(t, changed.Detail, "has changed since its first piece was read")
}

// read gives a text that comes in pieces.
func (w *world) read(method, path, body, after string) string {
	w.Helper()
	for whole := ""; ; {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		response, text := w.call(method, path+separator+"after="+after, body)
		require.Equal(w, http.StatusOK, response.StatusCode, text)
		require.LessOrEqual(w, len(text), 1_000_000)
		whole += text
		if after = response.Header.Get("Reprise-Next"); after == "" {
			return whole
		}
	}
}

// TestLongAnswers: a query and an update that are answered with more than a gateway takes say how
// the answer is read.
func TestLongAnswers(t *testing.T) {
	w := start(t, func(c *api.Config) { c.LongestAnswer = 3 << 20 })
	w.ok(201, "POST", "/v1/runs", `{"run":"l","workflow":"library"}`)
	require.Eventually(t, func() bool {
		_, err := w.client.Query(t.Context(), "l", "page", history.Payload("1"))
		return err == nil
	}, 10*time.Second, time.Millisecond)
	for path, c := range map[string]struct{ body, letter string }{
		"/v1/runs/l/queries/page":          {`{"input":2000000}`, "ö"},
		"/v1/runs/l/updates/print?wait=9s": {`{"id":"u","input":2000000}`, "ü"},
	} {
		response, text := w.call(http.MethodPost, path, c.body)
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		var answer struct {
			Result *string
			Large  map[string]port.Large
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		require.Nil(t, answer.Result)
		require.EqualValues(t, 4_000_002, answer.Large["result"].Bytes)
		require.Contains(t, answer.Large["result"].Preview, c.letter)
		whole := w.read(http.MethodPost, path, c.body, response.Header.Get("Reprise-Next"))
		require.True(t, whole == `"`+strings.Repeat(c.letter, 2_000_000)+`"`)
	}
	changed := w.problem("POST", "/v1/runs/l/queries/page?after=00000000.5", `{"input":2000000}`)
	require.Equal(t, port.Conflict, changed.Code)
	require.Contains(t, w.problem("POST", "/v1/runs/l/updates/print?after=00000000.0",
		`{"input":2}`).Detail, "give its id")

	result, err := w.client.Query(t.Context(), "l", "page", history.Payload("2000000"))
	require.NoError(t, err)
	require.Len(t, result, 4_000_002, "the client reads the whole")
	answer, err := w.client.Update(t.Context(), engine.MessageRequest{Run: "l", ID: "u"}, "print",
		history.Payload("2000000"))
	require.NoError(t, err)
	require.Len(t, answer.Result, 4_000_002)
	require.Empty(t, answer.Large)
}

// TestLongRecords: a page of the history leaves long values out, and each record can be read whole.
func TestLongRecords(t *testing.T) {
	for name, limit := range map[string]int{"behind a gateway": 3 << 20, "without a limit": 0} {
		t.Run(name, func(t *testing.T) {
			w := start(t, func(c *api.Config) { c.LongestAnswer = limit })
			w.ok(201, "POST", "/v1/runs?wait=9s",
				`{"run":"large","workflow":"echo","input":"`+strings.Repeat("x", 5_000_000)+`"}`)
			shown := w.ok(200, "GET", "/v1/runs/large/history", "")
			require.Equal(t, []any{1.0}, shown["large"])
			text, err := json.Marshal(shown)
			require.NoError(t, err)
			require.Less(t, len(text), 5000)
			require.Contains(t, string(text), `"input@":"5000002 bytes, left out: \"xxx`)

			stored, err := w.node.History(t.Context(), "large", 1, 0)
			require.NoError(t, err)
			var whole bytes.Buffer
			require.NoError(t, w.client.Record(t.Context(), "large", 1, 1, &whole))
			require.True(t, whole.String() == string(history.AppendRecord(nil, stored[0])))
			for record, err := range w.client.Records(t.Context(), "large", 1) {
				require.NoError(t, err)
				require.True(t, string(record) == whole.String(), "the client reads the whole")
			}
			require.Equal(t, port.NotFound, w.problem("GET", "/v1/runs/large/history/2", "").Code)
			require.Equal(t, port.Invalid, w.problem("GET", "/v1/runs/large/history/x", "").Code)
			require.Equal(t, port.NotFound, w.problem("GET", "/v1/runs/none/history/1", "").Code)
		})
	}
}

// TestNoRoomForAReader: what cannot be read within the memory that is free is answered with 503,
// and costs the others nothing.
func TestNoRoomForAReader(t *testing.T) {
	budget := memory.New(64 << 20)
	w := start(t, func(c *api.Config) { c.Memory, c.Limits.RoomWithin = budget, time.Millisecond })
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"large","workflow":"echo","input":"`+strings.Repeat("x", 2_000_000)+`"}`)
	require.Zero(t, budget.Used(), "whatever a request held is given back")
	require.True(t, budget.TryTake(budget.Total()))
	for _, path := range []string{"/v1/runs/large/values/result", "/v1/runs/large/history", "/v1/runs/large/export"} {
		response, text := w.call(http.MethodGet, path, "")
		require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, path)
		require.Equal(t, "1", response.Header.Get("Retry-After"))
		require.Contains(t, text, "try again")
	}
	w.ok(200, "GET", "/v1/runs/large", "")
	budget.Give(budget.Total())
	response, _ := w.call(http.MethodGet, "/v1/runs/large/values/result", "")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Zero(t, budget.Used())
}

// TestSlowReaders: callers that take a long value slowly hold no memory for it, and each gets the
// value as it was when the answer began.
func TestSlowReaders(t *testing.T) {
	budget, folder := memory.New(64<<20), t.TempDir()
	w := start(t, func(c *api.Config) { c.Memory, c.Folder = budget, folder })
	value := `"` + strings.Repeat("x", 8_000_000) + `"`
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"large","workflow":"echo","input":`+value+`}`)
	var answers []*http.Response
	for range 10 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/v1/runs/large/values/input", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.EqualValues(t, len(value), answer.ContentLength)
		answers = append(answers, answer)
	}
	require.Zero(t, budget.Used(), "what a reader holds does not grow with the value")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Empty(t, left, "no file has a name that would outlive the process")
	}
	require.True(t, budget.TryTake(budget.Total()), "the budget is taken: another reading would "+
		"be refused")
	for _, answer := range answers {
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.True(t, string(text) == value)
	}
	budget.Give(budget.Total())
}

// TestABodyThatNeverFits: what a server has no memory for at all is not told to try again.
func TestABodyThatNeverFits(t *testing.T) {
	w := start(t, func(c *api.Config) { c.Memory = memory.New(8 << 20) })
	p := w.problem("POST", "/v1/runs", `{"workflow":"echo","input":"`+strings.Repeat("x", 3<<20)+`"}`)
	require.Equal(t, port.TooLarge, p.Code)
	require.Contains(t, p.Detail, "--memory")
}
