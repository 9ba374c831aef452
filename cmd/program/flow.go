package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/flow/graph"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/frontend"
)

// flow are the verbs that only flows have.
func (p *program) flow() *cobra.Command {
	command := &cobra.Command{
		Use:   "flow",
		Short: "Run a flow from its file, or draw one",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return misuse(command, errors.New("say what to do: run or graph"))
		},
	}
	for _, verb := range []*cobra.Command{p.runFlow(), p.graph()} {
		verb.Args = explained(verb.Args)
		command.AddCommand(verb)
	}
	return command
}

func (p *program) runFlow() *cobra.Command {
	name, params, start := "", "", startFlags{wait: true, nodes: true}
	command := &cobra.Command{
		Use:   "run FILE",
		Short: "Publish a flow as a draft, run it, and show its nodes as they end",
		Long: "Publish a flow as a draft unless it is published, start a run of that version, " +
			"and wait for its end. Each node that ends is a line " +
			"on the standard error. The shared state at the end goes to the standard output. " +
			"Other starts do not run a draft.\n\n" + jsonHelp + "\n\n" + exitCodes,
		Example: "  " + p.name + " flow run order.json --params '{\"item\":\"book\"}'",
		Args:    cobra.ExactArgs(1),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			if err := givenID(command, "run"); err != nil {
				return err
			}
			source, err := p.readFlow(args[0], name)
			if err != nil {
				return err
			}
			start.input = params
			published, err := server.Publish(command.Context(),
				wire.PublishBody{Name: source.name, Kind: source.kind, Source: source.text,
					Draft: true})
			if err != nil {
				return source.refused(err)
			}
			if published.Created {
				p.hint("version %d of %s: %s", published.Version, published.Name, published.Status)
			}
			p.hintServices(command.Context(), server, source)
			start.definition = published.Version
			return p.startRun(command.Context(), server, published.Name, start)
		}),
	}
	flags := command.Flags()
	flags.StringVar(&params, "params", "{}", "the params of the task: a JSON object, @FILE or @-")
	flags.StringVar(&name, "name", "", "the workflow that it makes (default: the file's name "+
		"without extension)")
	flags.StringVar(&start.run, "run", "", "the run's id (default: one is made)")
	flags.BoolVar(&start.failBlocked, "fail-blocked", false,
		"end with exit code 6 once the run is blocked")
	return command
}

// readFlow reads a file that has to be a flow.
func (p *program) readFlow(file, name string) (*source, error) {
	source, err := p.readSource(file, name)
	if err == nil && source.kind != frontend.Flow {
		return nil, &exit{code: usage, err: fmt.Errorf("%s is not a flow: it is of the kind %s",
			file, source.kind)}
	}
	return source, err
}

func (p *program) graph() *cobra.Command {
	run, form := "", mermaidGraph
	command := &cobra.Command{
		Use:   "graph [FILE | NAME[@VERSION]]",
		Short: "Draw a flow, as Mermaid or as text, with the place of a run",
		Long: "Draw a flow: a file that ends with .json, else a published definition. The " +
			"drawing is text in the language of Mermaid, which Markdown of many " +
			"sites and editors shows as a picture, or lines for people. With --run, it shows " +
			"which nodes of a run are done, running or failed; " +
			"the definition is then that of the run, unless one is named.",
		Example: "  " + p.name + " flow graph order.json --format text\n  " + p.name +
			" flow graph --run o-17",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(command *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			offers, _ := p.completeDefinitions(command, args, typed)
			return offers, cobra.ShellCompDirectiveDefault // files, too
		},
		RunE: func(command *cobra.Command, args []string) error {
			drawn := ""
			switch {
			case form != mermaidGraph && form != textGraph:
				return misuse(command, fmt.Errorf("--format %s: it is %s or %s", form, mermaidGraph,
					textGraph))
			case len(args) == 1:
				drawn = args[0]
			case run == "":
				return misuse(command, errors.New("say what to draw: a file, a published "+
					"definition, or a run with --run"))
			}
			if run == "" && isFile(drawn) {
				return p.draw(command.Context(), nil, drawn, "", form)
			}
			return p.ask(func(command *cobra.Command, _ []string, server *client.Client) error {
				return p.draw(command.Context(), server, drawn, run, form)
			})(command, args)
		},
	}
	command.Flags().StringVar(&run, "run", "", "the run whose place is shown")
	command.Flags().StringVar(&form, "format", mermaidGraph, mermaidGraph+" or "+textGraph)
	complete(command, "format", mermaidGraph, textGraph)
	completeFlag(command, "run", p.completeRuns(port.ListQuery{}))
	return command
}

