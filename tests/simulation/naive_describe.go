package simulation

import (
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// describe gives a recorded command in the words of naive.
func describe(command history.Command) string {
	switch c := command.(type) {
	case *history.ScheduleActivity:
		text := fmt.Sprintf("schedule-activity %d %s %t %s %s", c.Seq(), c.ID, c.Inline,
			c.Options.ScheduleToClose, c.Options.ScheduleToStart)
		if isServed(c.Activity) {
			text += " " + c.Activity + " " + canonical(c.Input)
		}
		return text
	case *history.StartTimer:
		return fmt.Sprintf("start-timer %d %s", c.Seq(), c.Duration)
	case *history.StartChild:
		own := c.Run[strings.LastIndexByte(c.Run, '.')+1:]
		return fmt.Sprintf("start-child %d %s %q %s %s", c.Seq(), c.Workflow, own,
			c.ParentClosePolicy, canonical(c.Input))
	case *history.CancelActivity:
		return fmt.Sprintf("cancel-activity %d %t", c.Seq(), c.Abandoned)
	case *history.CancelTimer:
		return fmt.Sprintf("cancel-timer %d", c.Seq())
	case *history.CancelChild:
		return fmt.Sprintf("cancel-child %d", c.Seq())
	case *history.RespondUpdate:
		var err error
		if c.Failure != nil {
			err = c.Failure
		}
		return fmt.Sprintf("respond-update %s %s %s %d %s", c.Name, c.ID, c.Phase, number(c.Result), kindOf(err))
	case *history.UpsertAttributes:
		return fmt.Sprintf("upsert-attributes %s", c.Attributes["k"])
	case *history.MarkPatch:
		return "mark-patch " + c.ID
	case *history.CompleteRun:
		return "complete " + canonical(c.Result)
	case *history.FailRun:
		return "fail " + kindOf(c.Failure)
	case *history.ContinueAsNew:
		return fmt.Sprintf("continue-as-new %d", number(c.Input))
	}
	return command.Kind()
}
