package program

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
)

func (p *program) get() *cobra.Command {
	value := ""
	command := &cobra.Command{
		Use:   "get RUN",
		Short: "Show one run: its status, result, state, what it is doing",
		Long: "Show one run: its status, result, state, what it is doing. Of a flow's run, it " +
			"shows the newest " + strconv.Itoa(mostNodes) + " runs of its nodes. " +
			"Of a value that is long, it shows the beginning and the size; " +
			"--value writes one value, whole, to the standard output, exactly as it is: as JSON, secrets included.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeRuns(port.ListQuery{}),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			if value != "" {
				return p.writeValue(command.Context(), server, args[0], value)
			}
			shown, err := look(command.Context(), server, args[0])
			if err != nil {
				return err
			}
			shown.Unread = unread(command.Context(), server, shown.Summary)
			if shown.nodeRuns, err = lookNodes(command.Context(), server, shown.Summary,
				mostNodes); err != nil {
				return err
			}
			p.show(shown, func(w io.Writer) { p.writeRun(w, shown) })
			return nil
		}),
	}
	command.Flags().StringVar(&value, "value", "",
		"write one value, whole: "+strings.Join(port.Values(), ", "))
	complete(command, "value", port.Values()...)
	return command
}

// writeValue streams a value, and ends its line.
func (p *program) writeValue(ctx context.Context, server *client.Client, run, name string) error {
	if err := server.Value(ctx, run, name, p.out); err != nil {
		return err
	}
	_, err := io.WriteString(p.out, "\n")
	return err
}

// looked is the document of get.
type looked struct {
	*wire.Summary
	// Activities under way that heartbeat, run long, have failed before or are completed from outside.
	Activities []*wire.ActivityState `json:"activities,omitempty"`
	// Unread are the signals that the run's code has not taken.
	Unread []wire.UnreadSignal `json:"unreadSignals,omitempty"`
	*nodeRuns
}

// longestReplay is for how long get waits for a run's code to say which signals it has not taken.
const longestReplay = 3 * time.Second

// unread asks an open run which signals it has not taken. A run that cannot say so in time shows none.
func unread(ctx context.Context, server *client.Client, run *wire.Summary) []wire.UnreadSignal {
	if run.Status.Closed() || run.Blocked != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, longestReplay)
	defer stop()
	signals, _ := server.UnreadSignals(ctx, run.Run)
	return signals
}

func look(ctx context.Context, server *client.Client, run string) (looked, error) {
	summary, err := server.Get(ctx, run)
	if err != nil || summary.Status.Closed() {
		return looked{Summary: summary}, err
	}
	activities, err := server.Activities(ctx, run)
	return looked{Summary: summary, Activities: activities}, err
}

func (p *program) writeRun(w io.Writer, run looked) {
	line := func(name, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(w, "%-11s%s\n", name, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 11)))
	}
	line("run", "%s", run.Run)
	workflow := workflowOf(run.Summary)
	if run.Generation > 1 {
		workflow += fmt.Sprintf(" (generation %d)", run.Generation)
	}
	line("workflow", "%s", workflow)
	line("status", "%s", run.Status)
	if run.Blocked != nil {
		line("blocked", "%s, for %s\n%s", run.Blocked.Reason, p.ago(run.Blocked.Since), run.Blocked.Message)
	}
	line("started", "%s, %s ago", clock(run.Started), p.ago(run.Started))
	if run.Status.Closed() {
		line("ended", "%s, after %s", clock(run.Closed), span(run.Closed.Sub(run.Started)))
	}
	if run.Parent != nil {
		line("parent", "%s (generation %d, seq %d)", run.Parent.Run, run.Parent.Generation, run.Parent.Seq)
	}
	if len(run.Attributes) > 0 {
		line("attributes", "%s", describeAttributes(run.Attributes))
	}
	for _, payload := range []struct {
		name  string
		value history.Payload
	}{{"input", run.Input}, {"state", run.State}, {"result", run.Result}} {
		if payload.value != nil {
			line(payload.name, "%s", pretty(payload.value))
		}
	}
	if run.Failure != nil {
		line("failure", "%s", describeFailure(run.Failure))
	}
	for _, name := range port.Values() {
		if large, out := run.Large[name]; out {
			line(name, "%s", p.describeLarge(run.Run, name, large))
		}
	}
	for i, activity := range run.Activities {
		name := ""
		if i == 0 {
			name = "under way"
		}
		line(name, "%s", p.describeTask(activity))
	}
	for i, signal := range run.Unread {
		name, text := "", "signal "+signal.Name+" (id "+signal.ID+")"
		if i == 0 {
			name = "not taken"
		}
		if signal.Unknown {
			text += ": the code has not asked for one of this name so far"
		}
		line(name, "%s", text)
	}
	if run.nodeRuns != nil {
		run.write(w)
	}
}