// What --format of graph takes.
const (
	mermaidGraph = "mermaid"
	textGraph    = "text"
)

// isFile tells a file from the name of a definition.
func isFile(name string) bool { return name == "-" || strings.HasSuffix(name, ".json") }

// drawing is the document of graph.
type drawing struct {
	Format string `json:"format"`
	Graph  string `json:"graph"`
}

func (p *program) draw(ctx context.Context, server *client.Client, what, run, form string) error {
	var summary *wire.Summary
	live := graph.Live{}
	if run != "" {
		var err error
		if summary, live, err = p.live(ctx, server, run); err != nil {
			return err
		}
	}
	text, err := p.flowSource(ctx, server, what, summary)
	if err != nil {
		return err
	}
	definition, err := flow.Parse([]byte(text))
	if err != nil {
		return &exit{code: usage, err: fmt.Errorf("the flow cannot be drawn: %w\n`%s validate` "+
			"says where in the file", err, p.name)}
	}
	draws := map[string]func(*flow.Definition, graph.Live) string{mermaidGraph: graph.Mermaid,
		textGraph: graph.Text}
	drawn := drawing{form, draws[form](definition, live)}
	p.print(drawn, func(w io.Writer) { _, _ = io.WriteString(w, drawn.Graph) })
	return nil
}

// flowSource gives the source of a file, of a published definition, or of the one that a run has.
func (p *program) flowSource(
	ctx context.Context, server *client.Client, what string, run *wire.Summary,
) (string, error) {
	if isFile(what) {
		source, err := p.readFlow(what, "drawn")
		if err != nil {
			return "", err
		}
		return source.text, nil
	}
	name, version := what, 0
	if at := strings.LastIndexByte(what, '@'); at >= 0 {
		var err error
		if version, err = versionOf(what[at+1:]); err != nil {
			return "", err
		}
		name = what[:at]
	}
	if what == "" {
		if name, version = run.Workflow, run.Definition; version == 0 {
			return "", &exit{code: usage, err: fmt.Errorf("run %s runs the program's own code: "+
				"name the file of its flow", run.Run)}
		}
	}
	definition, err := server.Definition(ctx, name, version)
	switch {
	case err != nil:
		return "", err
	case definition.Kind != frontend.Flow:
		return "", &exit{code: usage, err: fmt.Errorf("definition %s is not a flow: it is of the "+
			"kind %s", name, definition.Kind)}
	}
	return definition.Source, nil
}

// mostDrawn is how many node runs tell where a run is.
const mostDrawn = 1000

// live tells where a run is.
func (p *program) live(
	ctx context.Context, server *client.Client, run string,
) (*wire.Summary, graph.Live, error) {
	summary, err := server.Get(ctx, run)
	if err != nil {
		return nil, graph.Live{}, err
	}
	state, _ := flowState(summary)
	found, err := lookNodes(ctx, server, summary, mostDrawn)
	if err != nil {
		return nil, graph.Live{}, err
	}
	var rows []flow.Row
	if found == nil {
		p.hint("run %s has not entered a node of a flow", run)
	} else {
		for _, node := range found.Nodes {
			if node.Status != running {
				rows = append(rows, node.Row)
			}
		}
		if found.Incomplete != "" {
			p.hint("%s", found.Incomplete)
		}
		if found.Earlier > 0 {
			p.hint("nodes that ran only before the newest %d node runs are drawn as if they had "+
				"not run", mostDrawn)
		}
	}
	failed := flow.NodeFailure{}
	if summary.Failure != nil {
		_ = json.Unmarshal(summary.Failure.Details, &failed) // another failure names no node
	}
	if summary.Status.Closed() {
		state.Node = ""
	}
	return summary, graph.Follow(state, rows, failed.Node), nil
}
