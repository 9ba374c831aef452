package engine

import (
	"context"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
)

// Performer performs activities that the program does not have: elsewhere, as a rule. Its context is
// an activity's: see activity.InfoOf. An error fails the attempt.
type Performer func(ctx context.Context, work Work) (history.Payload, error)

// Work is one attempt of an activity, as a [Performer] gets it.
type Work struct {
	// Name is that of the activity, without the prefix that chose the performer.
	Name  string
	Input history.Payload
	// Timeout is what the caller allows the attempt (StartToClose). Zero: it did not say.
	Timeout time.Duration
}

// Task is the prefix of activities that scripts call: task:NAME is the program's own activity NAME, or
// else the performer's of this prefix.
const Task = "task"

// performed is the function of an activity that a performer has; nil: none has it.
func (e *Engine) performed(command *history.ScheduleActivity) registry.Activity {
	prefix, name, _ := strings.Cut(command.Activity, ":")
	if own, ok := e.registry.FindActivity(name); ok && prefix == Task {
		return own
	}
	perform := e.config.Performers[prefix]
	if perform == nil || name == "" {
		return nil
	}
	return func(ctx context.Context, input history.Payload) (history.Payload, error) {
		return perform(ctx, Work{Name: name, Input: input, Timeout: command.Options.StartToClose})
	}
}
