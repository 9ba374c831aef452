//go:build kill

package kill

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/api/client"
)

// server is the real program, as a process.
type server struct {
	t             *testing.T
	binary        string
	address, data string
	process       *process
	starts        int
	last          *output
}

// process is one life of it.
type process struct {
	*exec.Cmd
	exited chan struct{}
}

// output keeps the end of what processes print.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(text []byte) (int, error) {
	const most = 8 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, text...)
	o.text = o.text[max(0, len(o.text)-most):]
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.ToValidUTF8(o.text, nil))
}

// newServer builds the program and chooses where it listens.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, binary: filepath.Join(t.TempDir(), "reprise"), data: t.TempDir(), last: &output{}}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", s.binary, "./cmd/reprise")
	build.Dir = filepath.Join("..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = probe.Addr().String()
	require.NoError(t, probe.Close())
	t.Cleanup(func() {
		if s.process != nil {
			s.kill()
		}
	})
	return s
}

// start begins a life, and does not wait until the server answers.
func (s *server) start() {
	s.t.Helper()
	command := exec.Command(s.binary, "dev", "--listen", s.address, "--data", s.data) //nolint:noctx // it is ended by its id
	command.Stdout, command.Stderr = s.last, s.last
	require.NoError(s.t, command.Start())
	s.process = &process{Cmd: command, exited: make(chan struct{})}
	s.starts++
	go func(p *process) {
		_ = p.Wait()
		close(p.exited)
	}(s.process)
}

// await waits until the server answers.
func (s *server) await(ctx context.Context, c *client.Client) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for c.Health(ctx) != nil {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.process.exited:
			s.t.Fatalf("the server ended by itself: %v\n%s", s.process.ProcessState, s.last)
		case <-ctx.Done():
			s.t.Fatalf("the server does not answer\n%s", s.last)
		}
	}
}

// live lets it live for a while. It must not end by itself meanwhile.
func (s *server) live(d time.Duration) {
	s.t.Helper()
	select {
	case <-time.After(d):
	case <-s.process.exited:
		s.t.Fatalf("the server ended by itself: %v\n%s", s.process.ProcessState, s.last)
	}
}

// kill ends the process, and leaves it no time for anything.
func (s *server) kill() {
	s.t.Helper()
	_ = s.process.Process.Kill()
	<-s.process.exited
}

// freeze halts the process for a while, as a suspended machine does.
func (s *server) freeze(d time.Duration) {
	s.t.Helper()
	require.NoError(s.t, s.process.Process.Signal(syscall.SIGSTOP))
	select {
	case <-time.After(d):
	case <-s.process.exited:
	}
	require.NoError(s.t, s.process.Process.Signal(syscall.SIGCONT))
}

// stop asks the process to end in good order.
func (s *server) stop() {
	s.t.Helper()
	require.NoError(s.t, s.process.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.process.exited:
	case <-time.After(30 * time.Second):
		s.t.Fatalf("the server does not stop\n%s", s.last)
	}
	require.Zero(s.t, s.process.ProcessState.ExitCode(), "%s", s.last)
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	return parse(t, name, text)
}
