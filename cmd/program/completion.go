package program

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
)

// completing limits how long the shell waits for the server's names.
const completing = time.Second

// complete offers fixed values for a flag.
func complete(command *cobra.Command, flag string, values ...string) {
	completeFlag(command, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func completeFlag(command *cobra.Command, flag string, completion cobra.CompletionFunc) {
	if err := command.RegisterFlagCompletionFunc(flag, completion); err != nil {
		panic(err) // the flag is not there, or has one already: a mistake in this package
	}
}

// completeRuns offers, for the first argument, the runs that a query finds, the latest first.
func (p *program) completeRuns(query port.ListQuery) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 {
			return nil, nothing
		}
		ctx, stop := context.WithTimeout(command.Context(), completing)
		defer stop()
		query.Limit = engine.ShortestPage
		server, err := p.connect(ctx)
		if err != nil {
			return nil, nothing
		}
		defer server.Close()
		page, err := server.List(ctx, query)
		if err != nil {
			return nil, nothing
		}
		var offers []cobra.Completion
		for _, run := range page.Runs {
			offers = append(offers, cobra.CompletionWithDesc(run.Run, run.Workflow+", "+standing(run)))
		}
		return offers, nothing | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeWorkflows offers the names of the server's workflows, or, without a server, of this program's.
func (p *program) completeWorkflows(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, stop := context.WithTimeout(command.Context(), completing)
	defer stop()
	server, err := p.connect(ctx)
	if err != nil {
		return p.workflows(), cobra.ShellCompDirectiveNoFileComp
	}
	defer server.Close()
	info, err := server.Info(ctx)
	if err != nil {
		return p.workflows(), cobra.ShellCompDirectiveNoFileComp
	}
	return append(info.Workflows, definitionNames(ctx, server)...),
		cobra.ShellCompDirectiveNoFileComp
}

// workflows are this program's own.
func (p *program) workflows() []string {
	known, err := engine.New(port.Ports{}, engine.Config{Definitions: p.definitions})
	if err != nil {
		return nil
	}
	return known.Workflows()
}
