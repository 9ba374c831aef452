// Package dynamolocal runs DynamoDB Local for tests and benchmarks: in memory, on a loopback port of its own.
package dynamolocal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Server is one that answers.
type Server struct {
	// URL to send requests to, with any credentials.
	URL     string
	process *exec.Cmd
	says    bytes.Buffer
}

// Start starts one, and waits until it answers: a minute at most. The jars are in the folder that the environment variable
// DYNAMODB_LOCAL names. It ends with [Server.Stop], and with this process, however that ends.
func Start(ctx context.Context) (*Server, error) {
	jars, err := filepath.Abs(os.Getenv("DYNAMODB_LOCAL"))
	if _, missing := os.Stat(filepath.Join(jars, "Loopback.class")); err != nil || missing != nil {
		return nil, errors.New("there is no DynamoDB Local: run `make dynamodb-local`, and have DYNAMODB_LOCAL name the folder that it prints")
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	s := &Server{URL: "http://" + address}
	s.process = exec.CommandContext(ctx, "java", "-Djava.library.path="+jars, "-cp", jars+string(os.PathListSeparator)+filepath.Join(jars, "*"),
		"Loopback", "-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port))
	s.process.Dir = os.TempDir() // it writes where it stands
	s.process.Stdout, s.process.Stderr = &s.says, &s.says
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("DynamoDB Local does not start: %w", err)
	}
	if err := answers(ctx, address); err != nil {
		s.Stop()
		return nil, fmt.Errorf("DynamoDB Local does not answer: %w\n%s", err, s.says.String())
	}
	return s, nil
}

// Stop ends it. What it kept is gone.
func (s *Server) Stop() {
	_ = s.process.Process.Kill() // it keeps nothing
	_ = s.process.Wait()
}

func freePort(ctx context.Context) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}
