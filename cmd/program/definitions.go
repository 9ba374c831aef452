package program

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// published are the verbs on definitions that a server has.
func (p *program) published() *cobra.Command {
	command := &cobra.Command{
		Use:   "definitions",
		Short: "List, show, retire and delete published definitions",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return misuse(command, fmt.Errorf("say what to do: list, show, retire or delete"))
		},
	}
	for _, verb := range []*cobra.Command{p.listDefinitions(), p.showDefinition(), p.retire(),
		p.deleteDefinition()} {
		verb.Args = explained(verb.Args)
		command.AddCommand(verb)
	}
	return command
}

func (p *program) listDefinitions() *cobra.Command {
	return &cobra.Command{
		Use:               "list [NAME]",
		Short:             "List definitions, or the versions of one",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.completeDefinitions,
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			var found []*wire.Definition
			var err error
			if len(args) == 0 {
				found, err = everyDefinition(command.Context(), server)
			} else {
				found, err = server.Versions(command.Context(), args[0])
			}
			if err != nil {
				return err
			}
			p.print(map[string]any{"definitions": found}, func(w io.Writer) {
				p.writeDefinitions(w, found)
			})
			if len(found) == 0 {
				p.hint("nothing is published; `%s publish FILE` publishes a definition", p.name)
			}
			return nil
		}),
	}
}

// everyDefinition gives the highest version of each name.
func everyDefinition(ctx context.Context, server *client.Client) ([]*wire.Definition, error) {
	found := []*wire.Definition{}
	for after := ""; ; {
		page, err := server.Definitions(ctx, after)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Definitions...)
		if after = page.Next; after == "" {
			return found, nil
		}
	}
}

func (p *program) writeDefinitions(w io.Writer, found []*wire.Definition) {
	if len(found) == 0 {
		return
	}
	rows := [][]string{{"NAME", "VERSION", "STATUS", "KIND", "BYTES", "PUBLISHED", "BY"}}
	for _, d := range found {
		rows = append(rows, []string{d.Name, strconv.Itoa(d.Version), string(d.Status), d.Kind,
			strconv.Itoa(d.Bytes), p.ago(d.Published) + " ago", d.Publisher})
	}
	for _, line := range align(rows) {
		fmt.Fprintln(w, line)
	}
}

func (p *program) showDefinition() *cobra.Command {
	source := false
	command := &cobra.Command{
		Use: "show NAME [VERSION]",
		Short: "Show a version of a definition: the highest that is published, or the one that " +
			"is named",
		Long: "Show a version of a definition with its source: the highest that is published, or " +
			"the one that is named. " +
			"--source writes the source alone, exactly as it was published.",
		Example:           "  " + p.name + " definitions show order 2 --source > order.json",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: p.completeDefinitions,
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			version := 0
			if len(args) > 1 {
				var err error
				if version, err = versionOf(args[1]); err != nil {
					return err
				}
			}
			definition, err := server.Definition(command.Context(), args[0], version)
			switch {
			case err != nil:
				return err
			case source:
				_, err = io.WriteString(p.out, definition.Source)
				return err
			}
			p.show(definition, func(w io.Writer) { p.writeDefinition(w, definition) })
			return nil
		}),
	}
	command.Flags().BoolVar(&source, "source", false, "write the source alone")
	return command
}

func (p *program) writeDefinition(w io.Writer, d *wire.Definition) {
	fmt.Fprintf(w, "name       %s\nversion    %d, %s\nkind       %s\n", d.Name, d.Version,
		d.Status, d.Kind)
	by := ""
	if d.Publisher != "" {
		by = ", by " + d.Publisher
	}
	fmt.Fprintf(w, "published  %s, %s ago%s\nhash       %s\n\n%s\n", clock(d.Published),
		p.ago(d.Published), by, d.Hash, indent("  ", d.Source))
}

func (p *program) retire() *cobra.Command {
	return p.onVersion("retire NAME VERSION",
		"Have starts run a version no longer; runs that have it continue",
		func(ctx context.Context, server *client.Client, name string, version int) error {
			if err := server.Retire(ctx, name, version); err != nil {
				return err
			}
			p.changed("version %d of definition %s is retired: no start runs it\n", version, name)
			p.hint("%s", p.listsRunsOf(name, version))
			return nil
		})
}

func (p *program) deleteDefinition() *cobra.Command {
	return p.onVersion("delete NAME VERSION",
		"Delete a version that no run has, once it is retired",
		func(ctx context.Context, server *client.Client, name string, version int) error {
			err := server.DeleteDefinition(ctx, name, version)
			if client.CodeOf(err) == port.Conflict {
				return fmt.Errorf("%w\n%s", err, p.listsRunsOf(name, version))
			} else if err != nil {
				return err
			}
			p.changed("version %d of definition %s is deleted\n", version, name)
			return nil
		})
}

type changeVersion func(
	ctx context.Context, server *client.Client, name string, version int,
) error

// onVersion is a verb that changes a version.
func (p *program) onVersion(use, short string, change changeVersion) *cobra.Command {
	return &cobra.Command{
		Use:               use,
		Short:             short,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: p.completeDefinitions,
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			version, err := versionOf(args[1])
			if err != nil {
				return err
			}
			return change(command.Context(), server, args[0], version)
		}),
	}
}

// changed says that a version was changed.
func (p *program) changed(text string, args ...any) {
	p.print(completion{true}, func(w io.Writer) { fmt.Fprintf(w, text, args...) })
}

// listsRunsOf names the command that lists the runs of a version.
func (p *program) listsRunsOf(name string, version int) string {
	return fmt.Sprintf("`%s list --workflow %s --definition %d` lists the runs that have it",
		p.name, name, version)
}

func versionOf(given string) (int, error) {
	version, err := strconv.Atoi(given)
	if err != nil || version < 1 {
		return 0, &exit{code: usage,
			err: fmt.Errorf("%q is not a version: give its number, from 1", given)}
	}
	return version, nil
}

// completeDefinitions offers the names of published definitions for the first argument.
func (p *program) completeDefinitions(
	command *cobra.Command, args []string, _ string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	const nothing = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, nothing
	}
	ctx, stop := context.WithTimeout(command.Context(), completing)
	defer stop()
	server, err := p.connect(ctx)
	if err != nil {
		return nil, nothing
	}
	defer server.Close()
	return definitionNames(ctx, server), nothing
}

// definitionNames are the first names that are published; none where the server does not answer.
func definitionNames(ctx context.Context, server *client.Client) (names []string) {
	page, err := server.Definitions(ctx, "")
	if err != nil {
		return nil
	}
	for _, d := range page.Definitions {
		names = append(names, d.Name)
	}
	return names
}
