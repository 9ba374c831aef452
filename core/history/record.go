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
	Resumes  []int64
	Events   []Event
	Commands []Command
}

// Item names one filing of an inbox item.
type Item struct{ Key, Filing string }

// Closes gives the command that closes the generation, if this record has one.
func (rec *Record) Closes() Terminal {
	if len(rec.Commands) == 0 {
		return nil
	}
	terminal, _ := rec.Commands[len(rec.Commands)-1].(Terminal)
	return terminal
}
