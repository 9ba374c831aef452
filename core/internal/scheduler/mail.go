package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/history"
)

// mail is what signals and updates meet in a run: handlers, units that wait, and what nobody has taken yet.
type mail struct {
	signals map[string]*mailbox
	updates map[string]*mailbox
	arrived int        // so far: order among what is buffered
	open    []*Message // updates that are neither accepted nor rejected
}

// mailbox is what there is for one name. Signals are buffered, first in, first out (S1.40); updates only until the code
// has had its chance to say that it handles them.
type mailbox struct {
	handler  Handler
	waiting  []*Reception // that units await, the longest first
	idle     []*Reception // that no unit has awaited yet
	buffered []*Message
	held     []*Message // given to a reception, and not yet read by the code
	asked    bool       // code has handled this name, or waited for it
}

// Message is a signal or an update on its way to author's code.
type Message struct {
	Name, ID string
	Input    history.Payload

	run     *Run
	signal  *history.SignalReceived
	update  *history.UpdateReceived
	arrival int
	phase   history.UpdatePhase
	unit    *Unit // that handles it
}

// Handler is run as a unit of its own for each message (S1.23: numbered in the order of dispatch).
type Handler func(u *Unit, m *Message)

func (m *mail) box(message *Message) *mailbox {
	if message.update != nil {
		return box(&m.updates, message.Name)
	}
	return box(&m.signals, message.Name)
}

func box(boxes *map[string]*mailbox, name string) *mailbox {
	if *boxes == nil {
		*boxes = map[string]*mailbox{}
	}
	b := (*boxes)[name]
	if b == nil {
		b = &mailbox{}
		(*boxes)[name] = b
	}
	return b
}

// deliver notes a message's arrival and passes it on.
func (r *Run) deliver(message *Message) {
	r.mail.arrived++
	message.arrival = r.mail.arrived
	if message.update != nil {
		r.mail.open = append(r.mail.open, message)
		if r.completing {
			r.rejectEnded(message)
			return
		}
	}
	r.pass(message)
}

// pass gives a message to its handler, else to the unit that has waited longest, else keeps it.
func (r *Run) pass(message *Message) {
	b := r.mail.box(message)
	switch {
	case b.handler != nil:
		r.dispatch(b.handler, message)
	case message.signal != nil && len(b.waiting) > 0:
		b.waiting[0].give(r, message)
	default:
		b.buffered = append(b.buffered, message)
		slices.SortFunc(b.buffered, byArrival) // one that was passed on before comes first again
	}
}

func byArrival(a, b *Message) int { return cmp.Compare(a.arrival, b.arrival) }

func (r *Run) dispatch(handler Handler, message *Message) {
	u := r.newUnit(Path{}.child(handle, r.dispatches), func(u *Unit) (any, error) {
		handler(u, message)
		return nil, nil
	})
	r.dispatches++
	message.unit = u
	u.end = func(_ any, err error) {
		if err != nil && message.signal != nil {
			r.handlerPanicked(u, message, err)
		}
		message.abandoned(err)
	}
	u.Wake()
}

// handlerPanicked fails the run: no code handles the panic of a signal's handler, and the signal must
// not be lost unnoticed. Logs of behavior version 0 go on without the signal.
func (r *Run) handlerPanicked(u *Unit, signal *Message, err error) {
	u.LogError("the handler of signal "+signal.Name+" panicked", err)
	if r.Since(1) {
		r.end(nil, err)
	}
}

// HandleSignal has every signal of this name handled, those that are buffered first. A nil handler ends it.
func (u *Unit) HandleSignal(name string, handler Handler) {
	u.effects("HandleSignal")
	u.run.handle(box(&u.run.mail.signals, name), handler)
}

// HandleUpdate has every update of this name handled. A nil handler ends it.
func (u *Unit) HandleUpdate(name string, handler Handler) {
	u.effects("HandleUpdate")
	u.run.handle(box(&u.run.mail.updates, name), handler)
}

func (r *Run) handle(b *mailbox, handler Handler) {
	b.handler, b.asked = handler, true
	if handler == nil {
		return
	}
	for _, message := range b.buffered {
		r.dispatch(handler, message)
	}
	b.buffered = nil
}

// Requeue passes on a signal that a handler did not take: another handler or a unit may wait for it by now.
func (m *Message) Requeue() {
	if m.signal != nil {
		m.run.pass(m)
	}
}

// Validated says whether the update was accepted in another life of the run.
func (m *Message) Validated() bool { return m.update != nil && m.update.Accepted }

// Accept, Reject and Complete answer an update: accepted or rejected once, then completed once.
func (m *Message) Accept(u *Unit) { m.respond(u, history.UpdateAccepted, nil, nil) }

// Reject refuses it; see Accept.
func (m *Message) Reject(u *Unit, err error) {
	m.respond(u, history.UpdateRejected, nil, history.FailureOf(err))
}

