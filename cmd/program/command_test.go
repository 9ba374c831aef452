package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
	"github.com/reprise-run/reprise/core/engine"
)

// outcome of one call of the command line.
type outcome struct {
	out, err string
	code     int
}

// command calls the command line, with an input.
func command(ctx context.Context, input string, args ...string) outcome {
	var out, err bytes.Buffer
	code := program.Run(ctx, append([]string{"reprise"}, args...), strings.NewReader(input), &out, &err, definitions()...)
	return outcome{out.String(), err.String(), code}
}

// server is a dev server that is up.
type server struct {
	Address   string         `json:"address"`
	Data      string         `json:"data"`
	Workflows []string       `json:"workflows"`
	Rebuilt   engine.Rebuilt `json:"rebuilt"`

	stop func()        // waits for its end
	said func() string // to people, once it has stopped
}

// serve starts a server on a folder, with further flags, which the test's end stops, if nobody did before.
func serve(t *testing.T, data string, flags ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	var said bytes.Buffer
	go func() {
		args := append([]string{"reprise", "dev", "--listen", "127.0.0.1:0", "--data", data, "--output", "json"}, flags...)
		ended <- program.Run(ctx, args, nil, write, &said, definitions()...)
		write.Close()
	}()
	s := &server{}
	require.NoError(t, json.NewDecoder(read).Decode(s), "the server did not start")
	s.said = said.String
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		_, _ = io.Copy(io.Discard, read)
		require.Zero(t, <-ended, said.String())
		require.Contains(t, said.String(), "stopped")
	}
	t.Cleanup(s.stop)
	return s
}

// ask calls the command line as a client of the server.
func (s *server) ask(ctx context.Context, input string, args ...string) outcome {
	return command(ctx, input, append(args, "--address", s.Address)...)
}

// marked is a writer that tells when a text has been written to it.
type marked struct {
	mu   sync.Mutex
	text string
	seen chan struct{}
	all  bytes.Buffer
}

func mark(text string) *marked { return &marked{text: text, seen: make(chan struct{})} }

// then waits for another text, which must not have come yet.
func (m *marked) then(text string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text, m.seen = text, make(chan struct{})
	return m.seen
}

func (m *marked) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := strings.Contains(m.all.String(), m.text)
	m.all.Write(p)
	if !before && strings.Contains(m.all.String(), m.text) {
		close(m.seen)
	}
	return len(p), nil
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}
