package program

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func (p *program) list() *cobra.Command {
	query := port.ListQuery{}
	var status string
	var given []string
	most := 0
	command := &cobra.Command{
		Use:   "list",
		Short: "List runs, the latest first",
		Example: "  " + p.name + " list --status running\n" +
			"  " + p.name + " list --workflow review --definition 3",
		Args: cobra.NoArgs,
		RunE: p.ask(func(command *cobra.Command, _ []string, server *client.Client) error {
			var err error
			if query.Attributes, err = attributes(given); err != nil {
				return err
			}
			query.Status = history.Status(status)
			return p.listRuns(command, server, query, most)
		}),
	}
	flags := command.Flags()
	flags.StringVar(&status, "status", "", "only runs of this status")
	flags.StringVar(&query.Workflow, "workflow", "", "only runs of this workflow")
	flags.IntVar(&query.Definition, "definition", 0,
		"only runs of this version of the definition that --workflow names")
	flags.BoolVar(&query.Blocked, "blocked", false, "only runs that cannot advance")
	flags.StringArrayVar(&given, "attribute", nil, "only runs with this attribute, NAME=VALUE")
	flags.IntVar(&most, "limit", 50, "at most so many")
	complete(command, "status", string(history.Running), string(history.Completed), string(history.Failed), string(history.Cancelled), string(history.Terminated))
	completeFlag(command, "workflow", p.completeWorkflows)
	return command
}

// listed is the document of list.
type listed struct {
	Runs []*wire.Summary `json:"runs"`
	// More: there are further runs.
	More bool `json:"more"`
}

func (p *program) listRuns(
	command *cobra.Command, server *client.Client, query port.ListQuery, most int,
) error {
	if most < 1 {
		return misuse(command, fmt.Errorf("--limit %d: it is 1 or more", most))
	}
	if version := query.Definition; command.Flags().Changed("definition") {
		switch {
		case version < 1:
			return misuse(command, fmt.Errorf("--definition %d: versions begin at 1", version))
		case query.Workflow == "":
			return misuse(command,
				fmt.Errorf("--definition %d: name its workflow, as --workflow review", version))
		}
	}
	found := listed{Runs: []*wire.Summary{}}
	for {
		query.Limit = min(most-len(found.Runs), engine.LongestPage)
		page, err := server.List(command.Context(), query)
		if err != nil {
			return err
		}
		found.Runs = append(found.Runs, page.Runs...)
		found.More = page.Next != ""
		if query.Cursor = page.Next; page.Next == "" || len(found.Runs) >= most {
			break
		}
	}
	p.show(found, func(w io.Writer) { p.writeRuns(w, found) })
	if len(found.Runs) == 0 && p.output != asJSON {
		p.say("no runs match; `%s start WORKFLOW` starts one", p.name)
	}
	return nil
}

func (p *program) writeRuns(w io.Writer, found listed) {
	if len(found.Runs) == 0 {
		return
	}
	rows := [][]string{{"RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK", ""}}
	for _, run := range found.Runs {
		took, note := "", ""
		switch {
		case run.Status.Closed():
			took = span(run.Closed.Sub(run.Started))
		case run.Blocked != nil:
			note = run.Blocked.Reason
		case run.State != nil:
			note = shorten(brief(run.State), 40)
		}
		if run.Failure != nil {
			note = shorten(run.Failure.Error(), 60)
		}
		rows = append(rows, []string{run.Run, workflowOf(run), standing(run), p.ago(run.Started) +
			" ago", took, note})
	}
	for _, line := range align(rows) {
		fmt.Fprintln(w, line)
	}
	if found.More {
		fmt.Fprintf(w, "… and more: --limit %d shows them\n", 10*len(found.Runs))
	}
}

// workflowOf is a run's workflow, with the version of the definition that it has.
func workflowOf(run *wire.Summary) string {
	if run.Definition == 0 {
		return run.Workflow
	}
	return fmt.Sprintf("%s (version %d)", run.Workflow, run.Definition)
}

// standing is a run's status in a word.
func standing(run *wire.Summary) string {
	if run.Blocked != nil {
		return "blocked"
	}
	return string(run.Status)
}
