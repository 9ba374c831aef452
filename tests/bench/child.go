package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// child is a server's process, seen from its parent.
type child struct {
	command  *exec.Cmd
	stdin    io.WriteCloser
	requests *json.Encoder
	answers  *json.Decoder
	folder   string
	client   *client.Client
	// ready is how long it took from the start of the process until the API could be asked.
	ready time.Duration
}

// with runs a function on a server with a fresh file, which is deleted afterwards.
func (b *bench) with(what string, do func(*child) error) (err error) {
	folder, err := os.MkdirTemp(b.data, "reprise-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	return b.on(folder, what, do)
}

// on runs a function on a server on a folder.
func (b *bench) on(folder, what string, do func(*child) error) error {
	c, err := b.spawn(folder, what)
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.end())
}

func (b *bench) spawn(folder, what string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-serve", folder}
	if b.profile != "" {
		if err := os.MkdirAll(b.profile, 0o755); err != nil {
			return nil, err
		}
		args = append(args, "-profile-server", filepath.Join(b.profile, b.name+"-"+what))
	}
	// Not bound to the context: the process ends with its input, in good order.
	c := &child{folder: folder, command: exec.Command(self, args...)} //nolint:noctx // see above
	c.command.Stderr = os.Stderr
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.requests, c.answers = json.NewEncoder(c.stdin), json.NewDecoder(stdout)
	begun := time.Now()
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	hello, err := c.answer()
	if err == nil {
		c.ready = time.Since(begun)
		c.client, err = client.New(client.Config{Address: hello.Address})
	}
	if err != nil {
		return nil, errors.Join(err, c.end())
	}
	return c, nil
}

// end has the process end, and waits for it.
func (c *child) end() error {
	if c.client != nil {
		c.client.Close()
	}
	err := c.stdin.Close()
	return errors.Join(err, c.command.Wait())
}

func (c *child) ask(asked request) (answer, error) {
	if err := c.requests.Encode(asked); err != nil {
		return answer{}, err
	}
	return c.answer()
}

func (c *child) answer() (given answer, err error) {
	if err := c.answers.Decode(&given); err != nil {
		return given, fmt.Errorf("the server's process: %w", err)
	}
	if given.Error != "" {
		return given, errors.New(given.Error)
	}
	return given, nil
}

// door leads to the engine over HTTP.
func (c *child) door() door {
	return door{
		start: func(ctx context.Context, start engine.StartRequest) (*wire.Summary, error) {
			return summaryOf(c.client.StartAndWait(ctx, start))
		},
		begin: func(ctx context.Context, start engine.StartRequest) (*wire.Summary, error) {
			return summaryOf(c.client.Start(ctx, start))
		},
		wait: c.client.Wait,
		signal: func(ctx context.Context, run string, input history.Payload) error {
			return c.signal(ctx, run, ping.Name(), input)
		},
		update: func(ctx context.Context, run string, input history.Payload) error {
			_, err := c.client.Update(ctx, engine.MessageRequest{Run: run}, echo.Name(), input)
			return err
		},
		seen: func(index int) (int64, error) {
			given, err := c.ask(request{Mark: &index})
			if err != nil {
				return 0, err
			}
			return given.Marks[0], nil
		},
	}
}

func (c *child) signal(ctx context.Context, run, name string, input history.Payload) error {
	_, err := c.client.Signal(ctx, engine.MessageRequest{Run: run}, name, input)
	return err
}

func summaryOf(started *client.Started, err error) (*wire.Summary, error) {
	if err != nil {
		return nil, err
	}
	return started.Summary, nil
}

// apply puts a load on the server, from here over HTTP or from inside.
func (c *child) apply(ctx context.Context, l load, inside bool) (took, error) {
	if !inside {
		return l.through(ctx, c.door())
	}
	given, err := c.ask(request{Load: &l})
	return given.Took, err
}

// way names a door in the figures.
func way(inside bool) string {
	if inside {
		return "in process"
	}
	return "HTTP"
}

func count(n int) string {
	if n%1000 == 0 && n >= 10_000 {
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}
