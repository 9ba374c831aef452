package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// MessageRequest is a signal, an update, a request to cancel, to terminate or to reset.
type MessageRequest struct {
	Run string
	// ID of the message: repeating it with the same id is safe. A run knows a message by its kind,
	// name and id: the same id with another content is a [port.Conflict], and with another kind or
	// name it is another message. A run knows it as long as the log that took it is kept. Empty:
	// the engine makes one.
	ID string
	// Unique: no other message can have this ID, as it was drawn at random for this message. Then
	// nothing is read to compare them.
	Unique bool
	// After is the stamp that the sender's last mail was accepted with: this one comes after it, whatever clocks say. Zero:
	// it is the sender's first, or order does not matter.
	After int64
}

// Accepted says that a mail is in the run's inbox, and that somebody will look.
type Accepted struct {
	ID    string `json:"id"`
	Stamp int64  `json:"stamp"`
	// Hint says what may be wrong with a signal, though it was accepted: the run's code has not
	// asked for one of this name so far, or, where the run is not in memory, none of this name is
	// registered although others are.
	Hint string `json:"hint,omitempty"`
}

// Signal sends a run a signal. When it returns without an error, the signal is durable; a run that
// ends before it has looked may leave it unread. One that does not fit the registered signal is
// [port.Invalid].
func (e *Engine) Signal(ctx context.Context, request MessageRequest, name string, input history.Payload) (Accepted, error) {
	if err := errors.Join(validName("signal", name), validPayload("input", input)); err != nil {
		return Accepted{}, err
	}
	if err := e.fitting.check("input of signal", name, input, e.registry.FitsSignal); err != nil {
		return Accepted{}, err
	}
	hint := e.signalHint(request.Run, name) // before the run takes it
	accepted, err := e.send(ctx, request, func(id string) history.Mail { return history.NewSignal(id, name, input) })
	if err == nil {
		accepted.Hint = hint
	}
	return accepted, err
}

// Cancel asks a run's code to stop.
func (e *Engine) Cancel(ctx context.Context, request MessageRequest, reason string) (Accepted, error) {
	if err := validText("reason", reason); err != nil {
		return Accepted{}, err
	}
	return e.send(ctx, request, func(id string) history.Mail { return history.NewCancel(id, reason) })
}

// Terminate ends a run without asking its code, even if it is blocked; not while what is stored of it cannot be read.
func (e *Engine) Terminate(ctx context.Context, request MessageRequest, reason string) (Accepted, error) {
	if err := validText("reason", reason); err != nil {
		return Accepted{}, err
	}
	return e.send(ctx, request, func(id string) history.Mail { return history.NewTerminate(id, reason) })
}

// ResetPoint is where a run continues after a reset.
type ResetPoint struct {
	// Generation of the record. Zero: the present one. An earlier one must be of the same run, with
	// its log still there.
	Generation int
	// Record is the last record that still counts.
	Record int
	// ExcludeSignals: the signals that came after the record do not come again.
	ExcludeSignals bool
	// Definition is the version of the published definition that the run goes on with. Zero: the
	// one that it has.
	Definition int
}

// Reset has a run continue in a new generation from one of its records, even if it is blocked or
// has ended; not while what is stored of it cannot be read. What came after that record is
// forgotten, but for its signals and updates, which come again, in their order: an update that was
// accepted is not validated anew, and is answered anew; one that was rejected stays so.
func (e *Engine) Reset(ctx context.Context, request MessageRequest, to ResetPoint, reason string) (Accepted, error) {
	if err := validText("reason", reason); err != nil {
		return Accepted{}, err
	}
	if to.Record < 1 {
		return Accepted{}, port.Errorf(port.Invalid, "record %d: records are numbered from 1",
			to.Record)
	}
	made := request.ID == ""
	if made {
		request.ID, request.Unique = e.NewID(), true
	}
	summary, err := e.addressee(ctx, request)
	if err != nil {
		return Accepted{}, err
	}
	reset := history.NewReset(request.ID, summary.Generation, to.Record, reason)
	reset.Of, reset.ExcludeSignals, reset.Definition = to.Generation, to.ExcludeSignals,
		to.Definition
	if !made { // carried out, it is in a generation that may not have this record
		if known, err := e.recallAny(ctx, request, summary, reset); known.known() || err != nil {
			return e.repeated(ctx, request, known, err)
		}
	}
	if err := e.validBase(ctx, summary, reset.Base()); err != nil {
		return Accepted{}, err
	}
	if to.Definition != 0 {
		if _, err := e.pin(ctx, StartRequest{Workflow: summary.Workflow,
			Definition: to.Definition}); err != nil {
			return Accepted{}, err
		}
	}
	accepted, _, err := e.mail(ctx, request, summary, reset)
	return accepted, err
}

