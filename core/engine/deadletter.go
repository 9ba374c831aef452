package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// DeadResume takes a resume that was received too often: what it carries is filed, and the run is blocked if anything waits
// in its inbox, open or closed (rule 7).
func (e *Engine) DeadResume(ctx context.Context, message port.Resume) error {
	if message.Carries != nil {
		if err := e.fileCarried(ctx, message); err != nil {
			return err
		}
	}
	view, err := e.Runs.Look(ctx, message.Run, port.Position{})
	if errors.Is(err, port.ErrNoRun) || err == nil && len(view.Inbox) == 0 && !stillNames(message, view) {
		return nil
	}
	if errors.Is(err, history.ErrUnreadable) {
		return e.blockUnreadable(ctx, message.Run, err)
	}
	if err != nil {
		return err
	}
	return e.block(ctx, message.Run, port.ReasonUndeliverable, "a resume of this run was received too often without success: see the logs of "+
		"functions/activate for the cause; then unblock the run")
}

// stillNames says whether a message was to take off the mark that the run has. Its handler may live, and do so yet: then nobody would
// come for what arrives until then. So another mark takes its place.
func stillNames(message port.Resume, view *port.View) bool {
	return message.Unblocks != "" && view.Summary.Blocked != nil && view.Summary.Blocked.ID == message.Unblocks
}

// DeadTask takes a task that was received too often: the activity has failed (rule 9).
func (e *Engine) DeadTask(ctx context.Context, t port.Task) error {
	failure := &history.Failure{FailureKind: history.Undelivered, Type: "undelivered", NonRetryable: true,
		Message: fmt.Sprintf("activity %s was begun too often without an answer: its function crashes, or runs out of time or memory", t.Command.Activity)}
	return e.resolve(ctx, t, &history.ActivityResolved{Failure: failure, Number: t.Attempt, Attempts: t.Failed}, tracked(t))
}
