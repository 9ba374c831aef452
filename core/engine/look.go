package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/executor"
	"github.com/reprise-run/reprise/core/internal/machine"
)

// live is a run in memory: its code, paused, and what its log says of who answers for what. It is at a position of the log.
type live struct {
	exec     *executor.Run // nil: it has retired
	ledger   *ledger
	summary  *Summary
	position Position
	time     time.Time        // of the last record
	closes   history.Terminal // the command that closed the generation, if it is closed
	// base is what was pending in the record that a reset had the run go on from, by number.
	base map[int64]history.Pending
	// fold has the pending commands, for checkpoints.
	fold *machine.Fold
	// events and commands of the log, and the bytes of the values in them: see [live.weight].
	events, bytes int
}

func (l *live) close() {
	if l.exec != nil {
		l.exec.Close()
	}
}

// retire keeps of a run that has ended only where its log ends: most of those who look at it once more find nothing new.
func (l *live) retire() {
	l.close()
	l.exec, l.ledger, l.base, l.fold, l.summary = nil, nil, nil, nil, nil
}

// known is the position to look from; the zero one without a live run.
func (l *live) known() Position {
	if l == nil {
		return Position{}
	}
	return l.position
}

// blockedError says that an activation cannot be made: the run is to be blocked for it.
type blockedError struct {
	reason  string
	message string
}

func (e *blockedError) Error() string { return e.message }

// catchUp brings the slot's live run to the end of the log that was looked at, replaying it from the start where there is
// none, or where what is new does not fit it. It gives a *blockedError where the code cannot.
func (e *Engine) catchUp(ctx context.Context, s *slot, view *View) error {
	defer s.replayed()
	if s.live != nil && s.live.position.Generation != view.Summary.Generation {
		s.drop()
	}
	if s.live == nil {
		l, err := e.newLive(ctx, view)
		if err != nil {
			return err
		}
		s.live = l
	}
	l := s.live
	l.summary = view.Summary
	l.ledger.forget(view) // before the records that are new: one of them may name an item that came after the inbox was read
	if len(view.Records) == 0 && !view.More {
		return nil
	}
	log := &logReader{runs: e.Runs, ctx: ctx, run: s.run, generation: view.Summary.Generation, page: view.Records, more: view.More, last: l.position.Record}
	err := e.guard(l.exec, func() error {
		return l.exec.Replay(func() (*history.Record, error) {
			rec, err := log.next()
			if rec != nil {
				l.note(rec)
			}
			return rec, err
		})
	})
	if err != nil {
		s.drop()
		if log.err != nil && !errors.Is(log.err, history.ErrUnreadable) {
			return log.err
		}
		return blockFor(err)
	}
	return nil
}

// scheduled is when the run decided on a pending step.
func (l *live) scheduled(seq int64) time.Time {
	if before, is := l.base[seq]; is {
		return before.Time
	}
	return l.ledger.steps[seq].scheduled
}

// origin is the generation whose log has a pending step.
func (l *live) origin(seq int64) int {
	if before, is := l.base[seq]; is {
		return before.Generation
	}
	return l.position.Generation
}

// note keeps the live run's books in step with its log.
func (l *live) note(rec *history.Record) {
	l.ledger.add(l.position.Generation, rec)
	l.position.Record = rec.Number
	l.time = rec.Time
	l.closes = rec.Closes()
	l.fold.Add(rec)
	l.weigh(rec)
	if slices.ContainsFunc(rec.Events, goesOn) {
		for seq, p := range l.base {
			l.base[seq] = p.Again(rec.Time)
		}
	}
}

// weigh counts what a record tells the run.
func (l *live) weigh(rec *history.Record) {
	l.events += len(rec.Events) + len(rec.Commands)
	l.bytes += rec.Bytes()
}

