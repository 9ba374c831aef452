package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// ledger says what belongs to whom (PROTOCOL.md rule 4): an item, or a step, belongs to the author of the newest record
// that names it. It is filled from the records of one generation, in order.
type ledger struct {
	items   map[string]claim    // items named by a record, by key
	steps   map[int64]*openStep // that are pending
	authors map[string]*author
	mail    map[string]letter   // that was taken, by name (history.MessageName); from logs of old, by id
	origin  int                 // the generation in which the run began; zero: the first
	began   time.Time           // the generation
	forgot  time.Time           // until then, more mail was taken than is known
	logs    *history.Logs       // of earlier generations
	asked   map[int64]bool      // activities whose cancellation is in the log
	timers  map[int64]time.Time // that are waited for: when they are due
}

// openStep is a step that is not answered yet.
type openStep struct {
	author    *author
	scheduled time.Time
	tried     history.Tried // before the last hand-over
	waits     bool          // for its time: it was handed over, and nobody runs it
}

// letter is mail that was taken.
type letter struct {
	order int32 // of being taken
	here  bool  // by this generation, not one before it
}

type claim struct {
	filing string
	author *author
	record int // the number of the record that took the item; zero: unknown
}

// author is an invocation that put records into this log.
type author struct {
	name  string
	until time.Time
	// newest of its records: what it asks for is all that can be unsent (everything before was sent before it was put).
	newest int
	asks   []history.Command
	time   time.Time
	base   bool // its newest record begins a generation that goes on from an earlier one: all that is pending is asked for
	stops  bool // a step that it handed over, to be tried again later, was asked to stop
	// retried are the steps whose results it recorded after failed attempts: their states are to be
	// deleted.
	retried []int64
}

// set makes the map at its first entry: most live runs have most of these empty.
func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// add goes on by one record of the generation.
func (l *ledger) add(generation int, rec *history.Record) {
	a := l.authors[rec.Author]
	if a == nil {
		a = &author{name: rec.Author}
		set(&l.authors, rec.Author, a)
	}
	a.until, a.newest, a.asks, a.time, a.base = rec.Until, rec.Number, rec.Commands, rec.Time, false
	if rec.Number == 1 {
		l.began = rec.Time
	}
	for _, item := range rec.Again {
		name := l.named(item)
		set(&l.items, name, claim{item.Filing, a, l.items[name].record})
	}
	for _, seq := range rec.Resumes {
		if step := l.steps[seq]; step != nil {
			step.author, step.waits = a, false
		} else { // of a base
			set(&l.steps, seq, &openStep{author: a, scheduled: rec.Time})
		}
	}
	for _, tried := range rec.Tried {
		if step := l.steps[tried.Seq]; step != nil {
			step.tried, step.waits = tried, true
			a.stops = a.stops || l.asked[tried.Seq]
		}
	}
	for _, event := range rec.Events {
		if event.Filing() != "" {
			set(&l.items, event.Key(generation), claim{event.Filing(), a, rec.Number})
		}
		switch event := event.(type) {
		case *history.Started:
			a.base = event.Base != nil
			l.remember(event)
		case history.Mail:
			l.took(history.MessageName(event), true)
		case *history.ActivityResolved:
			if l.steps[event.Seq] != nil && len(event.Attempts) > 0 {
				a.retried = append(a.retried, event.Seq)
			}
			delete(l.steps, event.Seq)
		case *history.TimerFired:
			delete(l.timers, event.Seq)
		}
	}
	for _, command := range rec.Commands {
		switch command := command.(type) {
		case *history.ScheduleActivity:
			if command.Inline {
				set(&l.steps, command.Seq(), &openStep{author: a, scheduled: rec.Time})
			}
		case *history.CancelActivity:
			set(&l.asked, command.Seq(), true)
			if step := l.steps[command.Seq()]; step != nil && step.waits {
				step.author.stops = true
			}
		case *history.StartTimer:
			set(&l.timers, command.Seq(), rec.Time.Add(command.Duration))
		case *history.CancelTimer:
			delete(l.timers, command.Seq())
		}
	}
}

// mailSkew is how far the clock of a sender's machine may be ahead of that of a run's.
const mailSkew = time.Second

// remember notes which mail earlier generations took.
func (l *ledger) remember(start *history.Started) {
	for _, name := range start.Mail {
		l.took(name, false)
	}
	handedOn := func(mail history.Mail) { // its name, if it is forgotten otherwise, is older than those that are not
		if _, known := l.heard(mail); !known {
			set(&l.mail, history.MessageName(mail), letter{order: -1})
		}
	}
	for _, signal := range start.Signals {
		handedOn(signal)
	}
	for _, mail := range start.Letters {
		handedOn(mail)
	}
	l.forgot, l.logs, l.origin = start.Forgot, start.Logs, start.Origin
}

func (l *ledger) took(name string, here bool) {
	order := int32(len(l.mail))
	if known, is := l.mail[name]; is {
		order = known.order
	}
	set(&l.mail, name, letter{order, here})
}

// heard says whether the run is known to have taken a message.
func (l *ledger) heard(mail history.Mail) (letter, bool) {
	if taken, known := l.mail[history.MessageName(mail)]; known {
		return taken, true
	}
	taken, known := l.mail[mail.MailID()] // handed on before messages had names
	return taken, known
}

