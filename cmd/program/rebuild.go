package program

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// rebuilt is what was found unfinished: the document of rebuild.
type rebuilt struct {
	Open      int `json:"open"`
	Sent      int `json:"sent"`
	Unblocked int `json:"unblocked"`
}

func (r rebuilt) String() string {
	return fmt.Sprintf("%d open runs taken up, %d messages sent again, %d blocked runs tried again", r.Open, r.Sent, r.Unblocked)
}

func (p *program) rebuild() *cobra.Command {
	cursor := ""
	command := &cobra.Command{
		Use:   "rebuild",
		Short: "Bring back what was in a deployment's queues",
		Long: "Bring back what was in a deployment's queues, when they were lost, emptied or made anew: from the logs of all open runs, what is under way " +
			"is sent again, and blocked runs are tried again. Requests that were being answered when the queues were lost must have ended: wait half a minute.\n\n" +
			"Done again, or where nothing was lost, it costs time and does no harm: activities under way may run once more. A dev server needs none: it does " +
			"this at each start.",
		Args: cobra.NoArgs,
		RunE: p.ask(func(command *cobra.Command, _ []string, server *client.Client) error {
			return p.rebuildAll(command.Context(), server, cursor)
		}),
	}
	command.Flags().StringVar(&cursor, "from", "", "go on where a rebuild ended that failed, as it said")
	return command
}

func (p *program) rebuildAll(ctx context.Context, server *client.Client, cursor string) error {
	done := rebuilt{}
	for {
		page, err := server.Rebuild(ctx, cursor)
		if err != nil {
			if cursor != "" {
				p.say("not done: %s; `%s rebuild --from '%s'` goes on", done, p.name, cursor)
			}
			return err
		}
		done.Open += page.Open
		done.Sent += page.Sent
		done.Unblocked += page.Unblocked
		if cursor = page.Next; cursor == "" {
			break
		}
		if *page != (wire.Rebuilt{Next: page.Next}) {
			p.say("so far: %s", done)
		}
	}
	p.print(done, func(w io.Writer) { fmt.Fprintln(w, done) })
	return nil
}
