package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/port"
)

// block marks a run that cannot advance (rule 7): everything stays in its inbox, and it goes on when the mark is taken off.
func (e *Engine) block(ctx context.Context, run, reason, message string) error {
	e.warn(ctx, "run blocked", "run", run, "reason", reason, "message", message)
	defer e.watch.changed(run)
	err := e.Runs.Block(ctx, run, &port.Block{ID: e.newFiling(), Since: e.Clock.Now().UTC(),
		Reason: reason, Message: message, Version: e.config.Version})
	if errors.Is(err, port.ErrNoRun) {
		return nil
	}
	return err
}

// blockUnreadable marks a run of which something stored cannot be read.
func (e *Engine) blockUnreadable(ctx context.Context, run string, err error) error {
	return e.block(ctx, run, port.ReasonUnreadable, blockFor(err).Error())
}

// Unblock has a blocked run tried again: one message, whose handler takes the mark off, then looks.
func (e *Engine) Unblock(ctx context.Context, run string) error {
	summary, err := e.Get(ctx, run)
	if err != nil {
		return err
	}
	return e.unavailable(e.Queue.SendResumes(ctx, unblocks(summary)), "the run was not unblocked")
}

// unblocks is the message that takes off a run's mark, if it has one. It names the mark: another one may be made because this very
// message passes for undeliverable, and a slow handler of it must not take that off and die.
func unblocks(summary *port.Summary) port.Resume {
	message := port.Resume{Run: summary.Run}
	if summary.Blocked != nil {
		message.Unblocks = summary.Blocked.ID
	}
	return message
}

// UnblockOlder has all runs tried again that were blocked under another version than a deployment's:
// functions/timer, each minute. It returns how many are blocked, and how many of them are tried.
//
// If the version is learned, it also resumes one run that stays blocked, which does nothing to that run:
// functions/activate may be new, and idle, and notes its version when it begins.
//
// A run that was blocked for the lack of a definition is tried again, too, once the catalog has
// that: its publisher may have listed blocked runs from an index that did not show this one yet.
func (e *Engine) UnblockOlder(
	ctx context.Context, deployed port.Deployment,
) (blocked, tried int, err error) {
	asked := !deployed.Learned
	published := map[pin]bool{}
	all := port.ListQuery{Blocked: true, Limit: ShortestPage}
	err = e.eachPage(ctx, all, func(page []*port.Summary) (err error) {
		blocked += len(page)
		var resumes, asks []port.Resume
		for _, run := range page {
			again := deployed.Retries(run.Blocked)
			if !again {
				if again, err = e.isPublished(ctx, run, published); err != nil {
					return err
				}
			}
			if again {
				resumes = append(resumes, unblocks(run))
			} else if !asked {
				asked, asks = true, append(asks, port.Resume{Run: run.Run})
			}
		}
		if len(resumes)+len(asks) > 0 {
			if err := e.Queue.SendResumes(ctx, append(asks, resumes...)...); err != nil {
				return err
			}
		}
		tried += len(resumes)
		return nil
	})
	return blocked, tried, err
}

// isTaken sorts a lost race from other errors.
func isTaken(err error) (lost bool, other error) {
	if errors.Is(err, port.ErrTaken) {
		return true, nil
	}
	return false, err
}
