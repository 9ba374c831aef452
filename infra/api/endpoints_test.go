package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func TestStart(t *testing.T) {
	w := start(t)
	run := w.ok(201, "POST", "/v1/runs?wait=5s", `{"run": "a", "workflow": "echo", "input": {"b": [1, 2.50, "x<y"]}, "attributes": {"who": "ada"}}`)
	require.Equal(t, "a", run["run"])
	require.Equal(t, "completed", run["status"])
	require.Equal(t, map[string]any{"who": "ada"}, run["attributes"])
	again := w.ok(200, "POST", "/v1/runs", `{"run":"a","workflow":"echo","input":{"b":[1,2.50,"x<y"]}}`)
	require.Equal(t, run["started"], again["started"])
	reused := w.ok(201, "POST", "/v1/runs", `{"run":"a","workflow":"echo","input":2,"reuse":true}`)
	require.EqualValues(t, 2, reused["generation"])
	require.Len(t, w.ok(201, "POST", "/v1/runs", `{"workflow":"echo"}`)["run"], 26)
}

func TestInputsPassUnchanged(t *testing.T) {
	w := start(t)
	for i, input := range []string{`12345678901234567890.10`, `"\u00e9 <é>"`, `[1e2,  {"a" :null}]`, `false`} {
		id := fmt.Sprint("run-", i)
		w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"`+id+`","workflow":"echo","input":`+input+`}`)
		page, err := w.client.History(t.Context(), id, 1, 0)
		require.NoError(t, err)
		require.Contains(t, string(page.Records[0]), strings.ReplaceAll(strings.ReplaceAll(input, "  ", ""), " :", ":"))
	}
	w.ok(201, "POST", "/v1/runs", "{\"run\":\"lines\",\"workflow\":\"echo\",\"input\":[1,\n  1.0]\r\n}")
	summary, err := w.node.Get(t.Context(), "lines")
	require.NoError(t, err)
	require.Equal(t, "[1,1.0]", string(summary.Input))
}

func TestOneIDOneRun(t *testing.T) {
	w := start(t)
	var all sync.WaitGroup
	created := make(chan bool, 50)
	for range cap(created) {
		all.Go(func() {
			response, _ := w.call("POST", "/v1/runs", `{"run":"same","workflow":"echo","input":1}`)
			created <- response.StatusCode == http.StatusCreated
		})
	}
	all.Wait()
	close(created)
	winners := 0
	for won := range created {
		if won {
			winners++
		}
	}
	require.Equal(t, 1, winners)
}

// TestValuesOfAnotherType are refused where the type is registered.
func TestValuesOfAnotherType(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	w.ok(201, "POST", "/v1/runs", `{"run":"r","workflow":"reviewed","input":"text"}`)
	for path, body := range map[string]string{
		"/v1/runs":                   `{"workflow":"basket","input":"one"}`,
		"/v1/runs/b/signals/approve": `{"input":{"yes":true}}`,
		"/v1/activities/" + <-w.tokens + "/complete": `{"result":7}`,
	} {
		response, text := w.call("POST", path, body)
		require.Equal(t, 400, response.StatusCode, text)
		require.Contains(t, text, "has another type")
	}
}

func TestUnknownWorkflowIsAHint(t *testing.T) {
	w := start(t)
	response, text := w.call("POST", "/v1/runs?wait=5s", `{"workflow":"ecko"}`)
	require.Equal(t, 201, response.StatusCode)
	require.Equal(t, `no workflow "ecko" is registered or published here, so the run is blocked until one is; registered: basket, echo, fails, library, reviewed`, response.Header.Get(wire.HintHeader))
	require.Contains(t, text, `"reason":"unknown-workflow"`)
}

func TestList(t *testing.T) {
	w := start(t)
	for i := range 5 {
		w.ok(201, "POST", "/v1/runs?wait=5s", fmt.Sprintf(`{"run":"e%d","workflow":"echo","attributes":{"even":%t,"n":"x"}}`, i, i%2 == 0))
	}
	w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"x","workflow":"nowhere"}`)
	ids := func(query string) (found []string) {
		page := w.ok(200, "GET", "/v1/runs"+query, "")
		for _, run := range page["runs"].([]any) {
			found = append(found, run.(map[string]any)["run"].(string))
		}
		return found
	}
	require.Equal(t, []string{"x", "e4", "e3", "e2", "e1", "e0"}, ids(""))
	require.Equal(t, []string{"e4", "e3", "e2", "e1", "e0"}, ids("?workflow=echo&status=completed"))
	require.Equal(t, []string{"x"}, ids("?blocked=true"))
	require.Equal(t, []string{"e4", "e2", "e0"}, ids(`?attribute=even=true&attribute=n%3D%22x%22`))
	require.Empty(t, ids("?status=failed"))
	page := w.ok(200, "GET", "/v1/runs?limit=4", "")
	require.Len(t, page["runs"], 4)
	require.Equal(t, []string{"e1", "e0"}, ids("?limit=4&cursor="+page["next"].(string)))
}

