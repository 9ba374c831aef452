package scheduler_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// show gives an activation's completion, one thing a line: log lines, commands, state. Log lines come first: they say in
// what order the code ran.
func show(c scheduler.Completion) string {
	out := &bytes.Buffer{}
	for _, line := range c.Logs {
		level := "log"
		if line.Failed {
			level = "log error"
		}
		fmt.Fprintf(out, "%s %s: %s", level, unit(line.Unit), line.Message)
		for i := 0; i+1 < len(line.Args); i += 2 {
			fmt.Fprintf(out, " %v=%v", line.Args[i], line.Args[i+1])
		}
		out.WriteByte('\n')
	}
	for _, command := range c.Commands {
		fmt.Fprintln(out, showCommand(command))
	}
	if c.StateSet {
		fmt.Fprintf(out, "state %s\n", c.State)
	}
	if c.Closes != nil {
		fmt.Fprintf(out, "closes %s\n", c.Closes.Status())
	}
	return out.String()
}

// showCommand gives a command in one line: unit, kind, number, and what is not as it is by default.
func showCommand(command history.Command) string {
	text := unit(command.Unit()) + " " + command.Kind()
	if sequenced, ok := command.(history.Sequenced); ok {
		text += fmt.Sprintf(" seq=%d", sequenced.Seq())
	}
	for _, field := range command.Fields() {
		switch field.Value {
		case "", "0s", "false":
		default:
			text += " " + field.Name + "=" + field.Value
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD") // transcripts are text
}

func unit(path string) string {
	if path == "" {
		return "root"
	}
	return path
}

// status gives everything of a run that a replay must restore.
func status(run *scheduler.Run) string {
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "rounds %d, size %d, draws %x next\n", run.Rounds(), run.Size(), run.Draw())
	fmt.Fprintf(out, "state %s\n", run.State())
	for _, name := range run.Attributes().Sorted() {
		fmt.Fprintf(out, "attribute %s %s\n", name, run.Attributes()[name])
	}
	for _, command := range run.PendingCommands() {
		fmt.Fprintf(out, "pending %s\n", showCommand(command))
	}
	for _, signal := range run.Unread() {
		fmt.Fprintf(out, "unread %s %s %s\n", signal.ID, signal.Name, signal.Input)
	}
	indent(out, "paused ", run.Paused())
	return out.String()
}
