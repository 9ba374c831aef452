package api_test

import (
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api"
	"github.com/reprise-run/reprise/infra/api/client"
)

// TestAServerThatIsNotReadyAnswers: it listens, and says why it does not serve; a client that repeats
// its request is served once the server is ready.
func TestAServerThatIsNotReadyAnswers(t *testing.T) {
	w := start(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	early := api.NewEarly(listener.Addr().String(), slog.New(slog.DiscardHandler))
	early.Says("it brings back the runs that wait")
	served := make(chan error, 1)
	go func() { served <- early.Serve(listener) }()
	address := "http://" + listener.Addr().String()

	impatient, err := client.New(client.Config{Address: address, Retries: -1})
	require.NoError(t, err)
	defer impatient.Close()
	_, err = impatient.Info(t.Context())
	require.ErrorContains(t, err, "the server is not ready yet: it brings back the runs that wait; try again")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/v1/health", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))

	early.Open(w.handler)
	_, err = impatient.Info(t.Context())
	require.NoError(t, err)
	require.NoError(t, early.Shutdown(t.Context()))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}
