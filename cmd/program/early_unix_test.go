//go:build unix

package program_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
)

// TestDevAnswersWhileItStarts: the start takes as long as the file with its key is being read, which
// here is a pipe. Until then, the server answers 503 and why.
func TestDevAnswersWhileItStarts(t *testing.T) {
	data := t.TempDir()
	key := filepath.Join(data, "token.key")
	require.NoError(t, syscall.Mkfifo(key, 0o600))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := mark("the runs stay"), make(chan int, 1)
	go func() {
		ended <- program.Run(ctx, []string{"reprise", "dev", "--listen", address, "--data", data}, nil, out, io.Discard, definitions()...)
	}()
	var status int
	var text []byte
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/runs", http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil { // it does not listen yet
			return false
		}
		defer response.Body.Close()
		status = response.StatusCode
		text, err = io.ReadAll(response.Body)
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, string(text), "the server is not ready yet: it ")

	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("ab", 32)), 0o600))
	<-out.seen
	require.Zero(t, command(t.Context(), "", "list", "--address", address).code)
	cancel()
	require.Zero(t, <-ended)
}