func TestGetWaits(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	require.Equal(t, "running", w.ok(200, "GET", "/v1/runs/b?wait=1ms", "")["status"])
	got := make(chan map[string]any)
	go func() { got <- w.ok(200, "GET", "/v1/runs/b?wait=30s", "") }()
	w.ok(202, "POST", "/v1/runs/b/signals/approve", `{"input":"yes"}`)
	require.Equal(t, "yes", (<-got)["result"])
}

func TestHistoryAndExport(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	w.ok(200, "POST", "/v1/runs/b/updates/add?wait=5s", `{"input":2}`)
	w.ok(202, "POST", "/v1/runs/b/signals/approve", `{"input":"yes"}`)
	w.ok(200, "GET", "/v1/runs/b?wait=5s", "")
	page := w.ok(200, "GET", "/v1/runs/b/history", "")
	records := page["records"].([]any)
	require.GreaterOrEqual(t, len(records), 2)
	require.Equal(t, "basket", page["workflow"])
	require.NotContains(t, page, "next", "the log is closed")
	require.Len(t, w.ok(200, "GET", "/v1/runs/b/history?generation=1&after=1", "")["records"], len(records)-1)

	w.ok(202, "POST", "/v1/runs/b/reset", `{"record":1,"reason":"once more"}`)
	require.Eventually(t, func() bool { return w.ok(200, "GET", "/v1/runs/b", "")["generation"] == 2.0 }, 5*time.Second, time.Millisecond)
	require.Equal(t, "yes", w.ok(200, "GET", "/v1/runs/b?wait=5s", "")["result"], "its signal came again")
	w.ok(202, "POST", "/v1/runs/b/reset", `{"generation":1,"record":1,"excludeSignals":true}`)
	require.Eventually(t, func() bool { return w.ok(200, "GET", "/v1/runs/b", "")["generation"] == 3.0 }, 5*time.Second, time.Millisecond)
	require.Equal(t, "running", w.ok(200, "GET", "/v1/runs/b", "")["status"], "its signal does not come again")
	for generation, begins := range map[int]int{1: 1, 2: 1} {
		var text bytes.Buffer
		require.NoError(t, w.client.Export(t.Context(), "b", generation, &text))
		log, err := history.DecodeExport(text.Bytes())
		require.NoError(t, err)
		require.Equal(t, generation, log.Generation)
		require.Equal(t, begins, log.Records[0].Number)
		require.Equal(t, string(history.AppendExport(nil, log)), text.String())
		require.NotNil(t, log.Records[len(log.Records)-1].Closes())
	}
}

func TestMail(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	first := w.ok(200, "POST", "/v1/runs/b/updates/add?wait=5s", `{"id":"u","input":2}`)
	require.Equal(t, []any{"u", "completed", 3.0}, []any{first["id"], first["phase"], first["result"]})
	require.Equal(t, 3.0, w.ok(200, "POST", "/v1/runs/b/updates/add?wait=5s", `{"id":"u","input":2}`)["result"], "once")
	require.Equal(t, 3.0, w.ok(200, "POST", "/v1/runs/b/queries/total", "")["result"])
	rejected := w.ok(200, "POST", "/v1/runs/b/updates/add?wait=5s", `{"input":-1}`)
	require.Equal(t, "rejected", rejected["phase"])
	require.Equal(t, "negative", rejected["failure"].(map[string]any)["message"])
	w.ok(201, "POST", "/v1/runs", `{"run":"waits","workflow":"basket","input":1}`) // it does not end before its handlers do
	pending := w.ok(202, "POST", "/v1/runs/waits/updates/never?wait=20ms", `{"id":"n"}`)
	require.Equal(t, "n", pending["id"])
	require.Contains(t, []any{"", "accepted"}, pending["phase"])
	require.Equal(t, "", w.ok(202, "POST", "/v1/runs/waits/updates/never", `{}`)["phase"])
	after := int64(1) << 62
	body := fmt.Sprintf(`{"id":"s","after":%d,"input":"yes"}`, after)
	var accepted struct{ Stamp int64 }
	_, text := w.call("POST", "/v1/runs/b/signals/approve", body)
	require.NoError(t, json.Unmarshal([]byte(text), &accepted))
	require.Equal(t, after+1, accepted.Stamp)
	require.Equal(t, "completed", w.ok(200, "GET", "/v1/runs/b?wait=5s", "")["status"])
	require.Equal(t, "s", w.ok(202, "POST", "/v1/runs/b/signals/approve", body)["id"], "the message that ended the run, repeated")
	require.Equal(t, 3.0, w.ok(200, "POST", "/v1/runs/b/updates/add", `{"id":"u","input":2}`)["result"], "the answer outlives the run")
}

