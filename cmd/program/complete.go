package program

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// completion is the document of complete and fail.
type completion struct {
	Accepted bool `json:"accepted"`
}

func (p *program) complete() *cobra.Command {
	return &cobra.Command{
		Use:   "complete TOKEN [JSON]",
		Short: "Complete an activity that waits for it, with a result",
		Long: "Complete an activity from outside, with a result. The activity gave its token away (activity.Token) and returned " +
			"activity.ErrPending.\n\n" + jsonHelp,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			given := ""
			if len(args) > 1 {
				given = args[1]
			}
			result, err := p.payload("result", given)
			if err != nil {
				return err
			}
			return p.resolved(server.CompleteActivity(command.Context(), args[0], result), "is completed")
		}),
	}
}

func (p *program) fail() *cobra.Command {
	failure := wire.FailBody{}
	details := ""
	command := &cobra.Command{
		Use:               "fail TOKEN MESSAGE",
		Short:             "Fail an activity that waits to be completed",
		Long:              "Fail an activity that waits to be completed from outside. It is final: the activity is not tried again.",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			var err error
			if failure.Details, err = p.payload("details", details); err != nil {
				return err
			}
			failure.Message = args[1]
			return p.resolved(server.FailActivity(command.Context(), args[0], failure), "has failed")
		}),
	}
	command.Flags().StringVar(&failure.Type, "type", "", "your own name of this sort of failure, which workflows can tell")
	command.Flags().StringVar(&details, "details", "", "a value that goes with it: JSON, @FILE or @-")
	return command
}

func (p *program) resolved(err error, how string) error {
	if err == nil {
		p.print(completion{true}, func(w io.Writer) { fmt.Fprintf(w, "the activity %s\n", how) })
	}
	return err
}
