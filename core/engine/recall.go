package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// A run knows a message by its kind, name and id. This file reads what a run knows of a message
// before it accepts the message: in a few reads of one row each, however much the run has.

// recalled is what a run knows of a message.
type recalled struct {
	// taken: a log has it, so that nothing follows from it a second time.
	taken bool
	// at is the record that took it, as far as a note says.
	at port.Position
	// lies is its item, which lies in the inbox: taken or not.
	lies *port.Item
}

// known says whether the run has the message, so that it is not filed again.
func (r recalled) known() bool { return r.taken || r.lies != nil }

// before is the place before the record that took the message; as it is given where no note says it.
func (r recalled) before(place port.Position) port.Position {
	if r.at.Record == 0 {
		return place
	}
	return port.Position{Generation: r.at.Generation, Record: r.at.Record - 1}
}

// recall reads what a run knows of a message. Another message of its kind, name and id is a
// [port.Conflict].
//
// The inbox comes first. The author of a record that takes an item writes the note before it deletes
// the item. So the item is there, or the note, or both.
func (e *Engine) recall(
	ctx context.Context, to *port.Summary, message history.Mail,
) (known recalled, err error) {
	key := message.Key(0) + to.Recipient()
	if known.lies, err = e.Runs.Item(ctx, to.Run, key); err == nil {
		known.at, err = e.Runs.Noted(ctx, to.Run, key)
	}
	var there history.Mail
	if known.lies != nil {
		there, _ = known.lies.Event.(history.Mail)
	}
	if known.taken = known.at != (port.Position{}); known.taken && err == nil {
		there, err = e.messageAt(ctx, to.Run, known.at, message)
	}
	switch {
	case errors.Is(err, history.ErrUnreadable): // the run is blocked, and keeps the message until it can be read
	case err != nil:
		return recalled{}, e.unavailable(err, "it was not accepted")
	case there != nil && !sameMessage(there, message):
		return recalled{}, port.Errorf(port.Conflict, "run %q was sent another %s with the id "+
			"%q: give this one an id of its own, or repeat that one as it was",
			to.Run, describeMessage(message), message.MailID())
	}
	return known, nil
}

// messageAt reads what the record says that took a message of this name: nil if it is not known any
// more, as the log was deleted.
func (e *Engine) messageAt(
	ctx context.Context, run string, at port.Position, message history.Mail,
) (history.Mail, error) {
	rec, err := e.Runs.Record(ctx, run, at)
	if err != nil {
		return nil, err
	}
	var events []history.Event
	if rec != nil {
		events = rec.Events
	} else if at.Record == 1 { // a reset has begun a generation, whose start is still to be recorded
		start, err := e.Runs.Item(ctx, run, (&history.Started{}).Key(at.Generation))
		if err != nil || start == nil {
			return nil, err
		}
		events = []history.Event{start.Event}
	}
	for _, event := range events {
		if mail := mailOf(event); mail != nil && history.MessageName(mail) == history.MessageName(message) {
			return mail, nil
		}
	}
	return nil, nil
}

// mailOf is the message that an event is, or the reset that a start says has begun its generation.
func mailOf(event history.Event) history.Mail {
	switch event := event.(type) {
	case history.Mail:
		return event
	case *history.Started:
		if event.Reset != nil {
			return event.Reset
		}
	}
	return nil
}

// recallUnique says whether a run has taken a message whose id no other message can have, and of
// which there is no note. It reads the log of the present generation.
func (e *Engine) recallUnique(
	ctx context.Context, to *port.Summary, message history.Mail,
) (recalled, error) {
	present, err := e.presentLedger(ctx, to)
	if errors.Is(err, history.ErrUnreadable) {
		return recalled{}, nil
	} else if err != nil {
		return recalled{}, e.unavailable(err, "it was not accepted")
	}
	_, taken := present.heard(message)
	return recalled{taken: taken}, nil
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
		return a.Record == b.Record && a.Of == b.Of && a.ExcludeSignals == b.ExcludeSignals &&
			a.Definition == b.Definition && a.Reason == b.Reason
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
