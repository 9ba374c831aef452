package engine

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// block marks a run that cannot advance (rule 7): everything stays in its inbox, and it goes on when the mark is taken off.
func (e *Engine) block(ctx context.Context, run, reason, message string) error {
	e.warn(ctx, "run blocked", "run", run, "reason", reason, "message", message)
	defer e.watch.changed(run)
	err := e.Runs.Block(ctx, run, &Block{ID: e.newFiling(), Since: e.Clock.Now().UTC(), Reason: reason, Message: message, Version: e.config.Version})
	if errors.Is(err, ErrNoRun) {
		return nil
	}
	return err
}

// blockUnreadable marks a run of which something stored cannot be read.
func (e *Engine) blockUnreadable(ctx context.Context, run string, err error) error {
	return e.block(ctx, run, ReasonUnreadable, blockFor(err).Error())
}

// Shown gives, of what a store has read of a summary, what people are shown. If it cannot be read, that is what else the store knows: the
// run is blocked, as it will be once somebody looks at it. Any other error stays one.
func Shown(known *Summary, err error) (*Summary, error) {
	if known == nil || !errors.Is(err, history.ErrUnreadable) {
		return known, err
	}
	if known.Blocked == nil {
		known.Blocked = &Block{Reason: ReasonUnreadable, Message: blockFor(err).Error()}
	}
	return known, nil
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
func unblocks(summary *Summary) Resume {
	message := Resume{Run: summary.Run}
	if summary.Blocked != nil {
		message.Unblocks = summary.Blocked.ID
	}
	return message
}

// Deployment is the code that blocked runs are tried again with.
type Deployment struct {
	// Version is its name; "" if none is known: then no run is tried again.
	Version string
	// Learned: functions/activate noted Version when it began, since no build and no parameter names it.
	// Other functions that block runs do not know it.
	Learned bool
	// Since is when functions/activate first noted it.
	Since time.Time
}

// overlap is how long functions of an older deployment may block runs after a newer one has begun: an
// invocation's longest time.
const overlap = 15 * time.Minute

// retries says whether to try a run again that is blocked.
func (d Deployment) retries(block *Block) bool {
	if d.Version == "" || block.Version == d.Version {
		return false
	}
	return !d.Learned || block.Since.Before(d.Since.Add(overlap))
}

// UnblockOlder has all runs tried again that were blocked under another version than a deployment's:
// functions/timer, each minute. It returns how many are blocked, and how many of them are tried.
//
// If the version is learned, it also resumes one run that stays blocked, which does nothing to that run:
// functions/activate may be new, and idle, and notes its version when it begins.
func (e *Engine) UnblockOlder(ctx context.Context, deployed Deployment) (blocked, tried int, err error) {
	asked := !deployed.Learned
	cursor := ""
	for {
		page, next, err := e.Directory.List(ctx, ListQuery{Blocked: true, Limit: ShortestPage, Cursor: cursor})
		if err != nil {
			return blocked, tried, err
		}
		blocked += len(page)
		var resumes, asks []Resume
		for _, run := range page {
			if deployed.retries(run.Blocked) {
				resumes = append(resumes, unblocks(run))
			} else if !asked {
				asked, asks = true, append(asks, Resume{Run: run.Run})
			}
		}
		if len(resumes)+len(asks) > 0 {
			if err := e.Queue.SendResumes(ctx, append(asks, resumes...)...); err != nil {
				return blocked, tried, err
			}
		}
		if tried += len(resumes); next == "" {
			return blocked, tried, nil
		}
		cursor = next
	}
}

// isTaken sorts a lost race from other errors.
func isTaken(err error) (lost bool, other error) {
	if errors.Is(err, ErrTaken) {
		return true, nil
	}
	return false, err
}