func TestCancelAndTerminate(t *testing.T) {
	w := start(t)
	for _, how := range []string{"cancel", "terminate"} {
		w.ok(201, "POST", "/v1/runs", `{"run":"`+how+`","workflow":"basket","input":1}`)
		w.ok(202, "POST", "/v1/runs/"+how+"/"+how, `{"reason":"enough"}`)
		summary := w.ok(200, "GET", "/v1/runs/"+how+"?wait=5s", "")
		require.Equal(t, strings.TrimSuffix(how, "e"), strings.TrimSuffix(strings.TrimSuffix(summary["status"].(string), "ed"), "l"))
		require.Contains(t, fmt.Sprint(summary["failure"]), "enough")
	}
}

func TestUnblock(t *testing.T) {
	w := start(t)
	before := w.ok(201, "POST", "/v1/runs?wait=5s", `{"run":"x","workflow":"nowhere"}`)
	require.Equal(t, "running", before["status"])
	w.ok(202, "POST", "/v1/runs/x/unblock", "")
	w.ok(202, "POST", "/v1/runs/x/terminate", "")
	require.Eventually(t, func() bool { return w.ok(200, "GET", "/v1/runs/x", "")["status"] == "terminated" }, 5*time.Second, time.Millisecond)
}

func TestActivities(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"run":"done","workflow":"reviewed","input":"text"}`)
	token := <-w.tokens
	require.Eventually(t, func() bool {
		found := w.ok(200, "GET", "/v1/runs/done/activities", "")["activities"].([]any)
		return len(found) == 1 && found[0].(map[string]any)["pending"] == true
	}, 5*time.Second, time.Millisecond)
	require.Equal(t, false, w.ok(200, "POST", "/v1/activities/"+token+"/heartbeat", `{"details":{"done":1}}`)["cancelled"])
	long := `"` + strings.Repeat("x", port.LongestListed) + `"`
	w.ok(200, "POST", "/v1/activities/"+token+"/heartbeat", `{"details":`+long+`}`)
	shown := w.ok(200, "GET", "/v1/runs/done/activities",
		"")["activities"].([]any)[0].(map[string]any)
	require.NotContains(t, shown, "details", "they are long")
	require.EqualValues(t, len(long),
		shown["large"].(map[string]any)["details"].(map[string]any)["bytes"])
	_, details := w.call("GET", fmt.Sprintf("/v1/runs/done/activities/%v/details", shown["seq"]),
		"")
	require.Equal(t, long, details)
	require.Equal(t, port.NotFound,
		w.problem("GET", "/v1/runs/done/activities/99/details", "").Code)
	require.Equal(t, port.Invalid, w.problem("GET", "/v1/runs/done/activities/x/details", "").Code)
	w.ok(204, "POST", "/v1/activities/"+token+"/complete", `{"result":"good"}`)
	w.ok(204, "POST", "/v1/activities/"+token+"/complete", `{"result":"good"}`)
	require.Equal(t, port.NotFound, w.problem("POST", "/v1/activities/"+token+"/complete",
		`{"result":"bad"}`).Code)
	require.Equal(t, "good", w.ok(200, "GET", "/v1/runs/done?wait=5s", "")["result"])
	require.Equal(t, []any{}, w.ok(200, "GET", "/v1/runs/done/activities", "")["activities"])

	w.ok(201, "POST", "/v1/runs", `{"run":"bad","workflow":"reviewed","input":"text"}`)
	w.ok(204, "POST", "/v1/activities/"+<-w.tokens+"/fail", `{"type":"Refused","message":"too long","details":[1],"nonRetryable":true}`)
	failed := w.ok(200, "GET", "/v1/runs/bad?wait=5s", "")
	require.Equal(t, "failed", failed["status"])
	require.Contains(t, fmt.Sprint(failed["failure"]), "too long")
}

func TestInfoAndHealth(t *testing.T) {
	sick := make(chan error, 1)
	w := start(t, func(c *api.Config) {
		c.Healthy = healthOf(sick)
	})
	info := w.ok(200, "GET", "/v1/info", "")
	require.Equal(t, map[string]any{"version": "7", "uptime": "1m30s",
		"workflows":  []any{"basket", "echo", "fails", "library", "reviewed"},
		"activities": []any{"review"},
		"kinds":      []any{"flow", "script"},
		"backlog":    map[string]any{"ready": 0.0, "delayed": 0.0, "inFlight": 0.0}}, info)
	require.Equal(t, "ok", w.ok(200, "GET", "/v1/health", "")["status"])
}

func TestWaitsEndWithTheServer(t *testing.T) {
	w := start(t)
	w.ok(201, "POST", "/v1/runs", `{"run":"b","workflow":"basket","input":1}`)
	got := make(chan map[string]any)
	go func() { got <- w.ok(200, "GET", "/v1/runs/b?wait=60s", "") }()
	w.handler.EndWaits()
	require.Equal(t, "running", (<-got)["status"])
	require.Equal(t, "running", w.ok(200, "GET", "/v1/runs/b?wait=60s", "")["status"])
}
