package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/port"
)

const (
	// lateAfter is how late a run's work may be before an inspection reports it. It is longer than
	// an invocation of functions/activate lives by default.
	lateAfter = 5 * time.Minute
	// failingAfter is for how long an activity may fail before an inspection reports it.
	failingAfter = 10 * time.Minute
)

// Finding is something about one run that it may not recover from by itself.
type Finding struct {
	Run, Workflow string
	Generation    int
	// Kind is a stable code: see the Finding constants.
	Kind string
	// Name is that of the activity, the step, the child or the event; empty for a timer. Seq is the
	// number of the run's command, if one is concerned.
	Name string
	Seq  int64
	// Since is when it was due, or when it began to fail.
	Since time.Time
	// Attempt and Failure are what is known of an activity or a step: the number of the attempt,
	// and what the one before it failed with.
	Attempt int
	Failure string
}

// Kinds of findings.
const (
	FindingUnread       = "unread-inbox"          // an item of the inbox that no invocation takes
	FindingActivity     = "lost-activity"         // an attempt was due, and has neither begun nor answered
	FindingAttempt      = "lost-attempt"          // an attempt began, and is past its timeout without an answer
	FindingStep         = "lost-step"             // a step that no living invocation runs
	FindingTimer        = "lost-timer"            // a timer that was due, and has not fired
	FindingChild        = "lost-child"            // a child that was not started, or whose end was not told
	FindingUnregistered = "unregistered-activity" // no function/task knows the activity
	FindingFailing      = "failing-activity"      // an activity or a step that fails for a long time
	FindingUnreadable   = "unreadable-run"        // something stored of the run cannot be read
	// FindingSignal is a hint: a signal that the run's code has not taken for a long time.
	FindingSignal = "unread-signal"
)

// Inspected is a part of an inspection.
type Inspected struct {
	Findings []Finding
	// Checked counts the runs that were read.
	Checked int
	// Next is the cursor of the following part; "" at the end.
	Next string
}

// Inspect reads the runs that are not finished, page by page, and reports what they do not recover
// from by themselves. It changes nothing. Cursor and deadline are as for [Engine.RebuildPage].
// Blocked runs are [Engine.Diagnose]'s.
func (e *Engine) Inspect(ctx context.Context, cursor string) (part Inspected, err error) {
	overdue, err := e.overdue(ctx)
	if err != nil {
		return part, err
	}
	fired := map[port.DueTimer]bool{} // these are reported as overdue
	for _, timer := range overdue {
		timer.At = time.Time{}
		fired[timer] = true
	}
	var mu sync.Mutex
	part.Next, err = e.sweep(ctx, cursor, e.size, func(ctx context.Context, run string) error {
		found, err := e.inspectRun(ctx, run, fired)
		if err != nil {
			return e.unavailable(err, fmt.Sprintf("run %q was not inspected", run))
		}
		mu.Lock()
		defer mu.Unlock()
		part.Checked++
		part.Findings = append(part.Findings, found...)
		return nil
	})
	return part, err
}

// inspection is that of one run.
type inspection struct {
	e       *Engine
	view    *port.View
	now     time.Time
	fold    *machine.Fold
	ledger  *ledger
	states  map[int64]*port.TaskState
	signals map[string]time.Time // that the log took, by id: when
	overdue map[port.DueTimer]bool
	found   []Finding
}

func (e *Engine) inspectRun(
	ctx context.Context, run string, overdue map[port.DueTimer]bool,
) ([]Finding, error) {
	view, err := e.Runs.Look(ctx, run, port.Newest)
	switch {
	case errors.Is(err, port.ErrNoRun):
		return nil, nil
	case errors.Is(err, history.ErrUnreadable):
		return []Finding{{Run: run, Kind: FindingUnreadable, Failure: err.Error()}}, nil
	case err != nil || view.Summary.Blocked != nil:
		return nil, err
	}
	i := &inspection{e: e, view: view, now: e.Clock.Now(), overdue: overdue}
	err = i.read(ctx)
	if errors.Is(err, history.ErrUnreadable) {
		i.report(Finding{Kind: FindingUnreadable, Failure: err.Error()})
		return i.found, nil
	} else if err != nil {
		return nil, err
	}
	i.inbox()
	if !view.Summary.Status.Closed() {
		err = errors.Join(i.pending(ctx), i.unread(ctx))
	}
	return i.found, err
}

