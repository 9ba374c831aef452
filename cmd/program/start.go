package program

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// startFlags are those of start.
type startFlags struct {
	run, input  string
	definition  int
	attributes  []string
	reuse, wait bool
	failBlocked bool
	// nodes has the waiting show the nodes of a flow.
	nodes bool
}

func (p *program) start() *cobra.Command {
	given := startFlags{}
	command := &cobra.Command{
		Use:   "start WORKFLOW",
		Short: "Start a run",
		Long: "Start a run. Its id goes to the standard output; with --wait, its result does.\n\n" +
			"The same start with the same --run again finds the run that is there, so it is safe to repeat.\n\n" + jsonHelp,
		Example: "  " + p.name + " start order --run order-17 --input '{\"item\":\"book\"}' --attribute customer=ann --wait\n" +
			"  " + p.name + " start order --input @order.json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeWorkflows,
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			if err := givenID(command, "run"); err != nil {
				return err
			}
			return p.startRun(command.Context(), server, args[0], given)
		}),
	}
	flags := command.Flags()
	flags.StringVar(&given.run, "run", "", "the run's id (default: one is made)")
	flags.StringVar(&given.input, "input", "", "the workflow's input: JSON, @FILE or @-")
	flags.StringArrayVar(&given.attributes, "attribute", nil,
		"what the run can be found by, NAME=VALUE; a value that is no JSON is a text")
	flags.IntVar(&given.definition, "definition", 0, "the version of the published definition to "+
		"run (default: the highest that is published)")
	flags.BoolVar(&given.reuse, "reuse", false, "if the run of this id has ended, begin its next "+
		"generation")
	flags.BoolVar(&given.wait, "wait", false, "wait for its end, and show its result")
	flags.BoolVar(&given.failBlocked, "fail-blocked", false, "with --wait: end with exit code 6 once the run is blocked")
	return command
}

// begun is the document of start.
type begun struct {
	*wire.Summary
	// Created is false where the run of this id was there already.
	Created bool `json:"created"`
}

func (p *program) startRun(
	ctx context.Context, server *client.Client, workflow string, given startFlags,
) error {
	request := engine.StartRequest{Run: given.run, Workflow: workflow, Definition: given.definition,
		Reuse: given.reuse}
	var err error
	if request.Input, err = p.payload("input", given.input); err != nil {
		return err
	}
	if request.Attributes, err = attributes(given.attributes); err != nil {
		return err
	}
	run, err := server.Start(ctx, request)
	if err != nil {
		return err
	}
	if !run.Created {
		p.say("run %s is there already: %s, started %s ago", run.Run, standing(run.Summary), p.ago(run.Started))
	} else if given.wait {
		p.say("run %s of workflow %s started", run.Run, run.Workflow)
	}
	if run.Hint != "" {
		p.say("%s", run.Hint)
	}
	if given.wait {
		return p.waitFor(ctx, server, run.Run,
			waiting{failBlocked: given.failBlocked, nodes: given.nodes})
	}
	p.print(begun{run.Summary, run.Created}, func(w io.Writer) { fmt.Fprintln(w, run.Run) })
	if run.Created {
		p.hint("`%s wait %s` waits for its end, `%s history %s` shows what happens", p.name, run.Run, p.name, run.Run)
	}
	return nil
}
