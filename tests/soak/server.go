package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/reprise-run/reprise/cmd/program"
	"github.com/reprise-run/reprise/infra/api/client"
)

// serve is the whole life of the server's process. It ends when its input does, so that it never outlives its parent.
func serve(ctx context.Context) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return program.Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr, definitions...)
}

// server is that process, seen from its parent.
type server struct {
	command *exec.Cmd
	stdin   io.Closer
	folder  string
	client  *client.Client
}

func start(folder string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Not bound to a context: the process ends with its input, in good order.
	s := &server{folder: folder, command: exec.Command(self, "dev", "--listen", "127.0.0.1:0", "--data", folder, //nolint:noctx // see above
		"--retention", retention.String(), "--output", "json")}
	s.command.Stderr = os.Stderr
	if s.stdin, err = s.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	var up struct {
		Address string `json:"address"`
	}
	if err = json.NewDecoder(stdout).Decode(&up); err == nil {
		s.client, err = client.New(client.Config{Address: up.Address})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server did not start: %w", err), s.end())
	}
	return s, nil
}

func (s *server) pid() int { return s.command.Process.Pid }

// end has the process end, and waits for it.
func (s *server) end() error {
	if s.client != nil {
		s.client.Close()
	}
	err := s.stdin.Close()
	return errors.Join(err, s.command.Wait())
}

// clears says whether nothing is left to do soon after the load has stopped.
func clears(ctx context.Context, s *server, l *load) verdict {
	const patience = time.Minute
	begun, v := time.Now(), verdict{name: "backlog"}
	for {
		info, err := s.client.Info(ctx)
		open, listed := l.open(ctx)
		took := time.Since(begun).Round(100 * time.Millisecond)
		switch err := errors.Join(err, listed); {
		case err != nil:
			v.text = err.Error()
			return v
		case info.Backlog.Ready+info.Backlog.Delayed+open == 0:
			v.good, v.text = true, fmt.Sprintf("clear %s after the load stopped", took)
			return v
		case took > patience:
			v.text = fmt.Sprintf("not clear %s after the load stopped: %d messages ready, %d delayed, %d runs open", took, info.Backlog.Ready, info.Backlog.Delayed, open)
			return v
		}
		pause(ctx, 100*time.Millisecond)
	}
}
