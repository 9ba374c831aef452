package program

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/infra/api/client"
)

// defaultAddress is where dev listens, and where clients look.
var defaultAddress = strings.TrimPrefix(client.DefaultAddress, "http://")

// retries is how often a call is repeated: a person sees an answer soon, and may repeat the command.
const retries = 2

// asked is the work of a verb that talks to a server.
type asked func(command *cobra.Command, args []string, server *client.Client) error

// ask makes a command's function of it.
func (p *program) ask(work asked) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		server, err := p.connect()
		if err != nil {
			return misuse(command, err)
		}
		defer server.Close()
		return p.exitFor(command.Context(), work(command, args, server))
	}
}

// connect makes a client for the address that was given, or found in the environment, or is the usual one.
func (p *program) connect() (*client.Client, error) {
	address := p.address
	if address == "" {
		address = os.Getenv("REPRISE_ADDRESS")
	}
	if address != "" && !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return client.New(client.Config{Address: address, Retries: retries})
}

// exitFor sorts what a verb's work gave.
func (p *program) exitFor(ctx context.Context, err error) error {
	known := (*exit)(nil)
	if err == nil || errors.As(err, &known) {
		return err
	}
	if ctx.Err() != nil {
		return &exit{code: interrupted, err: errors.New("interrupted")}
	}
	if noAnswer := (*url.Error)(nil); errors.As(err, &noAnswer) {
		return &exit{code: unreachable, err: p.noServer(noAnswer)}
	}
	kind := client.CodeOf(err)
	code, sorted := map[engine.Code]int{engine.Invalid: usage, engine.NotFound: notFound, engine.Conflict: refused, engine.Closed: refused,
		engine.Rejected: refused, engine.TooLarge: refused, engine.Blocked: blocked, engine.Unavailable: unreachable}[kind]
	if !sorted {
		code = broken
	}
	return &exit{code: code, err: err, kind: string(kind)}
}

func (p *program) noServer(err *url.Error) error {
	where := err.URL
	if at, parsing := url.Parse(err.URL); parsing == nil {
		where = at.Scheme + "://" + at.Host
	}
	return fmt.Errorf("no server answers at %s (%w)\nstart one with `%s dev`, or name another with --address or REPRISE_ADDRESS", where, root(err.Err), p.name)
}

// root is what caused an error in the end: of a refused connection, just that.
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
