package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
)

// Verbs reach a server that asks for a token through the proxy, which has it.
func TestProxy(t *testing.T) {
	t.Setenv("REPRISE_TOKEN", "reprise_abcdefghijklmnopqrstuvwxyz")
	s := serve(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	var said bytes.Buffer
	go func() {
		ended <- program.Run(ctx, []string{"reprise", "proxy", "--listen", "127.0.0.1:0",
			"--address", s.Address, "-o", "json"}, nil, write, &said)
		write.Close()
	}()
	up := struct{ Address, API string }{}
	require.NoError(t, json.NewDecoder(read).Decode(&up))
	require.Equal(t, s.Address, up.API)

	t.Setenv("REPRISE_TOKEN", "")
	require.Equal(t, 5, s.ask(t.Context(), "", "list").code, "the server asks for a token")
	got := command(t.Context(), "", "start", "greet", "--input", `"Ann"`, "--wait", "--address",
		up.Address)
	require.Zero(t, got.code, got.err)
	require.Equal(t, "\"hello, Ann\"\n", got.out)
	cancel()
	require.Zero(t, <-ended, said.String())
	_, _ = io.Copy(io.Discard, read)
}

func TestProxyIsForThisMachine(t *testing.T) {
	got := command(t.Context(), "", "proxy", "--listen", "0.0.0.0:0")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "each caller would act with your credentials")
	require.Equal(t, 2, command(t.Context(), "", "proxy", "--listen", ":0").code)
	got = command(t.Context(), "", "proxy", "--listen", "127.0.0.1:nothing")
	require.NotZero(t, got.code)
}
