package engine

import (
	"context"
	"errors"
	"strconv"

	"github.com/reprise-run/reprise/core/history"
)

// MessageRequest is a signal, an update, a request to cancel, to terminate or to reset.
type MessageRequest struct {
	Run string
	// ID of the mail: repeating it with the same id is safe. Of mail that it took before it continued as new, a run knows the
	// newest ids alone: see [Config.KnownMail]. Empty: one is made.
	ID string
	// After is the stamp that the sender's last mail was accepted with: this one comes after it, whatever clocks say. Zero:
	// it is the sender's first, or order does not matter.
	After int64
}

// Accepted says that a mail is in the run's inbox, and that somebody will look.
type Accepted struct {
	ID    string `json:"id"`
	Stamp int64  `json:"stamp"`
}

// Signal sends a run a signal. When it returns without an error, the signal is durable; a run that ends before it has
// looked may leave it unread.
func (e *Engine) Signal(ctx context.Context, request MessageRequest, name string, input history.Payload) (Accepted, error) {
	if err := errors.Join(validName("signal", name), validPayload("input", input)); err != nil {
		return Accepted{}, err
	}
	return e.mail(ctx, request, func(id string) history.Event { return history.NewSignal(id, name, input) }, false)
}

// Cancel asks a run's code to stop.
func (e *Engine) Cancel(ctx context.Context, request MessageRequest, reason string) (Accepted, error) {
	if err := validText("reason", reason); err != nil {
		return Accepted{}, err
	}
	return e.mail(ctx, request, func(id string) history.Event { return history.NewCancel(id, reason) }, false)
}

// Terminate ends a run without asking its code, even if it is blocked; not while what is stored of it cannot be read.
func (e *Engine) Terminate(ctx context.Context, request MessageRequest, reason string) (Accepted, error) {
	if err := validText("reason", reason); err != nil {
		return Accepted{}, err
	}
	return e.mail(ctx, request, func(id string) history.Event { return history.NewTerminate(id, reason) }, false)
}

// Reset has a run go on in a new generation from one of its records, even if it is blocked or has ended; not while what is stored of it
// cannot be read. What came after that record is forgotten, but for its signals and updates, which come again, in their order: an update
// that was accepted is not validated anew, and is answered anew; one that was rejected stays so.
func (e *Engine) Reset(ctx context.Context, request MessageRequest, record int, reason string) (Accepted, error) {
	if err := validText("reason", reason); err != nil {
		return Accepted{}, err
	}
	summary, err := e.Get(ctx, request.Run)
	if err != nil {
		return Accepted{}, err
	}
	if record < 1 {
		return Accepted{}, fail(Invalid, "record %d: records are numbered from 1", record)
	}
	fold, err := e.fold(ctx, request.Run, summary.Generation)
	if err != nil {
		return Accepted{}, e.unavailable(err, "the log was not read")
	}
	if last := fold.Records; record > last || fold.Closes != nil && record == last {
		return Accepted{}, fail(Invalid, "record %d cannot be gone on from: generation %d has %d records%s", record, summary.Generation, last,
			map[bool]string{true: ", and the last one closes it"}[fold.Closes != nil])
	}
	return e.mail(ctx, request, func(id string) history.Event { return history.NewReset(id, summary.Generation, record, reason) }, true)
}

// mail files a mail, in the order that its sender needs: resume that carries it, filing, answer (rule 1). To a closed run
// it is refused, except a reset.
func (e *Engine) mail(ctx context.Context, request MessageRequest, letter func(id string) history.Event, evenClosed bool) (Accepted, error) {
	if request.ID == "" {
		request.ID = e.NewID()
	}
	if err := errors.Join(validID("run id", request.Run), validID("mail id", request.ID)); err != nil {
		return Accepted{}, err
	}
	summary, err := e.Get(ctx, request.Run)
	if err != nil {
		return Accepted{}, err
	}
	if summary.Status.Closed() && !evenClosed {
		return Accepted{}, fail(Closed, "run %q has ended (%s): it takes no more mail", request.Run, summary.Status)
	}
	event := letter(request.ID)
	if summary.Blocked != nil && summary.Blocked.Reason == ReasonUnreadable && isAdministrative(event) {
		return Accepted{}, fail(Blocked, "run %q can be neither terminated nor reset as long as it cannot be read: %s", request.Run, summary.Blocked.Message)
	}
	item := e.newMail(summary, event)
	item.Stamp = max(item.Stamp, request.After+1)
	if !e.Together {
		carrying := item
		if err := e.Queue.SendResumes(ctx, Resume{Run: request.Run, Carries: &carrying}); err != nil {
			return Accepted{}, e.unavailable(err, "it was not accepted")
		}
	}
	stamp, _, err := e.Runs.File(ctx, request.Run, item)
	if err != nil {
		return Accepted{}, e.unavailable(err, "it was not accepted")
	}
	if e.Together {
		if err := e.Queue.SendResumes(ctx, Resume{Run: request.Run}); err != nil {
			return Accepted{}, e.unavailable(err, "it was not accepted")
		}
	}
	return Accepted{ID: request.ID, Stamp: stamp}, nil
}

// newMail makes a filing of mail to a run.
func (e *Engine) newMail(to *Summary, mail history.Event) Item {
	item := e.newItem(mail, 0, true)
	item.Key = to.inboxKey(mail, 0)
	return item
}

// inboxKey is the key of an event's item. That of mail says which run it is for, by the time of its start: another may have had the id
// before, and what was sent to that one must not lie in the place of what is sent to this one.
func (s *Summary) inboxKey(event history.Event, generation int) string {
	key := event.Key(generation)
	if _, ok := event.(history.Mail); ok {
		key += "#" + strconv.FormatInt(s.Started.UnixNano(), 36)
	}
	return key
}

// name is what records name an item by.
func (i *Item) name() string {
	if mail, ok := i.Event.(history.Mail); ok {
		return mail.Key(0)
	}
	return i.Key
}
