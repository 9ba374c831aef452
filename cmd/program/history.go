package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
)

func (p *program) history() *cobra.Command {
	generation, export, plain, redacted := 0, false, false, false
	command := &cobra.Command{
		Use:   "history RUN",
		Short: "Show what happened to a run, line by line",
		Long: "Show what happened to a run, line by line: the number of the record (that reset --to takes), when, since the start, what, and what " +
			"came of it.\n\nWith --json, the history is exported: the form that `" + p.name + " replay` reads. Of a server that seals values, they leave sealed, since " +
			"files end up in places that nobody thinks of; --plain has them in the clear, and so has `" + p.name + " decrypt`. --redact has them in the clear but for " +
			"what looks like a secret: to show to somebody; a replay of it may not agree.",
		Example:           "  " + p.name + " history order-17 --json > histories/order-17.json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeRuns(port.ListQuery{}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			ctx, run := command.Context(), args[0]
			switch export = export || p.output == asJSON; {
			case !export:
				return p.showHistory(ctx, server, run, generation)
			case redacted:
				return p.exportRedacted(ctx, server, run, generation)
			case plain:
				return server.Export(ctx, run, generation, p.out)
			}
			return server.ExportSealed(ctx, run, generation, p.out)
		}),
	}
	command.Flags().IntVar(&generation, "generation", 0, "which generation (default: the current one)")
	command.Flags().BoolVar(&export, "json", false, "export the history, for replay: the same as --output json")
	command.Flags().BoolVar(&plain, "plain", false, "export values in the clear, though the server seals them")
	command.Flags().BoolVar(&redacted, "redact", false, "export values in the clear, but for what looks like a secret")
	return command
}

func (p *program) exportRedacted(ctx context.Context, server *client.Client, run string, generation int) error {
	exported := &bytes.Buffer{}
	if err := server.Export(ctx, run, generation, exported); err != nil {
		return err
	}
	_, _ = io.WriteString(p.out, p.redactor.Text(exported.String()))
	return nil
}

func (p *program) showHistory(ctx context.Context, server *client.Client, run string, generation int) error {
	exported := &bytes.Buffer{}
	if err := server.Export(ctx, run, generation, exported); err != nil {
		return err
	}
	export, err := history.DecodeExport(exported.Bytes())
	if err != nil {
		return err
	}
	now, err := look(ctx, server, run)
	if err != nil {
		return err
	}
	t := newTimeline(p.now(), now, export.Generation)
	for _, rec := range export.Records {
		t.add(rec)
	}
	for _, id := range t.left() {
		child, err := server.Get(ctx, id)
		if err == nil {
			t.children[id] = child
		} else if client.CodeOf(err) != port.NotFound { // it never began, or is deleted
			return err
		}
	}
	t.pending()
	p.show(nil, func(w io.Writer) { t.write(w, export) })
	return nil
}

func (t *timeline) write(w io.Writer, export *history.Export) {
	begun := t.begun
	if begun.IsZero() { // its code has never run
		begun = t.run.Started
	}
	fmt.Fprintf(w, "run %s of workflow %s", export.Run, export.Workflow)
	if t.run.Generation > 1 {
		fmt.Fprintf(w, ", generation %d of %d", export.Generation, t.run.Generation)
	}
	fmt.Fprintf(w, ", started %s\n\n", clock(begun))
	var rows [][]string
	times := 0
	for _, h := range t.lines {
		since := "+" + after(t.begun, h.at)
		times = max(times, len(since))
		rows = append(rows, []string{fmt.Sprintf("%4d", h.record), since, h.what, strings.TrimSpace(h.outcome + "  " + h.value)})
	}
	const gap = 2 // between columns
	under := strings.Repeat(" ", 4+gap+times+gap+gap)
	for i, line := range align(rows) {
		fmt.Fprintln(w, line)
		for _, text := range t.lines[i].under {
			fmt.Fprintln(w, under+text)
		}
	}
	switch blocked := t.run.Blocked; {
	case export.Generation != t.run.Generation:
	case blocked != nil:
		fmt.Fprintf(w, "\nblocked for %s: %s\n%s\n", after(blocked.Since, t.now), blocked.Reason, indent("  ", blocked.Message))
	case t.run.Status == history.Running:
		fmt.Fprintf(w, "\nrunning for %s\n", after(t.run.Started, t.now))
	}
}