// named gives the name of an item that a record names. A record from before messages were told
// apart by kind and name has a message's id alone: its filing says which item it is.
func (l *ledger) named(item history.Item) string {
	if history.OldMailKey(item.Key) {
		for name, taken := range l.items { // order-insensitive: no two filings are the same
			if taken.filing == item.Filing {
				return name
			}
		}
	}
	return item.Key
}

// handOn has the start of the next generation say which mail was taken so far, last of all in the record that ends this one: the
// newest names, and how far back they reach; and which logs are kept.
func (l *ledger) handOn(start *history.Started, last *history.Record, config Config) {
	letters := slices.SortedFunc(maps.Keys(l.mail), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.mail[a].order, l.mail[b].order), cmp.Compare(a, b))
	})
	for _, event := range last.Events {
		if mail, ok := event.(history.Mail); ok {
			letters = append(letters, history.MessageName(mail))
		}
	}
	over := max(0, len(letters)-config.KnownMail)
	start.Mail, start.Forgot, start.Origin = letters[over:], l.forgot, l.origin
	if over > 0 {
		start.Forgot = last.Time
		if newest, noted := l.mail[letters[over-1]]; noted && !newest.here && !l.began.IsZero() { // all that is forgotten came before
			start.Forgot = l.began
		}
	}
	start.Logs = l.expire(start, last.Time, config.Retention)
}

// beginAnew has the start of another run under the id say which logs are kept. It hands on no names
// of messages: what was sent to the run before is told by its key, and what is sent to this one is
// new to it.
func (l *ledger) beginAnew(start *history.Started, now time.Time, config Config) {
	start.Origin = start.Generation
	start.Logs = l.expire(start, now, config.Retention)
}

// expiredAtOnce is how many logs are deleted, at most, where a generation begins: more than one, or they would become more and more.
const expiredAtOnce = 4

// expire says which logs are kept when the next generation begins, at a time: those of generations that ended less than a retention
// before. A reset lets none expire: the time of those that it goes on from begins when the next generation ends.
func (l *ledger) expire(next *history.Started, now time.Time, retention time.Duration) *history.Logs {
	if retention <= 0 {
		return nil
	}
	if l.logs == nil {
		return &history.Logs{First: 1, Ended: 1, At: now}
	}
	kept := history.Logs{First: l.logs.First, Ended: l.logs.Ended, At: l.logs.At}
	if next.Base != nil || now.Sub(kept.At) < retention {
		return &kept
	}
	kept.Expired = min(expiredAtOnce, kept.Ended-kept.First)
	if kept.First += kept.Expired; kept.First == kept.Ended {
		kept.Ended, kept.At = next.Generation, now
	}
	return &kept
}

// mayBeOfEarlier says whether an item is a message that an earlier generation of the run may have
// taken, and since when that can have been (zero: since ever): its name was handed on, or it was
// sent when more was taken than is known.
func (l *ledger) mayBeOfEarlier(item port.Item) (maybe bool, since time.Time) {
	mail, ok := item.Event.(history.Mail)
	if !ok {
		return false, since
	}
	if taken, known := l.heard(mail); known {
		return !taken.here, since
	}
	stamp := time.Unix(0, item.Stamp)
	return stamp.Before(l.forgot.Add(mailSkew)), stamp.Add(-mailSkew)
}

// oldest is the first of the earlier generations whose log need be looked at. Those that expire go when the start is recorded that
// says so: until then, what they took may lie in the inbox.
func (l *ledger) oldest() int {
	switch {
	case l.logs == nil:
		return 1
	case l.began.IsZero():
		return l.logs.First - l.logs.Expired
	}
	return l.logs.First
}

// asksWaiting says whether a record asks a step to stop that nobody runs at the moment.
func (l *ledger) asksWaiting(rec *history.Record) bool {
	return slices.ContainsFunc(rec.Commands, func(command history.Command) bool {
		cancel, ok := command.(*history.CancelActivity)
		return ok && l.steps[cancel.Seq()] != nil && l.steps[cancel.Seq()].waits
	})
}

// tried says what became of a step before the last hand-over.
func (l *ledger) tried(seq int64) history.Tried {
	if step := l.steps[seq]; step != nil && step.tried.Seq == seq {
		return step.tried
	}
	return history.Tried{Seq: seq}
}

// forget drops what is of no more use: items that are no longer in the inbox, and authors who answer for nothing. An item
// that is filed again later is not found here, and is void all the same: its command is not pending, or its mail is known.
func (l *ledger) forget(view *port.View) {
	if len(l.items) > 0 {
		inbox := make(map[string]bool, len(view.Inbox))
		for _, item := range view.Inbox {
			inbox[item.Name()] = true
		}
		maps.DeleteFunc(l.items, func(key string, _ claim) bool { return !inbox[key] })
	}
	if len(l.authors) < 16 {
		return
	}
	needed := map[string]*author{}
	for _, c := range l.items { // order-insensitive: a set is made
		needed[c.author.name] = c.author
	}
	for _, step := range l.steps { // order-insensitive: a set is made
		needed[step.author.name] = step.author
	}
	l.authors = needed
}
