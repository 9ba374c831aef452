package history

import (
	"errors"
	"fmt"
)

// ErrUnreadable is what errors.Is says of a record that this version cannot read: it is of a newer version, has a kind
// that is not known here, or is damaged. A run with such a record is blocked, not failed: nothing is lost.
var ErrUnreadable = errors.New("unreadable record")

// elsewhere ends the name of a member whose value stands for a payload, and is not the payload.
const elsewhere = '@'

// Encoder gives the stored form where something else stands for payloads: the place that a long one is kept at, or its sealed
// form (core/seal). The zero value keeps all as they are.
type Encoder struct {
	// Away says what is written for a payload, if not itself: the member "input" is then written as "input@" with that text.
	// Nil: all are written themselves. Payloads are asked for in the order in which they are written; attributes always stay.
	Away func(Payload) (place string, away bool)
	// Texts: Away is asked for what the author's code and callers say in words too (messages and stacks of failures, reasons
	// of cancellations), as JSON strings. Such words tend to quote the values that they are about.
	Texts bool
}

func (e Encoder) writer(out []byte) writer {
	return writer{out: out, away: e.Away, texts: e.Texts && e.Away != nil}
}

// Record gives the stored form of a record.
func (e Encoder) Record(rec *Record) []byte { return e.AppendRecord(nil, rec) }

// AppendRecord appends the stored form of a record.
func (e Encoder) AppendRecord(out []byte, rec *Record) []byte {
	w := e.writer(out)
	writeRecord(&w, rec)
	return w.out
}

// Event gives the stored form of an event.
func (e Encoder) Event(event Event) []byte {
	w := e.writer(nil)
	writeEvent(&w, event)
	return w.out
}

// Command gives the stored form of a command.
func (e Encoder) Command(command Command) []byte {
	w := e.writer(nil)
	writeCommand(&w, command)
	return w.out
}

// AppendRecord appends the stored form of a record.
func AppendRecord(out []byte, rec *Record) []byte { return Encoder{}.AppendRecord(out, rec) }

func writeRecord(w *writer, rec *Record) {
	w.begin()
	w.int("v", Version)
	w.int("n", int64(rec.Number))
	w.timeIf("time", rec.Time)
	w.textIf("author", rec.Author)
	w.timeIf("until", rec.Until)
	if len(rec.Again) > 0 {
		w.name("again")
		w.beginList()
		for _, item := range rec.Again {
			w.begin()
			w.text("key", item.Key)
			w.text("filing", item.Filing)
			w.end()
		}
		w.endList()
	}
	if len(rec.Resumes) > 0 {
		w.name("resumes")
		w.beginList()
		for _, seq := range rec.Resumes {
			w.number(seq)
		}
		w.endList()
	}
	if len(rec.Tried) > 0 {
		w.name("tried")
		w.beginList()
		for _, tried := range rec.Tried {
			w.begin()
			w.int("seq", tried.Seq)
			w.timeIf("next", tried.Next)
			writeAttempts(w, tried.Attempts)
			w.end()
		}
		w.endList()
	}
	if len(rec.Events) > 0 {
		w.name("events")
		w.beginList()
		for _, event := range rec.Events {
			writeEvent(w, event)
		}
		w.endList()
	}
	if len(rec.Commands) > 0 {
		w.name("commands")
		w.beginList()
		for _, command := range rec.Commands {
			writeCommand(w, command)
		}
		w.endList()
	}
	writeCheckpoint(w, rec.Checkpoint)
	w.end()
}

// EncodeEvent gives the stored form of an event, as it lies in an inbox or travels in a message.
func EncodeEvent(event Event) []byte { return Encoder{}.Event(event) }

// EncodeCommand gives the stored form of a command, as it travels in a message.
func EncodeCommand(command Command) []byte { return Encoder{}.Command(command) }

func writeCommand(w *writer, command Command) {
	w.begin()
	w.text("kind", command.Kind())
	w.textIf("unit", command.Unit())
	w.textIf("at", command.Place())
	command.write(w)
	w.end()
}

func writeEvent(w *writer, event Event) {
	w.begin()
	w.text("kind", event.Kind())
	w.textIf("filing", event.Filing())
	event.write(w)
	w.end()
}

// Decoder reads records. It remembers the names that come again and again; the zero value is ready for use, by one
// goroutine at a time.
type Decoder struct {
	// Fetch gets the payload that something else stands for (see [Encoder]). Nil: a record that has such is unreadable.
	Fetch func(place string) (Payload, error)
	names names
}

// Record reads one record. Its payloads are slices of data, which must not change afterwards. Of a
// checkpoint it says only that there is one.
func (d *Decoder) Record(data []byte) (*Record, error) { return d.record(data, false) }

// RecordWithCheckpoint reads one record as Record does, and its checkpoint.
func (d *Decoder) RecordWithCheckpoint(data []byte) (*Record, error) { return d.record(data, true) }

