//go:build localstack

package localstack

import (
	"bufio"
	"context"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
	"github.com/reprise-run/reprise/tests/seed004"
)

// TestSeed004: a client and a worker of seed 004 run unchanged against a deployment. They cannot sign
// requests: reprise proxy does so for them. Their base has a prefix and credentials of their own.
func TestSeed004(t *testing.T) {
	if trial.proxy == nil {
		t.Skip("functions run in containers here, which do not reach a worker of this process")
	}
	c := &seed004.Client{T: t, Base: signing(t) + "/api", User: url.UserPassword("any", "their-token"), Pace: 300 * time.Millisecond, Patience: patience}
	worker, _ := c.Worker("w1", "")
	c.Beat("w1", worker)
	c.Demonstrate(func() {})
}

// signing runs reprise proxy, and gives its address.
func signing(t *testing.T) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	ctx, stop := context.WithCancel(t.Context())
	out, into := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		args := []string{"reprise", "--address", trial.address, "--sign=us-east-1", "proxy", "--listen", "127.0.0.1:0"}
		assert.Zero(t, program.Run(ctx, args, strings.NewReader(""), into, io.Discard))
		into.Close()
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	address, _, ok := strings.Cut(line, " forwards to "+trial.address)
	require.True(t, ok, line)
	return address
}