// Complete ends it; see Accept.
func (m *Message) Complete(u *Unit, result history.Payload, err error) {
	m.respond(u, history.UpdateCompleted, result, history.FailureOf(err))
}

// follows is the table of legal answers: what may come after what. Every other pair changes nothing.
var follows = map[history.UpdatePhase][]history.UpdatePhase{
	"":                     {history.UpdateAccepted, history.UpdateRejected},
	history.UpdateAccepted: {history.UpdateCompleted},
}

func (m *Message) respond(u *Unit, phase history.UpdatePhase, result history.Payload, failure *history.Failure) {
	if m.update == nil || !slices.Contains(follows[m.phase], phase) {
		return
	}
	m.reach(phase)
	m.run.emit(u.name, &history.RespondUpdate{ID: m.ID, Name: m.Name, Phase: phase, Result: result, Failure: failure})
	u.halt()
}

// abandoned answers an update whose handler ended without an answer: it panicked.
func (m *Message) abandoned(err error) {
	if err == nil || m.update == nil || m.run.terminal != nil {
		return
	}
	next := follows[m.phase]
	if len(next) == 0 {
		return
	}
	phase := next[len(next)-1]
	m.reach(phase)
	m.run.emit("", &history.RespondUpdate{ID: m.ID, Name: m.Name, Phase: phase, Failure: history.FailureOf(err)})
}

// answerLeftOver rejects updates that nothing handles, once all units have paused. It says whether there were any.
func (r *Run) answerLeftOver() bool {
	if r.started == nil || !r.active || len(r.mail.updates) == 0 {
		return false
	}
	var left []*Message
	for _, name := range sortedNames(r.mail.updates) {
		b := r.mail.updates[name]
		left = append(left, b.buffered...)
		b.buffered = nil
	}
	slices.SortFunc(left, byArrival)
	for _, message := range left {
		message.reach(history.UpdateRejected)
		r.emit("", &history.RespondUpdate{ID: message.ID, Name: message.Name, Phase: history.UpdateRejected, Failure: r.unhandled(message.Name)})
	}
	return len(left) > 0
}

// reach notes how far an update has come.
func (m *Message) reach(phase history.UpdatePhase) {
	m.phase = phase
	m.run.mail.open = without(m.run.mail.open, m)
}

// rejectUnanswered rejects the updates that came too late: the root ends in the activation that brings
// them, and no handler has accepted them. Logs of behavior version 0 leave them without an answer.
func (r *Run) rejectUnanswered() {
	if !r.Since(1) {
		return
	}
	for _, message := range slices.Clone(r.mail.open) {
		r.rejectEnded(message)
	}
}

// rejectLate rejects the updates whose handlers have not begun when the root ends with a result.
func (r *Run) rejectLate() {
	for _, message := range slices.Clone(r.mail.open) {
		u := message.unit
		switch {
		case u == nil:
			b := r.mail.box(message)
			b.buffered = without(b.buffered, message)
		case u.co.next != nil:
			continue // it has begun, and decides itself
		default:
			u.ended = true
			r.forget(u)
		}
		r.rejectEnded(message)
	}
}

func (r *Run) rejectEnded(update *Message) {
	update.reach(history.UpdateRejected)
	failure := &history.Failure{FailureKind: history.Application, Type: "run-ended", NonRetryable: true,
		Message: fmt.Sprintf("the run ended before it handled update %q", update.Name)}
	r.emit("", &history.RespondUpdate{
		ID: update.ID, Name: update.Name, Phase: history.UpdateRejected, Failure: failure})
}

func (r *Run) unhandled(name string) *history.Failure {
	var handled []string
	for _, name := range sortedNames(r.mail.updates) {
		if r.mail.updates[name].handler != nil {
			handled = append(handled, name)
		}
	}
	text := fmt.Sprintf("nothing handles update %q now", name)
	if len(handled) > 0 {
		text += "; handled: " + strings.Join(handled, ", ")
	}
	return &history.Failure{FailureKind: history.Application, Type: "unhandled-update", Message: text, NonRetryable: true}
}

// Unread lists the signals that no code has read, in the order in which they came: continue-as-new carries them.
func (r *Run) Unread() (signals []*history.SignalReceived) {
	var left []*Message
	for _, name := range sortedNames(r.mail.signals) {
		left = append(left, r.mail.signals[name].held...)
		left = append(left, r.mail.signals[name].buffered...)
	}
	slices.SortFunc(left, byArrival)
	for _, message := range left {
		signals = append(signals, message.signal)
	}
	return
}

// Asked lists the names of the signals that code has handled or waited for so far.
func (r *Run) Asked() (names []string) {
	for _, name := range sortedNames(r.mail.signals) {
		if r.mail.signals[name].asked {
			names = append(names, name)
		}
	}
	return
}