func (d *Decoder) record(data []byte, checkpoints bool) (*Record, error) {
	r := &reader{data: data, names: &d.names, fetch: d.Fetch, checkpoints: checkpoints}
	rec, err := readRecord(r)
	if err == nil {
		err = r.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return rec, nil
}

// DecodeRecord reads one record.
func DecodeRecord(data []byte) (*Record, error) { return new(Decoder).Record(data) }

// Event reads one event.
func (d *Decoder) Event(data []byte) (Event, error) {
	r := &reader{data: data, names: &d.names, fetch: d.Fetch}
	event := readEvent(r)
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return event, nil
}

// Command reads one command.
func (d *Decoder) Command(data []byte) (Command, error) {
	r := &reader{data: data, names: &d.names, fetch: d.Fetch}
	command := readCommand(r)
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return command, nil
}

// DecodeEvent reads one event.
func DecodeEvent(data []byte) (Event, error) { return new(Decoder).Event(data) }

// DecodeCommand reads one command.
func DecodeCommand(data []byte) (Command, error) { return new(Decoder).Command(data) }

// room is a record with place for one event and one command, which is what most records have: one allocation for three.
type room struct {
	record   Record
	events   [1]Event
	commands [1]Command
}

func readRecord(r *reader) (*Record, error) {
	place := &room{}
	rec := &place.record
	version := int64(0)
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "v":
			if version = r.int(); version > Version {
				return nil, fmt.Errorf("version %d, this program reads versions up to %d: it was written by a newer one", version, Version)
			}
		case "n":
			rec.Number = int(r.int())
		case "time":
			rec.Time = r.time()
		case "author":
			rec.Author = r.name()
		case "until":
			rec.Until = r.time()
		case "again":
			for more := r.enter(); more; more = r.element() {
				rec.Again = append(rec.Again, readItem(r))
			}
		case "resumes":
			for more := r.enter(); more; more = r.element() {
				rec.Resumes = append(rec.Resumes, r.int())
			}
		case "tried":
			for more := r.enter(); more; more = r.element() {
				rec.Tried = append(rec.Tried, readTried(r))
			}
		case "events":
			rec.Events = place.events[:0]
			for more := r.enter(); more; more = r.element() {
				rec.Events = append(rec.Events, readEvent(r))
			}
		case "commands":
			rec.Commands = place.commands[:0]
			for more := r.enter(); more; more = r.element() {
				rec.Commands = append(rec.Commands, readCommand(r))
			}
		case "pending":
			rec.Checkpoint = readCheckpoint(r)
		default:
			r.skip()
		}
	}
	if version < 1 {
		r.fail(`no version: "v" is missing, or less than 1`)
	}
	return rec, r.err
}

func readTried(r *reader) (tried Tried) {
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "seq":
			tried.Seq = r.int()
		case "next":
			tried.Next = r.time()
		case "attempts":
			tried.Attempts = readAttempts(r)
		default:
			r.skip()
		}
	}
	return
}

func readItem(r *reader) (item Item) {
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "key":
			item.Key = r.text()
		case "filing":
			item.Filing = r.text()
		default:
			r.skip()
		}
	}
	return
}

func readEvent(r *reader) Event {
	event := newEvent(r.kind(), r)
	if event == nil {
		return nil
	}
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "kind":
			r.skip()
		case "filing":
			event.setFiling(r.text())
		default:
			event.read(key, r)
		}
	}
	return event
}

func readCommand(r *reader) Command {
	command := newCommand(r.kind(), r)
	if command == nil {
		return nil
	}
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "kind":
			r.skip()
		case "unit":
			command.Emitter(r.name())
		case "at":
			command.SetPlace(r.text())
		default:
			command.read(key, r)
		}
	}
	return command
}

func newEvent(kind string, r *reader) Event {
	switch kind {
	case "started":
		return &Started{}
	case "activity-resolved":
		return &ActivityResolved{}
	case "timer-fired":
		return &TimerFired{}
	case "child-resolved":
		return &ChildResolved{}
	case "signal":
		return &SignalReceived{}
	case "update":
		return &UpdateReceived{}
	case "cancel-requested":
		return &CancelRequested{}
	case "terminate-requested":
		return &TerminateRequested{}
	case "reset-requested":
		return &ResetRequested{}
	}
	r.fail("an event of kind %q, which this version does not know", abbreviate(kind))
	return nil
}

func newCommand(kind string, r *reader) Command {
	switch kind {
	case "schedule-activity":
		return &ScheduleActivity{}
	case "cancel-activity":
		return &CancelActivity{}
	case "start-timer":
		return &StartTimer{}
	case "cancel-timer":
		return &CancelTimer{}
	case "start-child":
		return &StartChild{}
	case "cancel-child":
		return &CancelChild{}
	case "mark-patch":
		return &MarkPatch{}
	case "upsert-attributes":
		return &UpsertAttributes{}
	case "respond-update":
		return &RespondUpdate{}
	case "continue-as-new":
		return &ContinueAsNew{}
	case "complete":
		return &CompleteRun{}
	case "fail":
		return &FailRun{}
	case "cancel":
		return &CancelRun{}
	case "terminate":
		return &TerminateRun{}
	case "reset":
		return &ResetRun{}
	}
	r.fail("a command of kind %q, which this version does not know", abbreviate(kind))
	return nil
}
