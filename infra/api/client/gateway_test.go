package client_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// What API Gateway answers by itself, and what lies between here and it: an error that says what to do, and whether it is
// worth another try.
func TestGatewayAnswersItself(t *testing.T) {
	const once, often = 1, 3
	for _, c := range []struct {
		status         int
		body           string
		code           port.Code
		says           string
		repeat, resets int
	}{
		{403, `{"message":"Missing Authentication Token"}`, client.Forbidden, "403 Forbidden (Missing Authentication Token): on AWS, requests must be signed by somebody who has the permission execute-api:Invoke, and the address must end with the name of the stage", once, once},
		{403, `{"message":"Forbidden"}`, client.Forbidden, "403 Forbidden (Forbidden)", once, once},
		{403, `{"Message":"User: arn:aws:iam::1:user/ann is not authorized to perform: execute-api:Invoke on resource: x"}`, client.Forbidden, "arn:aws:iam::1:user/ann is not authorized", once, once},
		{403, `<html>blocked</html>`, client.Forbidden,
			`and not as this API does: "<html>blocked</html>": on AWS`, once, once},
		{413, `{"message":"Request Too Long"}`, port.TooLarge,
			"413 Request Entity Too Large (Request Too Long): the request is longer than", once, once},
		{429, `{"message":"Too Many Requests"}`, port.Unavailable,
			"429 Too Many Requests (Too Many Requests): too many requests", often, often},
		{502, `{"message":"Internal server error"}`, port.Unavailable,
			"502 Bad Gateway (Internal server error): the API behind it did not answer, or not " +
				"in time", often, once},
		{503, `{"message":"Service Unavailable"}`, port.Unavailable,
			"503 Service Unavailable (Service Unavailable)", often, once},
		{504, `{"message":"Endpoint request timed out"}`, port.Unavailable,
			"504 Gateway Timeout (Endpoint request timed out)", often, once},
		{504, ``, port.Unavailable,
			`answered 504 Gateway Timeout, and not as this API does: "": the API behind it`, often, once},
		{500, `{"message":null}`, port.Internal,
			`answered 500 Internal Server Error, and not as this API does: "{\"message\":null}"`, once, once},
		{503, `{"type":"urn:reprise:problem:unavailable","code":"unavailable","status":503,"detail":"not now"}`, port.Unavailable, "not now", often, often},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.says), func(t *testing.T) {
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			d, err := client.New(client.Config{Address: server.URL, Retries: 2})
			require.NoError(t, err)
			defer d.Close()
			_, err = d.Get(t.Context(), "r")
			require.Equal(t, c.code, client.CodeOf(err))
			require.ErrorContains(t, err, c.says)
			require.EqualValues(t, c.repeat, calls.Swap(0))
			problem := (*client.Problem)(nil)
			require.ErrorAs(t, err, &problem)
			require.Equal(t, c.status, problem.Status)
			_, err = d.Reset(t.Context(), engine.MessageRequest{Run: "r"}, engine.ResetPoint{Record: 1}, "")
			require.Equal(t, c.code, client.CodeOf(err))
			require.EqualValues(t, c.resets, calls.Load(), "what may have been done is not done again")
		})
	}
}

