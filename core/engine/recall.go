package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

// A message is known by its kind, name and id. This file finds what a run knows of a message before
// it is accepted.

// recalled is what is known of a message.
type recalled struct {
	// taken: a log has it, so that nothing follows from it a second time.
	taken bool
	// at is how far the log was read.
	at Position
}

// recall looks for a message in the inbox and the log of a run, after a place of the log that has
// nothing of it. Another message of its kind, name and id is a [Conflict].
func (e *Engine) recall(ctx context.Context, run string, message history.Mail, after Position) (recalled, error) {
	if after == (Position{}) {
		s, err := e.live.hold(ctx, run)
		if err != nil {
			return recalled{}, e.unavailable(err, "it was not accepted")
		}
		after = s.live.ignorantOf(message)
		e.live.release(s)
	}
	search := &messageSearch{e: e, run: run, message: message}
	err := search.look(ctx, after)
	switch {
	case errors.Is(err, history.ErrUnreadable): // the run is blocked, and keeps the message until it can be read
	case err != nil:
		return recalled{}, e.unavailable(err, "it was not accepted")
	case search.found != nil && !sameMessage(search.found, message):
		return recalled{}, fail(Conflict, "run %q was sent another %s with the id %q: give this one an id of its own, or repeat that one as it was",
			run, describeMessage(message), message.MailID())
	}
	return recalled{search.taken, search.at}, nil
}

// ignorantOf is how far a live run has read its log without meeting a message; the zero Position if
// it has met it, or if there is no live run.
func (l *live) ignorantOf(message history.Mail) Position {
	if l == nil || l.exec == nil {
		return Position{}
	}
	if _, known := l.ledger.heard(message); known {
		return Position{}
	}
	return l.position
}

// messageSearch looks for a message by its name.
type messageSearch struct {
	e       *Engine
	run     string
	message history.Mail
	found   history.Mail // the message of this name that is there
	taken   bool
	earlier bool // an earlier generation took it
	at      Position
}

// look searches the inbox, then the present log after a place, then the logs of earlier generations
// if one of them took it.
func (s *messageSearch) look(ctx context.Context, after Position) error {
	view, err := s.e.Runs.Look(ctx, s.run, after)
	if err != nil {
		return err
	}
	for _, item := range view.Inbox {
		if start, ok := item.Event.(*history.Started); ok && start.Generation == view.Summary.Generation {
			s.start(start)
		} else if mail, ok := item.Event.(history.Mail); ok && !view.Summary.isFormer(item) && s.is(mail) {
			s.found = mail
		}
	}
	if s.at = (Position{Generation: view.Summary.Generation}); s.at.Generation == after.Generation {
		s.at.Record = after.Record
	}
	log := &logReader{runs: s.e.Runs, ctx: ctx, run: s.run, generation: s.at.Generation, page: view.Records, more: view.More, last: s.at.Record}
	for {
		rec, err := log.next()
		if err != nil {
			return err
		}
		if rec == nil {
			break
		}
		s.at.Record = rec.Number
		s.record(rec)
	}
	return s.lookBack(ctx)
}

// lookBack finds what a message said that an earlier generation took; a log that was deleted cannot
// tell.
func (s *messageSearch) lookBack(ctx context.Context) error {
	for generation := s.at.Generation - 1; s.found == nil && s.earlier && generation > 0; generation-- {
		if err := s.e.eachRecord(ctx, s.run, generation, s.record); err != nil {
			return err
		}
	}
	return nil
}

func (s *messageSearch) record(rec *history.Record) {
	for _, event := range rec.Events {
		switch event := event.(type) {
		case *history.Started:
			s.start(event)
		case history.Mail:
			if s.is(event) {
				s.found, s.taken = event, true
			}
		}
	}
}

// start notes whether a generation's start says that an earlier one took the message.
func (s *messageSearch) start(start *history.Started) {
	for _, signal := range start.Signals {
		if s.is(signal) {
			s.found, s.taken = signal, true
		}
	}
	for _, mail := range start.Letters {
		if s.is(mail) {
			s.found, s.taken = mail, true
		}
	}
	if slices.Contains(start.Mail, history.MessageName(s.message)) || slices.Contains(start.Mail, s.message.MailID()) {
		s.taken, s.earlier = true, true
	}
}

func (s *messageSearch) is(other history.Mail) bool {
	return history.MessageName(other) == history.MessageName(s.message)
}

// sameMessage says whether two messages of one kind and name say the same.
func sameMessage(a, b history.Mail) bool {
	switch a := a.(type) {
	case *history.SignalReceived:
		return sameJSON(a.Input, b.(*history.SignalReceived).Input)
	case *history.UpdateReceived:
		return sameJSON(a.Input, b.(*history.UpdateReceived).Input)
	case *history.CancelRequested:
		return a.Reason == b.(*history.CancelRequested).Reason
	case *history.TerminateRequested:
		return a.Reason == b.(*history.TerminateRequested).Reason
	case *history.ResetRequested:
		b := b.(*history.ResetRequested)
		return a.Record == b.Record && a.Of == b.Of && a.ExcludeSignals == b.ExcludeSignals && a.Reason == b.Reason
	}
	return false
}

// describeMessage names a message's kind as its sender knows it.
func describeMessage(message history.Mail) string {
	switch message := message.(type) {
	case *history.SignalReceived:
		return "signal " + message.Name
	case *history.UpdateReceived:
		return "update " + message.Name
	case *history.CancelRequested:
		return "cancellation"
	case *history.TerminateRequested:
		return "termination"
	}
	return "reset"
}
