package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api"
)

// instant takes every start and does nothing with it: what is left is the cost of the door.
type instant struct {
	port.Runs
	port.Queue
}

func (instant) Create(context.Context, *port.Summary, port.Item) error { return nil }
func (instant) SendResumes(context.Context, ...port.Resume) error      { return nil }
func (instant) Now() time.Time                                         { return time.Unix(1767225600, 0).UTC() }
func (instant) AfterFunc(time.Duration, func()) (stop func() bool) {
	return func() bool { return true }
}

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header            { return d.header }
func (d discard) Write(text []byte) (int, error) { return len(text), nil }
func (d discard) WriteHeader(int)                {}

type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// BenchmarkStart is one start without what the engine and the connection cost.
func BenchmarkStart(b *testing.B) {
	ports := instant{}
	e, err := engine.New(port.Ports{Runs: ports, Queue: ports, Clock: ports, NewID: func() string {
		return "abcdefghijklmnopqrstuvwxyz"
	}, Together: true},
		engine.Config{Definitions: []workflow.Definition{echo}})
	require.NoError(b, err)
	handler, err := api.New(api.Config{Engine: e})
	require.NoError(b, err)
	text := `{"run":"order-17","workflow":"echo","input":{"item":"book","count":2,"to":"1 Main Street"}}`
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/runs", nil)
	request.Header.Set("Content-Type", "application/json")
	request.ContentLength = int64(len(text))
	reader := strings.NewReader(text)
	request.Body = body{reader}
	server := handler.Server("127.0.0.1:7717").Handler
	request.Host = "127.0.0.1:7717"
	w := discard{http.Header{}}
	b.Run("handler", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			reader.Reset(text)
			server.ServeHTTP(w, request)
		}
	})
	b.Run("engine", func(b *testing.B) {
		b.ReportAllocs()
		start := engine.StartRequest{Run: "order-17", Workflow: "echo", Input: []byte(`{"item":"book","count":2,"to":"1 Main Street"}`)}
		for b.Loop() {
			_, _, err := e.Start(b.Context(), start)
			require.NoError(b, err)
		}
	})
}