// unread reports the oldest signal of each name that the run's code has not taken for a long time.
// Only a run whose log has old signals is asked: that replays it.
func (i *inspection) unread(ctx context.Context) error {
	old := false
	for _, at := range i.signals { // order-insensitive: any of them
		old = old || i.late(at)
	}
	if !old {
		return nil
	}
	signals, err := i.e.UnreadSignals(ctx, i.view.Summary.Run)
	// its code cannot tell: it is about to be blocked
	if code := port.CodeOf(err); err != nil && code != port.Unavailable {
		return nil
	}
	seen := map[string]bool{}
	for _, signal := range signals {
		if at := i.signals[signal.ID]; !at.IsZero() && i.late(at) && !seen[signal.Name] {
			seen[signal.Name] = true
			i.report(Finding{Kind: FindingSignal, Name: signal.Name, Since: at})
		}
	}
	return err
}

// read reads what the log says of who answers for what, and what is known of the run's activities.
func (i *inspection) read(ctx context.Context) (err error) {
	summary := i.view.Summary
	if i.fold, err = i.e.foldView(ctx, summary.Run, i.view); err != nil {
		return err
	}
	i.ledger, i.signals = &ledger{}, map[string]time.Time{}
	err = i.e.eachRecord(ctx, summary.Run, summary.Generation, func(rec *history.Record) {
		i.ledger.add(summary.Generation, rec)
		for _, event := range rec.Events {
			if signal, ok := event.(*history.SignalReceived); ok {
				i.signals[signal.ID] = rec.Time
			}
		}
	})
	if err != nil {
		return err
	}
	states, err := i.e.Tasks.TasksOf(ctx, summary.Run)
	i.states = map[int64]*port.TaskState{}
	for _, state := range states {
		if state.Generation == summary.Generation {
			i.states[state.Seq] = state
		}
	}
	return err
}

func (i *inspection) report(f Finding) {
	summary := i.view.Summary
	f.Run, f.Workflow, f.Generation = summary.Run, summary.Workflow, summary.Generation
	i.found = append(i.found, f)
}

// late says whether something that was due is late enough to be reported.
func (i *inspection) late(due time.Time) bool { return i.now.Sub(due) > lateAfter }

// inbox reports the oldest item that no invocation takes, or whose taker died.
func (i *inspection) inbox() {
	var oldest Finding
	for _, item := range i.view.Inbox {
		since := time.Unix(0, item.Stamp).UTC()
		if fired, ok := item.Event.(*history.TimerFired); ok { // its stamp is that of its message, which waited
			since = later(since, i.ledger.timers[fired.Seq])
		}
		if claim, named := i.ledger.items[item.Name()]; named {
			if !i.dead(claim.author) {
				continue
			}
			since = later(since, later(claim.author.time, claim.author.until))
		}
		if i.late(since) && (oldest.Kind == "" || since.Before(oldest.Since)) {
			oldest = Finding{Kind: FindingUnread, Name: item.Event.Kind(), Since: since}
		}
	}
	if oldest.Kind != "" {
		i.report(oldest)
	}
}

func (i *inspection) dead(a *author) bool { return i.e.Authors.Dead(a.name, a.until, i.now) }

// pending reports what the run waits for in vain.
func (i *inspection) pending(ctx context.Context) error {
	answered := answers(i.view)
	for _, p := range i.fold.Pending() {
		seq := p.Command.Seq()
		if answered[seq] {
			continue
		}
		switch command := p.Command.(type) {
		case *history.ScheduleActivity:
			i.failing(command, p.Time)
			if command.Inline {
				i.step(command)
			} else {
				i.activity(command, p.Time)
			}
		case *history.StartTimer:
			due := p.Time.Add(command.Duration)
			timer := port.DueTimer{Run: i.view.Summary.Run, Generation: i.view.Summary.Generation,
				Seq: seq}
			if i.late(due) && !i.overdue[timer] {
				i.report(Finding{Kind: FindingTimer, Seq: seq, Since: due})
			}
		case *history.StartChild:
			if err := i.child(ctx, command, p.Time); err != nil {
				return err
			}
		}
	}
	return nil
}

