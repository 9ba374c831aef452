//go:build kill

package kill

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// log is what the records of one run say.
type log struct {
	records   int
	last      time.Time // of the latest record
	closes    history.Terminal
	scheduled map[int64]*history.ScheduleActivity
	resolved  map[int64]*history.ActivityResolved
	pending   map[int64]bool // what has a number and no answer yet
	mail      map[string]int
	wrong     []string
}

func newLog() *log {
	return &log{scheduled: map[int64]*history.ScheduleActivity{}, resolved: map[int64]*history.ActivityResolved{}, pending: map[int64]bool{}, mail: map[string]int{}}
}

func (l *log) add(rec *history.Record) {
	l.records++
	if rec.Number != l.records {
		l.wrongly("record %d stands where %d belongs", rec.Number, l.records)
	}
	if l.closes != nil {
		l.wrongly("record %d comes after the one that closes", rec.Number)
	}
	if rec.Time.Before(l.last) {
		l.wrongly("record %d is of %s, the one before of %s", rec.Number, rec.Time, l.last)
	}
	l.last, l.closes = rec.Time, rec.Closes()
	for _, event := range rec.Events {
		l.happened(event)
	}
	for _, command := range rec.Commands {
		if numbered, ok := command.(history.Sequenced); ok {
			l.decided(numbered)
		}
	}
}

func (l *log) happened(event history.Event) {
	switch event := event.(type) {
	case *history.ActivityResolved:
		l.answered(event.Seq)
		l.resolved[event.Seq] = event
		before := 0
		for _, attempt := range event.Attempts {
			between := errors.Is(failure(event), history.ErrCancelled) && attempt.Number == max(1, event.Number) // it waited for the next
			if attempt.Number <= before || attempt.Number >= event.Number && !between {
				l.wrongly("activity %d is answered by attempt %d, and shows a failed attempt %d after %d", event.Seq, event.Number, attempt.Number, before)
			}
			before = attempt.Number
		}
	case history.Resolution:
		l.answered(event.Resolves())
	case history.Mail:
		if l.mail[event.MailID()]++; l.mail[event.MailID()] > 1 {
			l.wrongly("mail %s is taken twice", event.MailID())
		}
	}
}

// failure of an activity, or none.
func failure(event *history.ActivityResolved) error {
	if event.Failure == nil {
		return nil
	}
	return event.Failure
}

func (l *log) answered(seq int64) {
	if !l.pending[seq] {
		l.wrongly("an answer to %d, which nothing waits for", seq)
	}
	delete(l.pending, seq)
}

func (l *log) decided(command history.Sequenced) {
	seq := command.Seq()
	switch command := command.(type) {
	case *history.ScheduleActivity:
		if l.scheduled[seq] != nil {
			l.wrongly("activity %d is scheduled twice", seq)
		}
		l.scheduled[seq] = command
		l.pending[seq] = true
	case *history.StartTimer:
		l.pending[seq] = true
	case *history.CancelTimer:
		delete(l.pending, seq)
	}
}

func (l *log) wrongly(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// problems of the log by itself. Orders wait for all their activities.
func (l *log) problems() []string {
	problems := l.wrong
	for seq, activity := range l.scheduled {
		if l.resolved[seq] == nil {
			problems = append(problems, fmt.Sprintf("%s (%d) was scheduled and never resolved", activity.Activity, seq))
		}
	}
	return problems
}

// key is the idempotency key of the call of an activity; empty if there was none.
func (l *log) key(run, activity string) string {
	for seq, scheduled := range l.scheduled {
		if scheduled.Activity == activity {
			return fmt.Sprintf("%s/1/%d", run, seq)
		}
	}
	return ""
}

// succeeded gives an activity's result, if it has one.
func (l *log) succeeded(activity string) (result string, ok bool) {
	for seq, scheduled := range l.scheduled {
		if resolved := l.resolved[seq]; scheduled.Activity == activity && resolved != nil && resolved.Failure == nil {
			text, err := history.Decode[any](resolved.Result)
			result, _ := text.(string)
			return result, err == nil
		}
	}
	return "", false
}
