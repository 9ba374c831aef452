package history

import "time"

// Version of the stored form. A reader reads every version up to its own.
const Version = 1

// Record is one activation as it is stored: what happened, and what the run decided.
//
// A record is put before anything that it caused is sent. Putting it again is refused (its place is taken), sending
// again does no harm (PROTOCOL.md rule 3).
type Record struct {
	// Number of the record in its generation's log, from 1, without a gap.
	Number int
	// Time of the activation: what the run's code sees as now, and what its timers count from.
	Time time.Time
	// Author is the invocation that put the record. Until says when it has certainly ended, clock skew included; zero: it
	// lives as long as the process that holds the store.
	Author string
	Until  time.Time
	// Again names items that an author now dead took and did not tidy: they are this author's from here on.
	Again []Item
	// Resumes names steps of dead authors that this author runs from here on.
	Resumes []int64
	// Tried says of steps that are handed over what became of them so far.
	Tried    []Tried
	Events   []Event
	Commands []Command
	// Checkpoint is nil in most records.
	Checkpoint *Checkpoint
}

// Tried is what became of a step before its invocation had too little time left for another attempt. It is in the log since
// attempts would else be counted anew in each invocation, and none could wait for longer than an invocation lasts.
type Tried struct {
	Seq      int64
	Attempts []Attempt // the last few that failed, oldest first
	Next     time.Time // when the next one may begin; zero: at once
}

// Count is how many attempts there were.
func (t Tried) Count() int {
	if len(t.Attempts) == 0 {
		return 0
	}
	return t.Attempts[len(t.Attempts)-1].Number
}

// Item names one filing of an inbox item.
type Item struct{ Key, Filing string }

// Started gives the start that the record takes. Nil: it is not the first of its generation.
func (rec *Record) Started() *Started {
	for _, event := range rec.Events {
		if started, ok := event.(*Started); ok {
			return started
		}
	}
	return nil
}

// StartIn gives the start of a generation from the first records of its log. Nil: these are others.
func StartIn(records []*Record) *Started {
	if len(records) == 0 {
		return nil
	}
	return records[0].Started()
}

// BaseIn gives the base of that generation. Nil: no reset began it, or as with [StartIn].
func BaseIn(records []*Record) *Base {
	if started := StartIn(records); started != nil {
		return started.Base
	}
	return nil
}

// Closes gives the command that closes the generation, if this record has one.
func (rec *Record) Closes() Terminal {
	if len(rec.Commands) == 0 {
		return nil
	}
	terminal, _ := rec.Commands[len(rec.Commands)-1].(Terminal)
	return terminal
}
