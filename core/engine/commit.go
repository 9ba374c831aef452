package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/port"
)

// record runs one activation, puts it as the next record, and sends what its commands ask for: put, send, delete,
// acknowledge (PROTOCOL.md rule 3). Look: another invocation has put a record in its place, or there is more to do.
func (v *visit) record(ctx context.Context, p *plan) (look bool, err error) {
	l := v.slot.live
	now := later(v.e.Clock.Now(), l.time)
	number := l.position.Record + 1
	before := l.exec.State()
	var done scheduler.Completion
	err = v.e.guard(l.exec, func() (err error) {
		done, err = l.exec.Activate(scheduler.Activation{Record: number, Time: now, Events: p.takes})
		return err
	})
	if err != nil {
		v.slot.drop()
		return false, blockFor(err)
	}
	rec := &history.Record{Number: number, Time: now, Author: v.author, Until: v.until, Again: p.again,
		Resumes: append(p.resumes, v.stepsOfBase(p.takes)...), Events: p.takes, Commands: done.Commands}
	commit := &port.Commit{Run: v.run, Generation: l.position.Generation, Record: rec, Summary: summarize(l, p.takes, &done, before, now)}
	if done.Closes != nil {
		v.closing(commit, done.Closes)
	}
	err = v.replayed(ctx, commit)
	if err == nil {
		err = v.deleteLogs(ctx, p.takes)
	}
	if err == nil {
		err = v.mark(ctx, rec, commit.Generation)
	}
	if err != nil {
		v.slot.drop()
		return false, err
	}
	if lost, err := v.put(ctx, commit, p.items...); lost || err != nil {
		return lost, err
	}
	v.log(ctx, done.Logs)
	if err := v.sendFor(ctx, l.ledger.authors[v.author]); err != nil {
		return false, err
	}
	v.startSteps(stepsOf(l, rec)...)
	return l.ledger.asksWaiting(rec), nil
}

// mark files an item that marks unfinished work, in one process, before a record that is to be put, where nothing in the inbox
// does: a visit that takes up steps after a start of the server has no item in its name; and what the record that ends a
// generation takes may die with the process, though it starts a child that goes on by itself, and nobody looks at a run
// that has ended and has an empty inbox. The item is nobody's news, and this author's once the record names it.
func (v *visit) mark(ctx context.Context, rec *history.Record, generation int) error {
	if !v.e.Together {
		return nil
	}
	leaves := rec.Closes() != nil && slices.ContainsFunc(rec.Commands, outlives)
	if (v.named || names(rec)) && !leaves {
		return nil
	}
	mark := v.e.newItem(&history.TimerFired{Seq: v.e.numberOfNone()}, generation, leaves)
	if _, _, err := v.e.Runs.File(ctx, v.run, mark); err != nil {
		return err
	}
	rec.Again = append(rec.Again, history.Item{Key: mark.Key, Filing: mark.Event.Filing()})
	v.tidy = append(v.tidy, finished{key: mark.Key})
	return nil
}