// validBase refuses a place that a run cannot continue from.
func (e *Engine) validBase(ctx context.Context, summary *port.Summary, base history.Base) error {
	if base.Generation != summary.Generation {
		if err := e.withinReach(ctx, summary, base.Generation); err != nil {
			return err
		}
	}
	fold, err := e.fold(ctx, summary.Run, base.Generation)
	if err != nil {
		return e.unavailable(err, "the log was not read")
	}
	if last := fold.Records; base.Record > last || fold.Closes != nil && base.Record == last {
		return port.Errorf(port.Invalid, "record %d cannot be gone on from: generation %d has %d "+
			"records%s", base.Record, base.Generation, last,
			map[bool]string{true: ", and the last one closes it"}[fold.Closes != nil])
	}
	return nil
}

// withinReach refuses an earlier generation that a run cannot continue from: of a former run with
// the id, or with a log since it that was deleted, as messages would be missed.
func (e *Engine) withinReach(ctx context.Context, summary *port.Summary, generation int) error {
	present, err := e.presentLedger(ctx, summary)
	if err != nil {
		return e.unavailable(err, "the log was not read")
	}
	first := max(1, present.origin)
	if generation < first || generation > summary.Generation {
		return port.Errorf(port.Invalid, "run %q can continue from its generations %d to %d, not "+
			"from %d", summary.Run, first, summary.Generation, generation)
	}
	for g := generation; g < summary.Generation; g++ {
		if _, err := e.whichGeneration(ctx, summary.Run, g); err != nil {
			return err
		}
	}
	return nil
}

// presentLedger is the ledger of the present generation; that of one which has not begun knows what
// its start says.
func (e *Engine) presentLedger(ctx context.Context, summary *port.Summary) (*ledger, error) {
	present, err := e.readLedger(ctx, summary.Run, summary.Generation)
	if err != nil || !present.began.IsZero() {
		return present, err
	}
	view, err := e.Runs.Look(ctx, summary.Run, port.Position{})
	if err != nil {
		return nil, err
	}
	if start := view.Start(); start != nil {
		present.remember(start)
	}
	return present, nil
}

// addressee reads the run that a message is for, once it is known that the message can be right.
func (e *Engine) addressee(ctx context.Context, request MessageRequest) (*port.Summary, error) {
	if err := errors.Join(validID("run id", request.Run), validID("message id", request.ID)); err != nil {
		return nil, err
	}
	return e.Get(ctx, request.Run)
}

// send accepts a message that any but a closed run takes. One that the run has taken is accepted
// again, also after the run has ended.
func (e *Engine) send(ctx context.Context, request MessageRequest, message func(id string) history.Mail) (Accepted, error) {
	made := request.ID == ""
	if made {
		request.ID, request.Unique = e.NewID(), true
	}
	summary, err := e.addressee(ctx, request)
	if err != nil {
		return Accepted{}, err
	}
	mail := message(request.ID)
	if !summary.Status.Closed() {
		if err := e.fitsRun(ctx, summary, mail); err != nil {
			return Accepted{}, err
		}
		accepted, _, err := e.mail(ctx, request, summary, mail)
		return accepted, err
	}
	if !made {
		if known, err := e.recallAny(ctx, request, summary, mail); known.known() || err != nil {
			return e.repeated(ctx, request, known, err)
		}
	}
	return Accepted{}, port.Errorf(port.Closed, "run %q has ended (%s): it takes no more messages",
		request.Run, summary.Status)
}

