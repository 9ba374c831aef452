package program

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

const mailID = "the message's own id: repeating it with the same id is safe (default: one is made)"

func (p *program) signal() *cobra.Command {
	id := ""
	command := &cobra.Command{
		Use:               "signal RUN NAME [JSON]",
		Short:             "Send a run a signal",
		Long:              "Send a run a signal: a message without an answer. It is durable when this returns.\n\n" + jsonHelp,
		Args:              cobra.RangeArgs(2, 3),
		ValidArgsFunction: p.completeRuns(port.ListQuery{Status: history.Running}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			if err := givenID(command, "id"); err != nil {
				return err
			}
			input, err := p.payload("signal's input", third(args))
			if err != nil {
				return err
			}
			accepted, err := server.Signal(command.Context(), engine.MessageRequest{Run: args[0], ID: id}, args[1], input)
			if accepted.Hint != "" {
				defer p.hint("%s", accepted.Hint)
			}
			return p.accepted(accepted, err, "signal %s accepted", args[1])
		}),
	}
	command.Flags().StringVar(&id, "id", "", mailID)
	return command
}

// givenID refuses an id that is given and empty, as by a variable of a script that is not set.
func givenID(command *cobra.Command, flag string) error {
	if id := command.Flags().Lookup(flag); id.Changed && id.Value.String() == "" {
		return &exit{code: usage, err: fmt.Errorf("--%s is empty: give an id, or leave the flag out to have one made", flag)}
	}
	return nil
}

// accepted shows that a mail is in the run's inbox.
func (p *program) accepted(accepted wire.Accepted, err error, format string, args ...any) error {
	if err == nil {
		p.print(accepted, func(w io.Writer) { fmt.Fprintf(w, format+"\n", args...) })
	}
	return err
}

func (p *program) update() *cobra.Command {
	id := ""
	command := &cobra.Command{
		Use:               "update RUN NAME [JSON]",
		Short:             "Send a run an update, and show its answer",
		Long:              "Send a run an update: a message that its code validates and answers. This waits for the answer.\n\n" + jsonHelp,
		Args:              cobra.RangeArgs(2, 3),
		ValidArgsFunction: p.completeRuns(port.ListQuery{Status: history.Running}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			if err := givenID(command, "id"); err != nil {
				return err
			}
			input, err := p.payload("update's input", third(args))
			if err != nil {
				return err
			}
			return p.sendUpdate(command.Context(), server, engine.MessageRequest{Run: args[0], ID: id}, args[1], input)
		}),
	}
	command.Flags().StringVar(&id, "id", "", mailID)
	return command
}

func (p *program) sendUpdate(ctx context.Context, server *client.Client, mail engine.MessageRequest, name string, input history.Payload) error {
	var answer wire.UpdateAnswer
	var err error
	shown := &progress{program: p, server: server, run: mail.Run}
	shown.during(ctx, func() { answer, err = server.Update(ctx, mail, name, input) })
	if ctx.Err() != nil && answer.ID != "" {
		return &exit{code: interrupted, err: fmt.Errorf("no longer waiting; the same update with --id %s waits again for its answer", answer.ID)}
	}
	if err != nil {
		return err
	}
	if answer.Failure == nil || p.output == asJSON {
		p.print(answer, func(w io.Writer) { fmt.Fprintln(w, pretty(answer.Result)) })
	}
	switch {
	case answer.Phase == history.UpdateRejected:
		return p.unlessShown(refused, fmt.Sprintf("run %s rejected the update", mail.Run), answer.Failure)
	case answer.Failure != nil:
		return p.unlessShown(unsuccessful, "the update failed", answer.Failure)
	}
	return nil
}

// unlessShown ends with a failure that the document has, if there is one.
func (p *program) unlessShown(code int, what string, failure *history.Failure) error {
	switch {
	case p.output == asJSON:
		return &exit{code: code}
	case failure == nil:
		return &exit{code: code, err: errors.New(what)}
	}
	return &exit{code: code, err: fmt.Errorf("%s: %s", what, describeFailure(failure))}
}

func (p *program) query() *cobra.Command {
	return &cobra.Command{
		Use:               "query RUN NAME [JSON]",
		Short:             "Ask a run a question that changes nothing",
		Long:              "Ask a run, open or ended, a question that changes nothing.\n\n" + jsonHelp,
		Args:              cobra.RangeArgs(2, 3),
		ValidArgsFunction: p.completeRuns(port.ListQuery{}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			input, err := p.payload("query's input", third(args))
			if err != nil {
				return err
			}
			answer, err := server.Query(command.Context(), args[0], args[1], input)
			if err == nil {
				p.print(answer, func(w io.Writer) { fmt.Fprintln(w, pretty(answer)) })
			}
			return err
		}),
	}
}

// third is the optional JSON argument.
func third(args []string) string {
	if len(args) < 3 {
		return ""
	}
	return args[2]
}
