package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// S4.14: workers register, heartbeat, are listed, and are removed.
func TestWorkers(t *testing.T) {
	w := start(t)
	require.Equal(t, map[string]any{"workers": []any{}}, w.ok(200, "GET", "/v1/workers", ""))
	registered := w.ok(200, "POST", "/v1/workers",
		`{"id": "a", "url": "http://localhost:9000/", "services": ["sum", "route"]}`)
	require.Equal(t, "http://localhost:9000", registered["url"])
	require.Equal(t, "online", registered["status"])
	w.ok(200, "POST", "/v1/workers",
		`{"id": "b", "url": "http://localhost:9001", "services": ["sum"], "load": 4}`)

	beat := func(body string) any {
		return w.ok(200, "POST", "/v1/workers/heartbeat", body)["known"]
	}
	require.Equal(t, true, beat(`{"url": "http://localhost:9000", "load": 9}`))
	require.Equal(t, true, beat(`{"id": "b", "load": 3}`))
	require.Equal(t, true, beat(`{"id": "b", "url": "http://localhost:7/moved", "load": 2}`))
	require.Equal(t, false, beat(`{"id": "c", "url": "http://localhost:9002"}`),
		"a heartbeat registers none")

	shown := func(service string) (all []string) {
		found, err := w.client.Workers(t.Context(), service, true)
		require.NoError(t, err)
		for _, worker := range found {
			all = append(all, fmt.Sprintf("%s %s %v %d %s", worker.ID, worker.URL, worker.Services,
				worker.Load, worker.Status))
		}
		return all
	}
	require.Equal(t, []string{"a http://localhost:9000 [sum route] 9 online",
		"b http://localhost:9001 [sum] 2 online"}, shown(""))
	require.Len(t, shown("route"), 1)
	least, err := w.node.AllocateWorker(t.Context(), "sum")
	require.NoError(t, err)
	require.Equal(t, "b", least.ID)

	_, err = w.store.BeatWorker(t.Context(), "http://localhost:9000", 0,
		time.Now().Add(-16*time.Second))
	require.NoError(t, err)
	require.Len(t, shown(""), 1, "a worker without a heartbeat for 15 s is offline")
	all, err := w.client.Workers(t.Context(), "", false)
	require.NoError(t, err)
	require.Equal(t, wire.WorkerOffline, all[0].Status)
	_, err = w.node.AllocateWorker(t.Context(), "route")
	require.Equal(t, port.NotFound, port.CodeOf(err))
	require.EqualError(t, err, "no worker")
	require.Equal(t, true, beat(`{"id": "a"}`))
	require.Len(t, shown(""), 2, "a heartbeat has it online again")

	w.ok(200, "POST", "/v1/workers",
		`{"id": "a2", "url": "http://localhost:9000", "services": ["sum"]}`)
	require.Equal(t, []string{"a2 http://localhost:9000 [sum] 0 online",
		"b http://localhost:9001 [sum] 2 online"}, shown(""),
		"a worker that starts again takes the place of the one with its URL")
	require.NoError(t, w.client.RemoveWorker(t.Context(), "http://localhost:9000/"))
	require.Equal(t, port.NotFound,
		client.CodeOf(w.client.RemoveWorker(t.Context(), "http://localhost:9000")))
	require.Len(t, shown(""), 1)
}

func TestWorkersThatAreRefused(t *testing.T) {
	w := start(t)
	many := `"` + strings.Repeat(`s","`, 100) + `s"`
	for body, want := range map[string]string{
		`{"url": "http://localhost:1", "services": ["s"]}`:             "field \"id\" is missing",
		`{"id": "a", "services": ["s"]}`:                               "field \"url\" is missing",
		`{"id": "a", "url": "http://localhost:1", "services": []}`:     "the worker offers no service",
		`{"id": "a", "url": "http://localhost:1", "services": [""]}`:   "the name of the service is missing",
		`{"id": "a", "url": "http://localhost:1", "services": [".."]}`: "in a URL the name means another place",
		`{"id": "a", "url": "http://localhost:1", "services": ["` + strings.Repeat("s", 96) +
			`"]}`: "the name has 96 bytes, the limit is 95",
		`{"id": "a", "url": "http://localhost:1", "services": [` + many +
			`]}`: "offers 101 services, the limit is 100",
		`{"id": "a", "url": "http://localhost:1", "services": ["s"], "load": -1}`: "a load is 0 or more",
		`{"id": "a", "url": "http://localhost:1/` + strings.Repeat("x", 500) +
			`", "services": ["s"]}`: "the limit is 500",
		`{"id": "a", "url": "http://169.254.169.254", "services": ["s"]}`:                 "is not allowed: no rule allows it",
		`{"id": "a", "url": "http://localhost:1", "services": ["s"], "lastHeartbeat": 0}`: "unknown field \"lastHeartbeat\"",
		`{"id": "a\u0000", "url": "http://localhost:1", "services": ["s"]}`:               "must be UTF-8 without control characters",
	} {
		p := w.problem("POST", "/v1/workers", body)
		require.Contains(t, p.Detail, want, body)
	}
	require.Equal(t, map[string]any{"workers": []any{}}, w.ok(200, "GET", "/v1/workers", ""))
	require.Contains(t, w.problem("POST", "/v1/workers/heartbeat", `{"load": 1}`).Detail,
		"must have the worker's url or its id")
	require.Contains(t, w.problem("DELETE", "/v1/workers", "").Detail, "parameter url is missing")
}

// TestTooManyWorkers: a worker that is online is never given up for a new one. One that is offline
// is.
func TestTooManyWorkers(t *testing.T) {
	w := start(t)
	at := time.Now().UTC()
	for i := range port.MostWorkers {
		require.NoError(t, w.store.PutWorker(t.Context(),
			&port.Worker{ID: fmt.Sprint(i), URL: fmt.Sprint("http://localhost:", i),
				Services: []string{"s"}, Heartbeat: at, Registered: at}))
	}
	body := wire.WorkerBody{ID: "new", URL: "http://localhost:9999", Services: []string{"s"}}
	_, err := w.client.RegisterWorker(t.Context(), body)
	require.ErrorContains(t, err, "1000 workers are registered and online, which is the limit")
	known, err := w.store.BeatWorker(t.Context(), "http://localhost:77", 0, at.Add(-time.Minute))
	require.NoError(t, err)
	require.True(t, known)
	_, err = w.client.RegisterWorker(t.Context(), body)
	require.NoError(t, err)
	found, err := w.client.Workers(t.Context(), "", false)
	require.NoError(t, err)
	require.Len(t, found, port.MostWorkers)
	for _, worker := range found {
		require.NotEqual(t, "http://localhost:77", worker.URL)
	}
}
