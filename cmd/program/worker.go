package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/worker"
)

// worker serves example services.
func (p *program) worker() *cobra.Command {
	registry, url, listen := "", "", ""
	command := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker with the example services transform, sum and route",
		Long: "Run a worker with the example services transform, sum and route, for trying flows " +
			"out.\n\n" +
			"transform: a string as params.op says, upper or lower; a number times params.mul. " +
			"sum: the sum of a list's numbers, and of its texts that are numbers. " +
			"route: an object with the action params.action, else goB.\n\n" +
			"It registers with the server, and says each 5 s that it is there. A server that " +
			"asks for a token " +
			"takes one of the role worker, from --token-file or the variable " +
			tokenVariable + ". " +
			"Requests to a deployed API are signed. If the port of --url is in use, it takes " +
			"another one.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, args []string) error {
			p.address = cmp.Or(registry, p.address, os.Getenv("REGISTRY_URL"))
			return p.ask(func(command *cobra.Command, _ []string, server *client.Client) error {
				err := p.runWorker(command.Context(), server,
					worker.Config{URL: url, Listen: listen})
				if wrong := (*worker.ConfigError)(nil); errors.As(err, &wrong) {
					return misuse(command, fmt.Errorf("--%s: %s", strings.ToLower(wrong.Field),
						wrong.Problem))
				}
				return err
			})(command, args)
		},
	}
	command.Flags().StringVar(&registry, "registry", "", "the URL of the server (default "+
		"--address, else $REGISTRY_URL, else $REPRISE_ADDRESS)")
	command.Flags().StringVar(&listen, "listen", "", "where this worker listens, HOST:PORT, if "+
		"something before it has the URL (default: the host and port of --url)")
	command.Flags().StringVar(&url, "url", "", "where the server calls this worker (default "+
		"$WORKER_URL, else http://127.0.0.1 with a free port)")
	return command
}

func (p *program) runWorker(
	ctx context.Context, server *client.Client, config worker.Config,
) error {
	const longest = 10 * time.Second // that one request may take
	config.Registry, config.Logger = server.Address(), p.logger()
	config.HTTP = &http.Client{Timeout: longest, Transport: server.Transport()}
	config.PlainHTTP = true // else there would be no client
	w := worker.New(config)
	worker.Handle(w, "transform", transform)
	worker.Handle(w, "sum", sum)
	worker.Handle(w, "route", route)
	if err := w.Run(ctx); err != nil {
		return &exit{code: broken, err: err}
	}
	p.say("stopped")
	return nil
}

var errInput = errors.New("bad input")

func transform(_ context.Context, input any, params map[string]any) (any, error) {
	switch input := input.(type) {
	case string:
		switch params["op"] {
		case "upper":
			return strings.ToUpper(input), nil
		case "lower":
			return strings.ToLower(input), nil
		}
		return nil, errors.New("unsupported op")
	case float64:
		if factor, ok := params["mul"].(float64); ok {
			input *= factor
		}
		return input, nil
	}
	return nil, errInput
}

// sum skips what is not a number.
func sum(_ context.Context, input any, _ json.RawMessage) (float64, error) {
	list, ok := input.([]any)
	if !ok {
		return 0, errInput
	}
	total := 0.0
	for _, element := range list {
		switch n := element.(type) {
		case float64:
			total += n
		case string:
			if number, err := strconv.ParseFloat(n, 64); err == nil {
				total += number
			}
		}
	}
	return total, nil
}

func route(_ context.Context, _ json.RawMessage, params map[string]any) (map[string]string, error) {
	action, _ := params["action"].(string)
	if action == "" {
		action = "goB"
	}
	return map[string]string{"action": action}, nil
}

// registered are the verbs on workers that a server knows.
func (p *program) registered() *cobra.Command {
	command := &cobra.Command{
		Use:   "workers",
		Short: "List and remove workers, which offer services over HTTP",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return misuse(command, errors.New("say what to do: list or remove"))
		},
	}
	for _, verb := range []*cobra.Command{p.listWorkers(), p.removeWorker()} {
		verb.Args = explained(verb.Args)
		command.AddCommand(verb)
	}
	return command
}

func (p *program) listWorkers() *cobra.Command {
	service, online := "", false
	command := &cobra.Command{
		Use:   "list",
		Short: "List workers, in the order of registration",
		Args:  cobra.NoArgs,
		RunE: p.ask(func(command *cobra.Command, _ []string, server *client.Client) error {
			found, err := server.Workers(command.Context(), service, online)
			if err != nil {
				return err
			}
			p.print(wire.Workers{Workers: found}, func(w io.Writer) { p.writeWorkers(w, found) })
			if len(found) == 0 {
				which := "is registered"
				if service != "" {
					which = fmt.Sprintf("offers service %q", service)
				}
				if online {
					which += " and is online"
				}
				p.hint("no worker %s; `%s worker` runs one with example services", which, p.name)
			}
			return nil
		}),
	}
	command.Flags().StringVar(&service, "service", "", "only workers that offer this service")
	command.Flags().BoolVar(&online, "online", false, "only workers that are online")
	return command
}

func (p *program) writeWorkers(w io.Writer, found []wire.Worker) {
	if len(found) == 0 {
		return
	}
	rows := [][]string{{"URL", "ID", "STATUS", "LOAD", "HEARTBEAT", "SERVICES"}}
	for _, worker := range found {
		rows = append(rows, []string{worker.URL, worker.ID, worker.Status,
			strconv.FormatInt(worker.Load, 10),
			p.ago(worker.Heartbeat) + " ago", strings.Join(worker.Services, ", ")})
	}
	for _, line := range align(rows) {
		fmt.Fprintln(w, line)
	}
}

func (p *program) removeWorker() *cobra.Command {
	return &cobra.Command{
		Use:   "remove URL",
		Short: "Remove a worker, so that it gets no calls",
		Args:  cobra.ExactArgs(1),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			if err := server.RemoveWorker(command.Context(), args[0]); err != nil {
				return err
			}
			p.say("the worker is removed")
			return nil
		}),
	}
}
