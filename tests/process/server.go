// Package process runs the server as a process of its own, over HTTP and on a folder, for tests that do it harm.
package process

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/client"
)

// Server is the real program, as a process. One test at a time uses it.
type Server struct {
	// Address is HOST:PORT, Data the folder: the same in every life.
	Address, Data string
	// Command is what runs the program: before it comes what wraps it, if anything.
	Command []string
	// Env is added to the environment of the lives to come, and Flags to the server's flags.
	Env, Flags []string
	// Starts counts its lives.
	Starts int
	// Last is the end of what it printed.
	Last *Output

	t       *testing.T
	process *life
}

// life is one of its processes.
type life struct {
	*exec.Cmd
	exited chan struct{}
}

// Output keeps the end of what processes print.
type Output struct {
	mu   sync.Mutex
	text []byte
}

func (o *Output) Write(text []byte) (int, error) {
	const most = 8 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, text...)
	o.text = o.text[max(0, len(o.text)-most):]
	return len(text), nil
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.ToValidUTF8(o.text, nil))
}

// Build builds the program that ships.
func Build(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "reprise")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/reprise")
	build.Dir = filepath.Join("..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// New chooses where a server listens and keeps its runs. It is killed at the end of the test.
func New(t *testing.T, command ...string) *Server {
	t.Helper()
	s := &Server{t: t, Command: command, Data: t.TempDir(), Last: &Output{}}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Address = probe.Addr().String()
	require.NoError(t, probe.Close())
	t.Cleanup(func() {
		if s.process != nil {
			s.Kill()
		}
	})
	return s
}

// Client makes one that tries each call once.
func (s *Server) Client() *client.Client {
	s.t.Helper()
	c, err := client.New(client.Config{Address: "http://" + s.Address, Retries: -1, Poll: time.Second,
		HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}})
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	return c
}

// Start begins a life, and does not wait until the server answers.
func (s *Server) Start() {
	s.t.Helper()
	arguments := slices.Concat(s.Command[1:], []string{"dev", "--listen", s.Address, "--data", s.Data}, s.Flags)
	command := exec.Command(s.Command[0], arguments...) //nolint:noctx // it is ended by its id
	command.Env = append(os.Environ(), s.Env...)
	command.Stdout, command.Stderr = s.Last, s.Last
	require.NoError(s.t, command.Start())
	s.process = &life{Cmd: command, exited: make(chan struct{})}
	s.Starts++
	go func(p *life) {
		_ = p.Wait()
		close(p.exited)
	}(s.process)
}

// longest is how long a server may take to answer: it reads the logs of all open runs first.
const longest = 3 * time.Minute

// Await waits until the server answers.
func (s *Server) Await(ctx context.Context, c *client.Client) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for c.Health(ctx) != nil {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.process.exited:
			s.t.Fatalf("the server ended by itself: %v\n%s", s.process.ProcessState, s.Last)
		case <-ctx.Done():
			s.t.Fatalf("the server does not answer\n%s", s.Last)
		}
	}
}

// Live lets it live for a while. It must not end by itself meanwhile.
func (s *Server) Live(d time.Duration) {
	s.t.Helper()
	select {
	case <-time.After(d):
	case <-s.process.exited:
		s.t.Fatalf("the server ended by itself: %v\n%s", s.process.ProcessState, s.Last)
	}
}

// Kill ends the process, and leaves it no time for anything.
func (s *Server) Kill() {
	s.t.Helper()
	_ = s.process.Process.Kill()
	<-s.process.exited
}

// Freeze halts the process for a while, as a suspended machine does.
func (s *Server) Freeze(d time.Duration) {
	s.t.Helper()
	require.NoError(s.t, s.process.Process.Signal(syscall.SIGSTOP))
	select {
	case <-time.After(d):
	case <-s.process.exited:
	}
	require.NoError(s.t, s.process.Process.Signal(syscall.SIGCONT))
}

// Stop asks the process to end in good order.
func (s *Server) Stop() {
	s.t.Helper()
	require.NoError(s.t, s.process.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.process.exited:
	case <-time.After(30 * time.Second):
		s.t.Fatalf("the server does not stop\n%s", s.Last)
	}
	require.Zero(s.t, s.process.ProcessState.ExitCode(), "%s", s.Last)
}

// Comes has it start, and waits until it answers, or has ended by itself; then said is why.
func (s *Server) Comes(ctx context.Context, c *client.Client) (up bool, said string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	s.Last = &Output{}
	s.Start()
	for c.Health(ctx) != nil {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.process.exited:
			require.Positive(s.t, s.process.ProcessState.ExitCode(), "%s", s.Last)
			return false, s.Last.String()
		case <-ctx.Done():
			s.t.Fatalf("the server neither answers nor ends\n%s", s.Last)
		}
	}
	return true, ""
}

// PID is the id of its process.
func (s *Server) PID() int { return s.process.Process.Pid }
