package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/port"
)

// live is a run in memory: its code, paused, and what its log says of who answers for what. It is at a position of the log.
type live struct {
	exec     *scheduler.Run // nil: it has retired
	ledger   *ledger
	summary  *port.Summary
	position port.Position
	time     time.Time        // of the last record
	closes   history.Terminal // the command that closed the generation, if it is closed
	// base is what was pending in the record that a reset had the run go on from, by number.
	base map[int64]history.Pending
	// fold has the pending commands, for checkpoints.
	fold *machine.Fold
	// code is what it runs, and definition the version of that; 0: it is the program's own.
	code       *code
	definition int
	// events and commands of the log, and the bytes of the values in them: see [live.weight].
	events, bytes int
}

func (l *live) close() {
	if l.exec != nil {
		l.exec.Close()
	}
	l.code.release()
	l.code = nil
}

// retire keeps of a run that has ended only where its log ends: most of those who look at it once more find nothing new.
func (l *live) retire() {
	l.close()
	l.exec, l.ledger, l.base, l.fold, l.summary = nil, nil, nil, nil, nil
}

// known is the position to look from; the zero one without a live run.
func (l *live) known() port.Position {
	if l == nil {
		return port.Position{}
	}
	return l.position
}

// blockedError says that an activation cannot be made: the run is to be blocked for it.
type blockedError struct {
	reason  string
	message string
	// needs is the definition for the lack of which the run is blocked.
	needs pin
}

func (e *blockedError) Error() string { return e.message }

// catchUp brings the slot's live run to the end of the log that was looked at, replaying it from the start where there is
// none, or where what is new does not fit it. It gives a *blockedError where the code cannot.
func (e *Engine) catchUp(ctx context.Context, s *slot, view *port.View) error {
	defer s.replayed()
	if l := s.live; l != nil && (l.position.Generation != view.Summary.Generation ||
		!l.hasVersion(view)) {
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
	pinned(view, l.definition)
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
func (e *Engine) newLive(ctx context.Context, view *port.View) (*live, error) {
	summary := view.Summary
	code, err := e.code(ctx, pin{summary.Workflow, definitionOf(view)})
	if err != nil {
		return nil, err
	}
	l := &live{
		ledger: &ledger{}, fold: &machine.Fold{}, summary: summary, code: code,
		definition: code.of.version, position: port.Position{Generation: summary.Generation},
	}
	l.exec = scheduler.New(scheduler.Identity{Run: summary.Run, Generation: summary.Generation,
		Workflow: summary.Workflow}, code.entry)
	base := view.Base()
	if base == nil {
		l.fold.Generation = summary.Generation
		return l, nil
	}
	err = e.guard(l.exec, func() error { return e.replayBase(ctx, l, summary.Run, *base) })
	if err != nil {
		l.close()
		if errors.Is(err, port.ErrUnavailable) {
			return nil, err
		}
		return nil, blockFor(err)
	}
	return l, nil
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
	var stuck *scheduler.Stuck
	var violation *scheduler.Violation
	var panicked *scheduler.Panicked
	var undecodable *scheduler.Undecodable
	reason := port.ReasonActivation
	switch {
	case errors.As(err, &nondeterminism):
		reason = port.ReasonNondeterminism
	case errors.As(err, &panicked):
		reason = port.ReasonPanic
	case errors.As(err, &undecodable):
		reason = port.ReasonUndecodable
	case errors.As(err, &stuck):
		reason = port.ReasonStuck
	case errors.As(err, &violation):
		reason = port.ReasonViolation
	case errors.Is(err, history.ErrUnreadable):
		return &blockedError{reason: port.ReasonUnreadable, message: port.Unreadable(err)}
	}
	return &blockedError{reason: reason, message: err.Error()}
}

// unregistered blocks a run whose workflow is not here.
func (e *Engine) unregistered(workflow string) error {
	what, do := "not registered here", "Register it (program.Main), or start the program that "+
		"has it"
	if e.Catalog != nil {
		what, do = "neither registered here nor published",
			"Publish it, register it (program.Main), or start the program that has it"
	}
	return &blockedError{reason: port.ReasonUnregistered, needs: pin{name: workflow},
		message: fmt.Sprintf(
			"workflow %q is %s; registered: %s. %s: the run goes on by itself then", workflow, what, named(e.Workflows()), do)}
}

func named(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
