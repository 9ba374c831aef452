package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/reprise-run/reprise/core/internal/scheduler"
	"github.com/reprise-run/reprise/core/port"
)

// UnreadSignal is a signal that a run's code has not taken. It is kept, for code that takes it
// later.
type UnreadSignal struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Unknown: the code has neither handled a signal of this name nor waited for one so far.
	Unknown bool `json:"unknown"`
}

// UnreadSignals lists the signals that a run's code has not taken, in the order in which they came.
// Errors are those of [Engine.Query]: the run's code tells.
func (e *Engine) UnreadSignals(ctx context.Context, run string) (unread []UnreadSignal, err error) {
	if err := validID("run id", run); err != nil {
		return nil, err
	}
	return unread, e.ask(ctx, run, func(l *live) error {
		asked := l.exec.Asked()
		for _, signal := range l.exec.Unread() {
			unread = append(unread, UnreadSignal{signal.Name, signal.ID, !slices.Contains(asked, signal.Name)})
		}
		return nil
	})
}

// signalHint says that a signal's name may be wrong: the run's code has not asked for one of this name
// so far. Where the run is not in the memory of this process, a replay would cost more than a hint is
// worth: then it says that the name is not registered, if others are.
func (e *Engine) signalHint(run, name string) (hint string) {
	known := e.registry.Signals()
	if len(known) > 0 && !slices.Contains(known, name) {
		hint = fmt.Sprintf("no signal %q is registered here; registered: %s. The signal is kept, for code "+
			"that asks for it. If there is such code, register the signal, too", name, named(known))
	}
	e.live.peek(run, func(l *live) {
		hint = ""
		if asked := l.exec.Asked(); !slices.Contains(asked, name) {
			hint = fmt.Sprintf("the code of workflow %s has not asked for signal %q so far; it has asked for: %s. "+
				"The signal is kept, for code that asks for it later", l.summary.Workflow, name, named(asked))
		}
	})
	return hint
}

// peek looks at a run that is live here while no visit holds it; else it does nothing.
func (c *cache) peek(run string, look func(*live)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.slots[run]; s != nil && s.place != nil && s.live.exec != nil {
		look(s.live)
	}
}

// ask brings a run's code to the end of its log, and has it looked at. It changes nothing.
func (e *Engine) ask(ctx context.Context, run string, look func(*live) error) error {
	s, err := e.hold(ctx, run, e.questions)
	if err != nil {
		return err
	}
	defer e.live.release(s)
	if s.live != nil && s.live.exec == nil {
		s.drop()
	}
	view, err := e.Runs.Look(ctx, run, s.live.known())
	if err != nil {
		return e.found(err, run)
	}
	return e.askAt(ctx, s, view, look)
}

// askEarlier is ask for a generation that has ended, as its log leaves it. The caller knows that
// there is such a log.
func (e *Engine) askEarlier(
	ctx context.Context, run string, generation int, look func(*live) error,
) error {
	if err := e.questions.enter(ctx); err != nil {
		return err
	}
	defer e.questions.leave()
	size, err := e.SizeOfRecords(ctx, run, generation, 0)
	if err != nil {
		return err
	}
	taken, err := e.questions.take(ctx, run, copiesOfRun*size)
	if err != nil {
		return err
	}
	defer e.config.Memory.Give(taken)
	records, err := e.Runs.Records(ctx, run, generation, 0)
	if err != nil {
		return e.unavailable(err, "the log was not read")
	}
	view := &port.View{Summary: &port.Summary{Run: run, Generation: generation}, Records: records,
		More: true}
	if started := view.Started(); started != nil {
		view.Summary.Workflow = started.Workflow
	}
	s := &slot{run: run}
	defer s.drop()
	return e.askAt(ctx, s, view, look)
}

// askAt brings a run's code to the end of a log, and has it looked at.
func (e *Engine) askAt(
	ctx context.Context, s *slot, view *port.View, look func(*live) error,
) error {
	run := s.run
	if err := e.catchUp(ctx, s, view); err != nil {
		if blocked := (*blockedError)(nil); errors.As(err, &blocked) {
			return port.Wrapf(err, port.Blocked, "run %q cannot be asked: %s", run, blocked.message)
		}
		return e.unavailable(err, "the run was not read")
	}
	if s.live.position.Record == 0 {
		return port.Errorf(port.Unavailable, "run %q has not begun yet, or not yet begun anew: "+
			"ask again", run)
	}
	err := look(s.live)
	if stuck := (*scheduler.Stuck)(nil); errors.As(err, &stuck) {
		s.live = nil // its goroutine is lost; closing it would wait for it
	}
	return err
}
