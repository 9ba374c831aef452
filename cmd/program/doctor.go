package program

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func (p *program) doctor() *cobra.Command {
	most := 0
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what does not resume by itself, and say what to do",
		Long: "Look for what does not resume by itself, and say what to do: blocked runs, timers that " +
			"should have fired, messages that no function can read, and a store that cannot be written " +
			"to. It also reads the runs that are not finished: for activities past their timeout, lost " +
			"timers, children and steps, inbox items that no invocation takes, and activities that keep " +
			"failing.\n\n" +
			"It changes nothing, and ends with exit code 1 if there is something to do.",
		Args: cobra.NoArgs,
		RunE: p.ask(func(command *cobra.Command, _ []string, server *client.Client) error {
			return p.diagnose(command.Context(), server, most)
		}),
	}
	command.Flags().IntVar(&most, "runs", 10_000, "how many unfinished runs to read at most; 0 reads none")
	return command
}

// diagnosed is the document of doctor.
type diagnosed struct {
	*wire.Diagnosis
	inspected
}

func (p *program) diagnose(ctx context.Context, server *client.Client, most int) error {
	found, err := server.Diagnose(ctx)
	if err != nil {
		return err
	}
	runs, err := inspect(ctx, server, most)
	if err != nil {
		return err
	}
	found.Healthy = found.Healthy && !slices.ContainsFunc(runs.Findings, func(f wire.Finding) bool {
		return !isHint(f)
	})
	p.show(diagnosed{found, runs}, func(w io.Writer) { p.writeDiagnosis(w, found, runs) })
	if !found.Healthy {
		return &exit{code: unsuccessful}
	}
	return nil
}

func (p *program) writeDiagnosis(w io.Writer, found *wire.Diagnosis, runs inspected) {
	p.writeBlocked(w, found)
	p.writeOverdue(w, found.Overdue)
	p.writeFindings(w, found, runs.Findings)
	if found.Queues != nil {
		p.writeDead(w, found.Queues)
	}
	if found.Writes != "" {
		fmt.Fprintf(w, "not stored: %s\n\n", found.Writes)
	}
	for _, unseen := range found.Unseen {
		fmt.Fprintf(w, "could not be looked at: %s\n\n", unseen)
	}
	if found.Healthy {
		fmt.Fprintln(w, "nothing to do: no run is blocked or hangs, and no timer is overdue")
	}
	more := ""
	if runs.More {
		more = "; there are more, and --runs says how many are read"
	}
	fmt.Fprintf(w, "runs: %d read that are not finished%s\n", runs.Checked, more)
	if found.Queues != nil {
		fmt.Fprintf(w, "queues: %s to be handled, %d in flight, %d for later\n",
			count(found.Queues.Ready, "message"), found.Queues.InFlight, found.Queues.Delayed)
	}
}

func (p *program) writeBlocked(w io.Writer, found *wire.Diagnosis) {
	if len(found.Blocked) == 0 {
		return
	}
	more := ""
	if found.MoreBlocked {
		more = fmt.Sprintf(" and more (`%s list --blocked` has them all)", p.name)
	}
	fmt.Fprintf(w, "blocked: %s%s cannot advance; what arrives is kept\n\n", count(len(found.Blocked), "run"), more)
	for _, run := range found.Blocked {
		under := ""
		if run.Version != "" {
			under = ", under version " + run.Version
		}
		fmt.Fprintf(w, "  %s (workflow %s), for %s%s: %s\n%s\n%s\n\n", run.Run, run.Workflow, p.ago(run.Since), under, run.Reason,
			indent("    ", run.Message), indent("    to do: ", p.remedy(run)))
	}
}

// remedy says what has a blocked run continue.
func (p *program) remedy(run wire.BlockedRun) string {
	unblock := fmt.Sprintf("`%s unblock %s`", p.name, run.Run)
	resumes := "it resumes automatically then; " + unblock + " has it tried again at once"
	switch run.Reason {
	case port.ReasonNondeterminism:
		return fmt.Sprintf("deploy code that agrees with its history again (`%s replay` checks that): %s; or `%s reset %s --to RECORD` has it continue "+
			"from an earlier record", p.name, resumes, p.name, run.Run)
	case port.ReasonUnregistered:
		return "deploy a program that has its workflow, or publish a definition of this name: " +
			resumes
	case port.ReasonDefinition:
		return fmt.Sprintf("deploy a program that can interpret its definition: %s; or publish a "+
			"version without the mistake, and "+
			"`%s reset %s --to RECORD --definition VERSION` has it continue with that", resumes, p.name, run.Run)
	case port.ReasonUnreadable:
		return "deploy the newer version if one wrote it: " + resumes + "; if it is damaged, restore it from a backup, and then " + unblock
	case port.ReasonUndeliverable:
		return "see the log of functions/activate for the cause; once it is gone, " + unblock
	case port.ReasonUndecodable:
		return fmt.Sprintf("deploy code with a type that fits the signal: %s; or `%s reset %s --to RECORD "+
			"--exclude-signals` has it continue from a record without the signals since", resumes, p.name, run.Run)
	case port.ReasonPanic, port.ReasonStuck, port.ReasonViolation:
		return "deploy fixed code: " + resumes
	}
	return "deploy fixed code, or remove the cause if it lies elsewhere: " + resumes
}

// shownTimers is how many overdue timers are named.
const shownTimers = 10

func (p *program) writeOverdue(w io.Writer, timers []wire.OverdueTimer) {
	if len(timers) == 0 {
		return
	}
	fmt.Fprintf(w, "overdue: %s should have fired, the first one %s ago\n\n", count(len(timers), "timer"), p.ago(timers[0].At))
	for _, timer := range timers[:min(len(timers), shownTimers)] {
		fmt.Fprintf(w, "  %s (timer %d), since %s\n", timer.Run, timer.Seq, clock(timer.At))
	}
	if left := len(timers) - shownTimers; left > 0 {
		fmt.Fprintf(w, "  … and %d more\n", left)
	}
	fmt.Fprint(w, "\n    to do: check that the schedule of functions/timer is enabled and that its log has no errors or throttling; "+
		"what is overdue fires once it runs\n\n")
}

func (p *program) writeDead(w io.Writer, queues *wire.Queues) {
	if queues.Dead == 0 {
		return
	}
	fmt.Fprintf(w, "dead: %s that nobody could read, in the dead letter queue\n\n", count(queues.Dead, "message"))
	fmt.Fprintf(w, "    to do: look at them in the console of SQS, or with `aws sqs receive-message` (the log of functions/deadletter says what is wrong "+
		"with each); if a newer version wrote them, deploy it and move them back to their queue (redrive); if they are not the program's, "+
		"delete them; if they are damaged, delete them and `%s rebuild` brings back what was lost with them\n\n", p.name)
}

// count is a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