// describeLarge shows how a value begins that is too long to be shown, and says how to read it.
func (p *program) describeLarge(run, name string, large wire.Large) string {
	size := "it is long"
	if large.Bytes > 0 {
		size = fmt.Sprintf("%d bytes", large.Bytes)
	}
	return strings.TrimSpace(large.Preview+"\n") + fmt.Sprintf("\n(%s; `%s get %s --value %s` writes all of it)", size, p.name, run, name)
}

func describeAttributes(attributes history.Attributes) string {
	var parts []string
	for _, name := range attributes.Sorted() {
		parts = append(parts, name+"="+brief(attributes[name]))
	}
	return strings.Join(parts, " ")
}

// describeTask says how an activity under way is doing.
func (p *program) describeTask(state *wire.ActivityState) string {
	text := fmt.Sprintf("%s (seq %d), %s", calledAs(state), state.Seq, attempt(state, p.now()))
	if state.Pending {
		text += ", to be completed by its token"
	}
	if !state.Started.IsZero() {
		text += ", for " + p.ago(state.Started)
	}
	if !state.Beat.IsZero() {
		text += ", heartbeat " + p.ago(state.Beat) + " ago"
		if state.Details != nil {
			text += " " + brief(state.Details)
		} else if large, out := state.Large[port.ValueDetails]; out {
			text += " " + large.Preview
		}
	}
	if state.Cancelled {
		text += ", asked to stop"
	}
	if state.Failure != "" {
		text += "\n  the attempt before failed: " + shorten(state.Failure, 2*widest)
	}
	return text
}

// calledAs names the call that a state is of.
func calledAs(state *wire.ActivityState) string {
	if state.Step {
		return "step " + state.Activity
	}
	return state.Activity
}

// attempt says which attempt is running, or when the next one begins.
func attempt(state *wire.ActivityState, now time.Time) string {
	text := fmt.Sprintf("attempt %d", max(state.Attempt, 1))
	switch {
	case !state.Started.IsZero() || state.Attempt <= 1:
	case state.Next.IsZero(): // of an older version
		text += " follows"
	case state.Next.After(now):
		text += " begins in " + after(now, state.Next)
	case state.Step: // it begins at its time, and nothing is stored then
		text += ", for " + after(state.Next, now)
	default:
		text += ", due for " + after(state.Next, now)
	}
	return text
}

// describeFailure shows a failure with its causes, each further in, and a panic with its stack. One that only repeats its
// cause's text shares its line.
func describeFailure(failure *history.Failure) string {
	var lines []string
	for in := ""; failure != nil; failure, in = failure.Cause, in+"  " {
		text := failure.Error()
		for failure.Cause != nil && failure.Details == nil && failure.Stack == "" && strings.HasSuffix(text, failure.Cause.Error()) {
			failure = failure.Cause
		}
		if label := kindOf(failure); label != "" {
			text += " (" + label + ")"
		}
		lines = append(lines, indent(in, text))
		if failure.Details != nil {
			lines = append(lines, indent(in+"  ", "details "+brief(failure.Details)))
		}
		if failure.Stack != "" {
			lines = append(lines, indent(in+"  ", failure.Stack))
		}
	}
	return strings.Join(lines, "\n")
}

// kindOf names what a retry policy would know the failure by, where its text does not.
func kindOf(failure *history.Failure) string {
	switch failure.FailureKind {
	case history.Application:
		if strings.HasPrefix(failure.Type, "*") { // the Go type of an error that has no name of its own
			return ""
		}
		return failure.Type
	case history.ActivityKind, history.ChildKind, history.Panic, history.Timeout, history.Cancel, history.Termination:
		return ""
	}
	return string(failure.FailureKind)
}

// after is how long there was between two times.
func after(from, to time.Time) string { return span(max(to.Sub(from), 0)) }
