package program

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func (p *program) cancel() *cobra.Command {
	reason := ""
	command := &cobra.Command{
		Use:               "cancel RUN",
		Short:             "Ask a run to stop: its code cleans up first",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeRuns(port.ListQuery{Status: history.Running}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			accepted, err := server.Cancel(command.Context(), engine.MessageRequest{Run: args[0]}, reason)
			return p.accepted(accepted, err, "run %s is asked to stop", args[0])
		}),
	}
	command.Flags().StringVar(&reason, "reason", "", "why: the run's history shows it")
	return command
}

func (p *program) terminate() *cobra.Command {
	reason := ""
	command := &cobra.Command{
		Use:               "terminate RUN",
		Short:             "End a run without asking its code, even if it is blocked",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeRuns(port.ListQuery{Status: history.Running}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			accepted, err := server.Terminate(command.Context(), engine.MessageRequest{Run: args[0]}, reason)
			if err == nil {
				err = settle(command.Context(), server, args[0], func(run *wire.Summary) bool {
					return run.Status.Closed()
				})
			}
			return p.accepted(accepted, err, "run %s is terminated", args[0])
		}),
	}
	command.Flags().StringVar(&reason, "reason", "", "why: the run's history shows it")
	return command
}

func (p *program) reset() *cobra.Command {
	reason, place := "", ""
	to := engine.ResetPoint{}
	command := &cobra.Command{
		Use:   "reset RUN --to [GENERATION.]RECORD",
		Short: "Have a run go on again from one of its records",
		Long: "Have a run go on in a new generation from one of its records, even if it is blocked or has ended. What came after that record " +
			"is forgotten, but for its signals and accepted updates, which come again. --to 3 is a record of the present generation, --to 1.3 one of an earlier generation whose log is kept. The numbers of records are the first column of `" + p.name + " history RUN`.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeRuns(port.ListQuery{}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			var err error
			if to.Generation, to.Record, err = recordOf(place); err != nil {
				return err
			}
			before, err := server.Get(command.Context(), args[0])
			if err != nil {
				return err
			}
			accepted, err := server.Reset(command.Context(), engine.MessageRequest{Run: args[0]}, to, reason)
			if err == nil {
				err = settle(command.Context(), server, args[0], func(run *wire.Summary) bool {
					return run.Generation > before.Generation
				})
			}
			return p.accepted(accepted, err, "run %s continues from record %s, in a new generation", args[0], place)
		}),
	}
	command.Flags().StringVar(&place, "to", "", "the last record that still counts: RECORD or "+
		"GENERATION.RECORD")
	command.Flags().BoolVar(&to.ExcludeSignals, "exclude-signals", false,
		"the signals that came after the record do not come again")
	command.Flags().IntVar(&to.Definition, "definition", 0,
		"the version of the published definition that it continues with (default: the one that "+
			"it has)")
	command.Flags().StringVar(&reason, "reason", "", "why: the run's history shows it")
	if err := command.MarkFlagRequired("to"); err != nil {
		panic(err) // there is no such flag: a mistake in this function
	}
	return command
}

// recordOf reads a record's place: RECORD, or GENERATION.RECORD.
func recordOf(place string) (generation, record int, err error) {
	number := place
	if before, after, earlier := strings.Cut(place, "."); earlier {
		number = after
		generation, err = strconv.Atoi(before)
	}
	if err == nil {
		record, err = strconv.Atoi(number)
	}
	if err != nil || record < 1 || generation < 0 {
		return 0, 0, &exit{code: usage, err: fmt.Errorf("--to %q is not a record: give its number, such as 3, or 1.3 for record 3 of generation 1", place)}
	}
	return generation, record, nil
}

func (p *program) unblock() *cobra.Command {
	return &cobra.Command{
		Use:               "unblock RUN",
		Short:             "Have a blocked run tried again",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeRuns(port.ListQuery{Blocked: true}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			before, err := server.Get(command.Context(), args[0])
			if err != nil {
				return err
			}
			if before.Blocked == nil {
				return &exit{code: refused, err: fmt.Errorf("run %s is not blocked: it is %s", args[0], before.Status)}
			}
			if err = server.Unblock(command.Context(), args[0]); err == nil {
				err = settle(command.Context(), server, args[0], func(run *wire.Summary) bool {
					return run.Blocked == nil || !run.Blocked.Since.Equal(before.Blocked.Since)
				})
			}
			if err == nil {
				p.print(completion{true}, func(w io.Writer) { fmt.Fprintf(w, "run %s is tried again\n", args[0]) })
			}
			return err
		}),
	}
}

// settling limits how long a command waits until what was accepted shows. It is durable, and will.
const settling = 5 * time.Second

// settle waits until a run shows what was asked for, so that the next command finds it so.
func settle(
	ctx context.Context, server *client.Client, run string, shows func(*wire.Summary) bool,
) error {
	begun := time.Now()
	for pause := 5 * time.Millisecond; time.Since(begun) < settling; pause = min(2*pause, 500*time.Millisecond) {
		summary, err := server.Get(ctx, run)
		if err != nil || shows(summary) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
