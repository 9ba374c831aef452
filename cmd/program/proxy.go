package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/proxy"
	"github.com/reprise-run/reprise/infra/aws/signing"
)

// longestSigned is the most that API Gateway takes. A signature needs the whole body.
const longestSigned = 10 << 20

func (p *program) proxy() *cobra.Command {
	listenAt, remote := "", false
	command := &cobra.Command{
		Use:   "proxy",
		Short: "Forward local requests to the API with this command's credentials",
		Long: "Forward local requests to the API with this command's credentials: the signature " +
			"or the token that other verbs send. Clients that cannot sign " +
			"then reach a deployed API. --address names the API, as for all verbs.\n\n" +
			"Each process on this machine that reaches the proxy acts with these credentials; " +
			"pages of other sites are refused. " +
			"A caller's own credentials are not forwarded. Bodies pass as they come; those of " +
			"signed requests have 10 MB at most.",
		Example: "  " + p.name + " proxy --address " +
			"https://abc123.execute-api.eu-west-1.amazonaws.com/prod\n  curl http://" +
			proxyAddress + "/v1/runs",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, args []string) error {
			if !remote && !client.Loopback(listenAt) {
				return misuse(command, fmt.Errorf("--listen %s could be reached from beyond this "+
					"machine, and each caller would act with your credentials\n"+
					"listen on 127.0.0.1 or localhost, or say --allow-remote", listenAt))
			}
			return p.ask(func(command *cobra.Command, _ []string, server *client.Client) error {
				return p.forward(command.Context(), server, listenAt)
			})(command, args)
		},
	}
	command.Flags().StringVar(&listenAt, "listen", proxyAddress,
		"where to listen, HOST:PORT; port 0 takes one that is free")
	command.Flags().BoolVar(&remote, "allow-remote", false,
		"let other machines use your credentials through the proxy, over plain HTTP")
	return command
}

const proxyAddress = "127.0.0.1:8071"

// forwarding is the document of proxy.
type forwarding struct {
	Address string `json:"address"`
	API     string `json:"api"`
}

// forward serves until it is interrupted.
func (p *program) forward(ctx context.Context, server *client.Client, at string) error {
	config := proxy.Config{Address: server.Address(), Transport: server.Transport(),
		Logger: p.logger()}
	if _, signs := config.Transport.(*signing.Transport); signs {
		config.LongestBody = longestSigned
		config.NeverSent = func(err error) bool { return errors.Is(err, signing.ErrNoCredentials) }
	}
	listener, err := listen(ctx, at)
	if err != nil {
		return err
	}
	config.Listen = listener.Addr().String()
	handler, err := proxy.New(config)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	serving := proxy.Server(handler)
	failed := make(chan error, 1)
	go func() { failed <- serving.Serve(listener) }()
	up := forwarding{"http://" + config.Listen, config.Address}
	p.print(up, func(w io.Writer) { fmt.Fprintf(w, "%s forwards to %s\n", up.Address, up.API) })
	select {
	case err := <-failed:
		return &exit{code: broken, err: fmt.Errorf("the proxy stopped: %w", err)}
	case <-ctx.Done():
	}
	p.say("stopping; a second interrupt ends it at once")
	err = proxy.Stop(serving)
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
