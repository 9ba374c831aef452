package program

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/aws/signing"
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
		server, err := p.connect(command.Context())
		if known := (*exit)(nil); errors.As(err, &known) {
			return err
		} else if err != nil {
			return misuse(command, err)
		}
		defer server.Close()
		return p.exitFor(command.Context(), work(command, args, server))
	}
}

// connect makes a client for the address that was given, or found in the environment, or is the usual one.
func (p *program) connect(ctx context.Context) (*client.Client, error) {
	address := p.address
	if address == "" {
		address = os.Getenv("REPRISE_ADDRESS")
	}
	if address != "" && !strings.Contains(address, "://") {
		scheme := "http://"
		if host, _, _ := strings.Cut(address, "/"); signing.RegionOf(host) != "" {
			scheme = "https://"
		}
		address = scheme + address
	}
	config := client.Config{Address: address, Retries: retries, PlainHTTP: p.plainHTTP}
	signed, err := p.signer(ctx, address)
	if err != nil {
		return nil, err
	}
	switch { // it is the signature or the token that says who asks
	case signed == nil:
		if config.Token, err = p.clientToken(); err != nil {
			return nil, err
		}
	case p.tokenFile != "":
		return nil, fmt.Errorf("requests to %s are signed, and take no token: leave out --token-file, or say --sign=no", address)
	default:
		config.HTTP = &http.Client{Transport: signed}
	}
	server, err := client.New(config)
	if errors.Is(err, client.ErrPlainHTTP) {
		err = fmt.Errorf("%w, or say --plain-http where something else encrypts: a tunnel, a network of its own", err)
	}
	return server, err
}

// What --sign takes beside the name of a region.
const (
	signAsUsual = "default" // for the region of the environment or the profile
	signNothing = "no"
)

// signer gives what signs requests to an address, nil if nothing does: for hosts of API Gateway, unless it is told not to,
// and for others, if it is told to.
func (p *program) signer(ctx context.Context, address string) (*signing.Transport, error) {
	region := p.sign
	if region == "" {
		region = os.Getenv("REPRISE_SIGN")
	}
	switch region {
	case signNothing:
		return nil, nil
	case signAsUsual, "":
		asked := region != ""
		region = ""
		if at, err := url.Parse(address); err == nil {
			region = signing.RegionOf(at.Host)
		}
		if region == "" && !asked {
			return nil, nil
		}
	}
	config, err := signing.Load(ctx, region)
	switch {
	case ctx.Err() != nil:
		return nil, &exit{code: interrupted, err: errors.New("interrupted")}
	case errors.Is(err, signing.ErrNoRegion):
		return nil, &exit{code: usage, err: errors.New("there is no AWS region to sign requests for: set AWS_REGION, or say --sign=REGION")}
	case err != nil:
		return nil, &exit{code: usage, err: err}
	}
	config.Next = client.NewTransport()
	return signing.New(config), nil
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
	if errors.Is(err, signing.ErrNoCredentials) { // they have expired meanwhile
		return &exit{code: usage, err: root(err)}
	}
	if noAnswer := (*url.Error)(nil); errors.As(err, &noAnswer) {
		return &exit{code: unreachable, err: p.noServer(noAnswer)}
	}
	kind := client.CodeOf(err)
	if kind == client.Unauthenticated {
		err = fmt.Errorf("%w\nset %s, or name a file with --token-file; `%s token` makes one", err, tokenVariable, p.name)
	}
	code, sorted := map[port.Code]int{port.Invalid: usage, port.NotFound: notFound,
		port.Conflict: refused, port.Closed: refused, port.Expired: refused,
		port.Rejected: refused, port.TooLarge: refused, client.Unauthenticated: refused, client.Forbidden: refused, port.Blocked: blocked, port.Unavailable: unreachable}[kind]
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
