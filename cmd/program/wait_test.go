package program_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
)

// waiting is a wait that runs while the test does something else.
type waiting struct {
	out  bytes.Buffer
	said *marked
	code chan int
}

func (s *server) wait(ctx context.Context, until string, args ...string) *waiting {
	w := &waiting{said: mark(until), code: make(chan int, 1)}
	go func() {
		w.code <- program.Run(ctx, append([]string{"reprise", "--address", s.Address}, args...), nil, &w.out, w.said, definitions()...)
	}()
	return w
}

func TestWaitShowsWhatHappens(t *testing.T) {
	s := serve(t, t.TempDir())
	w := s.wait(t.Context(), "state", "start", "counter", "--run", "c", "--input", "1", "--wait")
	<-w.said.seen
	require.Zero(t, s.ask(t.Context(), "", "signal", "c", "approve", `"Ann"`).code)
	require.Zero(t, <-w.code)
	require.Equal(t, "\"1, says Ann\"\n", w.out.String())
	require.Equal(t, "run c of workflow counter started\n  +<t>  state {\"stage\":\"counting\"}\nrun c completed after <t>\n", steady(w.said.all.String()))
}

// TestWaitShowsAFailingStep: what it failed with, and when it is tried again.
func TestWaitShowsAFailingStep(t *testing.T) {
	s := serve(t, t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	w := s.wait(ctx, "attempt 2 begins", "start", "unbilled", "--run", "u", "--wait")
	<-w.said.seen
	interrupt()
	require.Equal(t, 130, <-w.code)
	require.Contains(t, steady(w.said.all.String()), "  +<t>  step bill: attempt 1 failed: the bank is closed; attempt 2 begins in <t>\n")
}

func TestWaitOutlastsABlock(t *testing.T) {
	s := serve(t, t.TempDir())
	w := s.wait(t.Context(), "blocked (unknown-workflow)", "start", "nosuch", "--run", "n", "--wait")
	<-w.said.seen
	require.Zero(t, s.ask(t.Context(), "", "terminate", "n").code)
	require.Equal(t, 1, <-w.code)
	require.Contains(t, w.said.all.String(), "run n terminated after")
}

func TestWaitCanBeInterrupted(t *testing.T) {
	s := serve(t, t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	w := s.wait(ctx, "state", "start", "counter", "--run", "c", "--input", "1", "--wait")
	<-w.said.seen
	interrupt()
	require.Equal(t, 130, <-w.code)
	require.Contains(t, w.said.all.String(), "no longer waiting; the run goes on, and `reprise wait c` waits again")
}

func TestWaitOutlastsItsServer(t *testing.T) {
	s := serve(t, t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	w := s.wait(ctx, "state", "start", "counter", "--run", "c", "--input", "1", "--wait")
	<-w.said.seen
	away := w.said.then("does not answer")
	s.stop()
	<-away
	interrupt()
	require.Equal(t, 130, <-w.code)
}