// failing reports an activity or a step that keeps failing.
func (i *inspection) failing(command *history.ScheduleActivity, scheduled time.Time) {
	state := i.states[command.Seq()]
	if state == nil || state.Failure == "" {
		return
	}
	f := Finding{Kind: FindingFailing, Seq: command.Seq(), Name: command.Activity, Since: scheduled,
		Attempt: state.Attempt, Failure: state.Failure}
	if n := len(state.Failed); n > 0 && state.Failed[n-1].Failure.FailureKind == history.Unregistered {
		f.Kind = FindingUnregistered
	} else if i.now.Sub(scheduled) < failingAfter {
		return
	}
	i.report(f)
}

// step reports a step whose author died, where no other invocation took it over.
func (i *inspection) step(command *history.ScheduleActivity) {
	open := i.ledger.steps[command.Seq()]
	if open == nil || !i.dead(open.author) { // nil: of a base, and its start is still in the inbox
		return
	}
	due := later(later(open.author.time, open.author.until), open.tried.Next)
	if i.late(due) {
		i.report(Finding{Kind: FindingStep, Seq: command.Seq(), Name: command.Activity, Since: due})
	}
}

// activity reports a queued activity whose task was lost, or whose function died.
func (i *inspection) activity(command *history.ScheduleActivity, scheduled time.Time) {
	state := i.states[command.Seq()]
	f := Finding{Kind: FindingActivity, Seq: command.Seq(), Name: command.Activity}
	limit := command.Options.StartToClose
	if limit == 0 {
		limit = port.StartToClose
	}
	switch {
	case state == nil: // its first attempt waits for a worker, or runs: not every attempt has a state
		f.Since, f.Attempt = scheduled.Add(max(limit, 0)), 1
	case state.Started.IsZero():
		f.Since, f.Attempt, f.Failure = later(scheduled, state.Next), max(state.Attempt, 1), state.Failure
	default:
		f.Kind, f.Attempt, f.Failure = FindingAttempt, state.Attempt, state.Failure
		if f.Since = i.ends(command, state, limit); f.Since.IsZero() {
			return
		}
	}
	if i.late(f.Since) {
		i.report(f)
	}
}

// ends is when an attempt that has begun is over at the latest; zero: it has no limit.
func (i *inspection) ends(
	command *history.ScheduleActivity, state *port.TaskState, limit time.Duration,
) (end time.Time) {
	if state.Pending && command.Options.StartToClose <= 0 { // see try.patience
		limit = longestPending
	}
	if limit > 0 {
		end = state.Started.Add(limit)
	}
	if beat := command.Options.Heartbeat; beat > 0 {
		if missed := later(state.Started, state.Beat).Add(beat); end.IsZero() || missed.Before(end) {
			end = missed
		}
	}
	return end
}

// child reports a child that was not started, or that has ended without a word to its parent.
func (i *inspection) child(ctx context.Context, command *history.StartChild, scheduled time.Time) error {
	if !i.late(scheduled) {
		return nil
	}
	summary := i.view.Summary
	parent := &history.Parent{Run: summary.Run, Generation: summary.Generation, Seq: command.Seq()}
	f := Finding{Kind: FindingChild, Seq: command.Seq(), Name: childID(command, parent), Since: scheduled}
	child, err := port.Shown(i.e.Runs.Summary(ctx, f.Name))
	switch {
	case errors.Is(err, port.ErrNoRun):
		i.report(f)
	case err != nil:
		return err
	case child.Status.Closed() && child.Parent != nil && *child.Parent == *parent && i.late(child.Closed):
		f.Since = child.Closed
		i.report(f)
	}
	return nil
}