// newLive makes a run before the first record of the current generation. One that was reset has replayed what still counts
// of earlier generations.
func (e *Engine) newLive(ctx context.Context, view *View) (*live, error) {
	summary := view.Summary
	entry, ok := e.registry.FindWorkflow(summary.Workflow)
	if !ok {
		return nil, e.unregistered(summary.Workflow)
	}
	l := &live{ledger: &ledger{}, fold: &machine.Fold{}, summary: summary, position: Position{Generation: summary.Generation}}
	l.exec = executor.New(executor.Identity{Run: summary.Run, Generation: summary.Generation, Workflow: summary.Workflow}, entry)
	base := baseOf(view)
	if base == nil {
		l.fold.Generation = summary.Generation
		return l, nil
	}
	err := e.guard(l.exec, func() error { return e.replayBase(ctx, l, summary.Run, *base) })
	if err != nil {
		l.close()
		if errors.Is(err, ErrUnavailable) {
			return nil, err
		}
		return nil, blockFor(err)
	}
	return l, nil
}

// baseOf gives where the current generation goes on, if it was begun by a reset.
func baseOf(view *View) *history.Base {
	if len(view.Records) > 0 {
		for _, event := range view.Records[0].Events {
			if started, ok := event.(*history.Started); ok {
				return started.Base
			}
		}
		return nil
	}
	if start := startIn(view); start != nil {
		return start.Base
	}
	return nil
}

// startIn finds the start of the present generation in an inbox; nil if it is not there.
func startIn(view *View) *history.Started {
	for _, item := range view.Inbox {
		if started, ok := item.Event.(*history.Started); ok && started.Generation == view.Summary.Generation {
			return started
		}
	}
	return nil
}

// replayBase replays the records of earlier generations that a reset kept.
func (e *Engine) replayBase(ctx context.Context, l *live, run string, base history.Base) error {
	segments, err := e.segments(ctx, run, base)
	if err != nil {
		return err
	}
	for _, segment := range segments {
		l.fold.Generation = segment.Generation
		log := &logReader{runs: e.Runs, ctx: ctx, run: run, generation: segment.Generation, more: true}
		err := l.exec.Replay(func() (*history.Record, error) {
			rec, err := log.next()
			if rec == nil || rec.Number > segment.Record {
				return nil, err
			}
			l.fold.Add(rec)
			l.weigh(rec)
			return rec, err
		})
		if err != nil {
			return err
		}
	}
	l.time, l.fold.Generation = l.fold.Time, l.position.Generation
	for _, p := range l.fold.Pending() {
		set(&l.base, p.Command.Seq(), p)
		if isStep(p.Command) && p.Cancel != nil { // whoever runs it knows
			set(&l.ledger.asked, p.Command.Seq(), true)
		}
	}
	return nil
}

// blockFor sorts the errors of an activation into reasons for a block.
func blockFor(err error) error {
	var nondeterminism *machine.Nondeterminism
	var stuck *executor.Stuck
	var violation *executor.Violation
	var panicked *executor.Panicked
	var undecodable *executor.Undecodable
	reason := ReasonActivation
	switch {
	case errors.As(err, &nondeterminism):
		reason = ReasonNondeterminism
	case errors.As(err, &panicked):
		reason = ReasonPanic
	case errors.As(err, &undecodable):
		reason = ReasonUndecodable
	case errors.As(err, &stuck):
		reason = ReasonStuck
	case errors.As(err, &violation):
		reason = ReasonViolation
	case errors.Is(err, history.ErrUnreadable):
		return &blockedError{ReasonUnreadable, err.Error() + ". Run the version that wrote it, or, if it is damaged, restore it from a backup; then unblock the run"}
	}
	return &blockedError{reason, err.Error()}
}

// unregistered blocks a run whose workflow is not here.
func (e *Engine) unregistered(workflow string) error {
	return &blockedError{ReasonUnregistered, fmt.Sprintf("workflow %q is not registered here; registered: %s. "+
		"Register it (program.Main), or start the program that has it: the run goes on by itself then", workflow, named(e.Workflows()))}
}

func named(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