// deleteLogs deletes those that a start says are to go, before it is recorded; and before them what lies in the inbox and is finished:
// once they are gone, nobody could tell that they took it.
func (v *visit) deleteLogs(ctx context.Context, takes []history.Event) error {
	for _, event := range takes {
		if start, ok := event.(*history.Started); ok && start.Logs != nil && start.Logs.Expired > 0 {
			if err := v.tidyUp(ctx); err != nil {
				return err
			}
			for g := max(2, start.Logs.First-start.Logs.Expired); g < start.Logs.First; g++ { // the first stays: see history.Logs
				if err := v.e.Runs.DeleteLog(ctx, v.run, g); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// names says whether a record names items, which are its author's from then on.
func names(rec *history.Record) bool {
	return len(rec.Again) > 0 || slices.ContainsFunc(rec.Events, func(event history.Event) bool { return event.Filing() != "" })
}

// put puts the record, which takes some items of the inbox, and continues only if it is there.
func (v *visit) put(ctx context.Context, commit *port.Commit, items ...port.Item) (lost bool, err error) {
	commit.Record.Checkpoint = v.slot.live.fold.Checkpoint(v.e.config.CheckpointAfter)
	err = v.e.Runs.Put(ctx, commit)
	if err != nil {
		v.slot.drop() // its code is a record ahead of the log, or nobody knows
		if errors.Is(err, port.ErrTaken) {
			return true, nil
		}
		return false, err
	}
	l := v.slot.live
	v.noteVoid(commit.Generation, commit.Record)
	v.forgetWaiting(commit.Generation, commit.Record)
	l.note(commit.Record)
	v.named = v.named || names(commit.Record)
	if commit.Summary != nil {
		l.summary = commit.Summary
	}
	for _, item := range items {
		v.forgetAsked(item.Event)
		v.tidy = append(v.tidy, takenBy(item, port.Position{Generation: commit.Generation, Record: commit.Record.Number}))
	}
	v.e.watch.changed(v.run)
	return false, nil
}

// noteVoid notes which timers nobody waits for any more with this record: those that it cancels and, if it closes the
// generation, all.
func (v *visit) noteVoid(generation int, rec *history.Record) {
	timers := v.slot.live.ledger.timers
	void := func(seq int64, at time.Time) {
		v.void = append(v.void, port.DueTimer{At: at, Run: v.run, Generation: generation, Seq: seq})
	}
	if rec.Closes() != nil {
		for seq, at := range timers { // order-insensitive: each is forgotten
			void(seq, at)
		}
		return
	}
	for _, command := range rec.Commands {
		if cancel, ok := command.(*history.CancelTimer); ok {
			if at, sent := timers[cancel.Seq()]; sent {
				void(cancel.Seq(), at)
			}
		}
	}
}

// forgetWaiting has the states deleted of steps that were handed over, and that the record ends: it
// abandons them, or closes the generation.
func (v *visit) forgetWaiting(generation int, rec *history.Record) {
	waited := func(seq int64) {
		if step := v.slot.live.ledger.steps[seq]; step != nil && step.tried.Count() > 0 {
			v.forgetStep(generation, seq)
		}
	}
	for _, command := range rec.Commands {
		if cancel, ok := command.(*history.CancelActivity); ok && cancel.Abandoned {
			waited(cancel.Seq())
		}
	}
	if rec.Closes() != nil {
		for _, seq := range slices.Sorted(maps.Keys(v.slot.live.ledger.steps)) {
			waited(seq)
		}
	}
}

// forgetStep has the state of a step deleted.
func (v *visit) forgetStep(generation int, seq int64) {
	v.ended = append(v.ended, port.TaskKey{Run: v.run, Generation: generation, Seq: seq})
}

// handOver says in a record that this author answers for nothing any more: too little time is left for the steps to come
// (rule 5). Whoever receives the resume goes on: at once, or when the first of them is to be tried again.
func (v *visit) handOver(ctx context.Context) error {
	l := v.slot.live
	if l == nil || l.closes != nil || l.position.Generation != v.steps.generation {
		if l != nil { // else the states stay: the steps continue from them
			v.steps.left = nil
		}
		return errors.Join(v.deleteStates(ctx), v.e.Queue.SendResumes(ctx, port.Resume{Run: v.run}))
	}
	now := later(v.e.Clock.Now(), l.time)
	rec := &history.Record{Number: l.position.Record + 1, Time: now, Author: v.author, Until: now}
	for _, key := range slices.Sorted(maps.Keys(l.ledger.items)) {
		if claim := l.ledger.items[key]; claim.author.name == v.author {
			rec.Again = append(rec.Again, history.Item{Key: key, Filing: claim.filing})
		}
	}
	for _, left := range v.steps.left {
		if step := l.ledger.steps[left.Seq]; step == nil || step.author.name != v.author {
			continue
		}
		rec.Resumes = append(rec.Resumes, left.Seq)
		if left.Count() > 0 {
			rec.Tried = append(rec.Tried, left)
		}
	}
	rec.Until = later(now, firstDue(rec)) // until then nobody has anything to do here
	err := v.e.guard(l.exec, func() error {
		_, err := l.exec.Activate(scheduler.Activation{Record: rec.Number, Time: now})
		return err
	})
	if err != nil {
		v.slot.drop()
		return v.blockIf(ctx, blockFor(err))
	}
	lost, err := v.put(ctx, &port.Commit{Run: v.run, Generation: l.position.Generation, Record: rec})
	if err != nil {
		return err
	}
	resume := port.Resume{Run: v.run} // a lost race is the same: somebody has to look
	if !lost {
		resume.Delay = v.delay(rec.Until)
	} else { // the steps may be asked to stop by now, or the run closed
		v.steps.left = nil
	}
	if err := v.deleteStates(ctx); err != nil {
		return err
	}
	return v.e.Queue.SendResumes(ctx, resume)
}

// firstDue is when the first of the steps that a record hands over is to be tried again; the zero time: at once.
func firstDue(rec *history.Record) (due time.Time) {
	if len(rec.Tried) < len(rec.Resumes) { // one was not begun
		return due
	}
	for _, tried := range rec.Tried {
		if due.IsZero() || tried.Next.Before(due) {
			due = tried.Next
		}
	}
	return due
}

// delay of a resume that is to come at a time, or as close to it as a queue can have it: who looks then sends it on.
func (v *visit) delay(until time.Time) time.Duration {
	return delayable(until.Sub(v.e.Clock.Now()))
}

// stepsOfBase are the steps pending where a reset run goes on: the first record of the new generation names them.
func (v *visit) stepsOfBase(takes []history.Event) (steps []int64) {
	if !slices.ContainsFunc(takes, goesOn) {
		return nil
	}
	for _, command := range v.slot.live.exec.PendingCommands() {
		if isStep(command) && v.slot.live.base[command.Seq()].Command != nil {
			steps = append(steps, command.Seq())
		}
	}
	return steps
}

// goesOn says whether an event is the start of a generation that goes on from a record of an earlier one.
func goesOn(event history.Event) bool {
	started, ok := event.(*history.Started)
	return ok && started.Base != nil
}

// stepsOf lists the steps that a record names: its author runs them. The steps of a run that has ended do not run.
func stepsOf(l *live, rec *history.Record) (steps []int64) {
	if l.closes != nil {
		return nil
	}
	steps = append(steps, rec.Resumes...)
	for _, command := range rec.Commands {
		if step, ok := command.(*history.ScheduleActivity); ok && step.Inline {
			steps = append(steps, step.Seq())
		}
	}
	return slices.DeleteFunc(steps, func(seq int64) bool {
		_, pending := l.exec.Pending(seq)
		return !pending
	})
}

func isStep(command history.Command) bool { // nil is none
	step, ok := command.(*history.ScheduleActivity)
	return ok && step.Inline
}

// summarize gives the run's new summary, or nil if the activation changed nothing that it shows. What the code has published
// comes from the code: the summary was read before the log, and the log may have gone on since. A reset takes back what was
// published after the record that the run goes on from.
func summarize(l *live, takes []history.Event, done *scheduler.Completion, before history.Payload, now time.Time) *port.Summary {
	reset := slices.ContainsFunc(takes, goesOn)
	changed := reset || done.Closes != nil || l.definition != l.summary.Definition || done.StateSet && !done.State.Equal(before)
	for _, command := range done.Commands {
		if _, ok := command.(*history.UpsertAttributes); ok {
			changed = true
		}
	}
	if !changed {
		return nil
	}
	summary := *l.summary
	summary.Definition = l.definition
	if summary.Attributes = nil; len(l.exec.Attributes()) > 0 {
		summary.Attributes = maps.Clone(l.exec.Attributes())
	}
	if l.exec.Published() || reset {
		summary.State = l.exec.State()
	}
	if done.Closes != nil {
		summary.End(done.Closes, now)
	}
	return &summary
}

// closing adds the start of the next generation to a commit that begins one (rule 6): with the signals that the code has
// not taken, and what there is to know of the mail that was.
func (v *visit) closing(commit *port.Commit, command history.Terminal) {
	next, ok := command.(*history.ContinueAsNew)
	if !ok {
		return
	}
	l := v.slot.live
	started := history.NewStarted(commit.Generation+1, next.Workflow, next.Input, v.e.seed())
	started.Parent, started.Attributes = l.exec.Started().Parent, commit.Summary.Attributes
	started.Signals = l.exec.Unread()
	if started.Definition = max(0, next.Definition); next.Definition == 0 { // it keeps its version
		started.Definition = l.definition
	}
	commit.Summary.Definition = started.Definition
	l.ledger.handOn(started, commit.Record, v.e.config)
	item := v.e.newItem(started, started.Generation, true)
	commit.Next = &item
}

func (v *visit) log(ctx context.Context, lines []scheduler.LogLine) {
	for _, line := range lines {
		level := slog.LevelInfo
		if line.Failed {
			level = slog.LevelError
		}
		v.e.config.Logger.Log(ctx, level, line.Message, append([]any{"run", v.run, "unit", line.Unit}, line.Args...)...)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
