package history

import (
	"reflect"
	"strconv"
	"strings"
)

// Event is something that happened to a run. It first lies in the run's inbox, then a record takes it.
//
// The set is closed: the codec knows every kind by name (see decodeEvent).
type Event interface {
	// Kind is the stored name of this sort of event.
	Kind() string
	// Key names the inbox item that this event lies in, within its run: two filings of one happening have the same key.
	// Results and firings belong to a generation; mail belongs to the run.
	Key(generation int) string
	// Filing tells apart the filings of one key. The engine sets it when the item is filed; it is empty for an event
	// that never lay in an inbox (the result of a step that the record's own author ran).
	Filing() string

	setFiling(id string)
	write(w *writer)
	read(key []byte, r *reader)
}

// filed is the part that all events share.
type filed struct{ filing string }

func (f *filed) Filing() string      { return f.filing }
func (f *filed) setFiling(id string) { f.filing = id }

// File sets the identity of one filing of an event, when the event is put into an inbox.
func File(event Event, filing string) { event.setFiling(filing) }

// Refile gives a copy of an event as another filing of it: what a message carries is filed as often as it is received.
func Refile(event Event, filing string) Event {
	value := reflect.New(reflect.TypeOf(event).Elem())
	value.Elem().Set(reflect.ValueOf(event).Elem())
	again := value.Interface().(Event)
	again.setFiling(filing)
	return again
}

// Keys of inbox items. A key is an identity: what has the same key is the same happening.
func startKey(generation int) string { return "start#" + strconv.Itoa(generation) }

func resultKey(generation int, seq int64) string {
	return "result#" + strconv.Itoa(generation) + "#" + strconv.FormatInt(seq, 10)
}

func firedKey(generation int, seq int64) string {
	return "fired#" + strconv.Itoa(generation) + "#" + strconv.FormatInt(seq, 10)
}

const mailPrefix = "mail#"

// mailKey is made of all that tells messages apart: the same id with another kind or name is
// another message. No id has a #, and a name comes last, so no two messages fall together.
func mailKey(id, kind, name string) string {
	key := mailPrefix + id + "#" + kind
	if name != "" {
		key += "#" + name
	}
	return key
}

// OldMailKey says whether a key names a message by its id alone, as records did before messages
// were told apart by kind and name.
func OldMailKey(key string) bool {
	id, is := strings.CutPrefix(key, mailPrefix)
	return is && !strings.Contains(id, "#")
}

// MessageName is a message's name within its run: its key without the prefix that all messages
// share.
func MessageName(mail Mail) string { return mail.Key(0)[len(mailPrefix):] }

// Mail is implemented by the events that a caller sends to a run, in the order in which the caller sent them.
type Mail interface {
	Event
	// MailID is the id that the caller chose, or was given: a second message of the same id, kind
	// and name is the same message.
	MailID() string
	// Chosen says whether a caller chose the id, so that another message may have it. Then the run
	// keeps a note of where its log has the message.
	Chosen() bool
	// Choose says that a caller chose the id.
	Choose()
}

// Resolution is implemented by the events that resolve a command by its sequence number.
type Resolution interface {
	Event
	// Resolves is the sequence number of the command.
	Resolves() int64
}