// fitsRun refuses a signal that is of no use to the published definition that a run has.
func (e *Engine) fitsRun(ctx context.Context, to *port.Summary, message history.Mail) error {
	signal, is := message.(*history.SignalReceived)
	if !is {
		return nil
	}
	what := fmt.Sprintf("signal %q of workflow", signal.Name)
	return e.fits(ctx, pin{to.Workflow, to.Definition}, what, signal.Input,
		func(f Fitting, input history.Payload) error { return f.FitsSignal(signal.Name, input) })
}

// recallAny recalls a message also where its id is unique: the same request may come again.
func (e *Engine) recallAny(
	ctx context.Context, request MessageRequest, to *port.Summary, message history.Mail,
) (recalled, error) {
	if request.Unique {
		return e.recallUnique(ctx, to, message)
	}
	return e.recall(ctx, to, message)
}

// repeated is the answer to the repetition of a message that the run has. Where a log has it, all
// that its sender sends later comes after it. Where it lies in the inbox, the run looks once more; it
// is not filed again, as the run may take it meanwhile.
func (e *Engine) repeated(ctx context.Context, request MessageRequest, known recalled, err error) (Accepted, error) {
	if err != nil {
		return Accepted{}, err
	}
	if known.taken {
		return Accepted{ID: request.ID, Stamp: max(e.Clock.Now().UnixNano(), request.After+1)}, nil
	}
	if err := e.Queue.SendResumes(ctx, port.Resume{Run: request.Run}); err != nil {
		return Accepted{}, e.unavailable(err, "it was not accepted")
	}
	return Accepted{ID: request.ID, Stamp: max(known.lies.Stamp, request.After)}, nil
}

// mail files a message, in the order that its sender needs: resume that carries it, filing, answer
// (rule 1). Where its id may have been used, what the run knows is read before, so that a conflict
// sends nothing, and after: two senders may come at once. It also gives what the first read found.
func (e *Engine) mail(
	ctx context.Context, request MessageRequest, to *port.Summary, message history.Mail,
) (accepted Accepted, before recalled, err error) {
	if to.Blocked != nil && to.Blocked.Reason == port.ReasonUnreadable &&
		isAdministrative(message) {
		return accepted, before, port.Errorf(port.Blocked, "run %q can be neither terminated nor "+
			"reset as long as it cannot be read: %s", request.Run, to.Blocked.Message)
	}
	if !request.Unique {
		message.Choose()
		if before, err = e.recall(ctx, to, message); before.known() || err != nil {
			accepted, err = e.repeated(ctx, request, before, err)
			return accepted, before, err
		}
	}
	stamp, err := e.file(ctx, request, e.newMail(to, message))
	if err != nil {
		return accepted, before, e.unavailable(err, "it was not accepted")
	}
	if !request.Unique {
		if _, err := e.recall(ctx, to, message); err != nil {
			return accepted, before, err
		}
	}
	return Accepted{ID: request.ID, Stamp: max(stamp, request.After)}, before, nil
}

// file files a message, and has its run look.
func (e *Engine) file(
	ctx context.Context, request MessageRequest, item port.Item,
) (stamp int64, err error) {
	item.Stamp = max(item.Stamp, request.After+1)
	carrying := item
	err = e.announce(ctx, port.Resume{Run: request.Run, Carries: &carrying}, func() error {
		stamp, _, err = e.Runs.File(ctx, request.Run, item)
		return err
	})
	return stamp, err
}

// newMail makes a filing of mail to a run.
func (e *Engine) newMail(to *port.Summary, mail history.Event) port.Item {
	item := e.newItem(mail, 0, true)
	item.Key += to.Recipient()
	return item
}