// An API may lie below a path: the stage of a gateway. Every call must keep it.
func TestAddressWithAPath(t *testing.T) {
	const stage = "/_aws/execute-api/abc123/Prod"
	var outside atomic.Pointer[string]
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.EscapedPath(), stage)
		if !ok {
			outside.Store(&r.RequestURI)
		}
		paths = append(paths, r.Method+" "+path)
		_, _ = io.WriteString(w, `{"phase":"completed","status":"completed"}`)
	}))
	defer server.Close()
	for _, address := range []string{server.URL + stage, server.URL + stage + "/"} {
		paths = nil
		d, err := client.New(client.Config{Address: address, Retries: -1})
		require.NoError(t, err)
		ctx, mail := t.Context(), engine.MessageRequest{Run: "r"}
		for _, call := range []func() error{
			func() error { _, err := d.Start(ctx, engine.StartRequest{Run: "r", Workflow: "w"}); return err },
			func() error { _, err := d.StartAndWait(ctx, engine.StartRequest{Run: "r", Workflow: "w"}); return err },
			func() error { _, err := d.Get(ctx, "a b/ä"); return err },
			func() error { _, err := d.Wait(ctx, "r"); return err },
			func() error { _, err := d.List(ctx, port.ListQuery{}); return err },
			func() error { _, err := d.History(ctx, "r", 1, 0); return err },
			func() error { return d.Export(ctx, "r", 1, io.Discard) },
			func() error { return d.Unblock(ctx, "r") },
			func() error { _, err := d.Signal(ctx, mail, "s", nil); return err },
			func() error { _, err := d.Update(ctx, mail, "u", nil); return err },
			func() error { _, err := d.SendUpdate(ctx, mail, "u", nil); return err },
			func() error { _, err := d.Query(ctx, "r", "q", nil); return err },
			func() error { _, err := d.Cancel(ctx, mail, ""); return err },
			func() error { _, err := d.Terminate(ctx, mail, ""); return err },
			func() error { _, err := d.Reset(ctx, mail, engine.ResetPoint{Record: 1}, ""); return err },
			func() error { _, err := d.Activities(ctx, "r"); return err },
			func() error { return d.CompleteActivity(ctx, "t", nil) },
			func() error { return d.FailActivity(ctx, "t", wire.FailBody{Message: "m"}) },
			func() error { _, err := d.HeartbeatActivity(ctx, "t", nil); return err },
			func() error { _, err := d.Info(ctx); return err },
			func() error { return d.Health(ctx) },
			func() error { _, err := d.Diagnose(ctx); return err },
			func() error { _, err := d.Rebuild(ctx, ""); return err },
		} {
			require.NoError(t, call())
		}
		require.Nil(t, outside.Load())
		require.Contains(t, paths, "GET /v1/runs/a%20b%2F%C3%A4")
		require.Contains(t, paths, "POST /v1/rebuild")
		require.Len(t, paths, 23)
		d.Close()
	}
	for _, wrong := range []string{"http://host/stage?x=1", "http://host/#stage"} {
		_, err := client.New(client.Config{Address: wrong})
		require.ErrorContains(t, err, "is not of the form")
	}
}

// A log of any length arrives, though each request is cut off where a gateway would, and some answers are lost.
func TestExportThroughAGateway(t *testing.T) {
	d := open(t)
	_, err := d.Start(t.Context(), engine.StartRequest{Run: "o", Workflow: "order"})
	require.NoError(t, err)
	text := history.Payload(`"` + strings.Repeat("long ", 60_000) + `"`)
	for range 12 {
		_, err := d.Signal(t.Context(), engine.MessageRequest{Run: "o"}, "note", text)
		require.NoError(t, err)
	}
	_, err = d.Signal(t.Context(), engine.MessageRequest{Run: "o"}, "pay", nil)
	require.NoError(t, err)
	_, err = d.Wait(t.Context(), "o")
	require.NoError(t, err)

	var calls, cut atomic.Int64
	gateway := func(w http.ResponseWriter, r *http.Request) bool {
		if calls.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusGatewayTimeout)
			_, _ = io.WriteString(w, `{"message":"Endpoint request timed out"}`)
			return true
		}
		answer := httptest.NewRecorder()
		d.api.ServeHTTP(answer, r)
		const most = 6 << 20
		if answer.Body.Len() > most {
			cut.Add(1)
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		w.Header().Set(wire.NextHeader, answer.Header().Get(wire.NextHeader))
		_, _ = w.Write(answer.Body.Bytes())
		return true
	}
	d.fault.Store(&gateway)
	var whole bytes.Buffer
	require.NoError(t, d.Export(t.Context(), "o", 0, &whole))
	require.Zero(t, cut.Load())
	require.Greater(t, whole.Len(), 6<<20, "more than one answer could give")
	log, err := history.DecodeExport(whole.Bytes())
	require.NoError(t, err)
	require.True(t, bytes.Equal(history.AppendExport(nil, log), whole.Bytes()))
	require.NotNil(t, log.Records[len(log.Records)-1].Closes())
}
