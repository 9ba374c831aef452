package machine

import (
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Fold is what a log alone says of where a generation stands, without running any author's code: enough to send again what
// is pending, and to close it from outside. The zero value is a log before its first record.
type Fold struct {
	Started *history.Started
	// Generation of the records to come; the reader sets it.
	Generation int
	// Records is the number of the last record; Base says how many of an earlier generation come before the first.
	Records int
	// Time, Commands and Closes are the last record's.
	Time     time.Time
	Commands []history.Command
	Closes   history.Terminal
	pending  []Pending
}

// Pending is a command whose answer is waited for, and when it was recorded.
type Pending struct {
	Command history.Sequenced
	Time    time.Time
	// Generation whose log has the command: an earlier one where a reset kept it.
	Generation int
	// Cancel is the request to stop that the log has, if it has one.
	Cancel history.Command
}

// Add goes on by one record.
func (f *Fold) Add(rec *history.Record) {
	for _, event := range rec.Events {
		switch event := event.(type) {
		case *history.Started:
			if f.Started == nil {
				f.Started = event
			}
		case history.Resolution:
			f.drop(event.Resolves())
		}
	}
	for _, command := range rec.Commands {
		switch command := command.(type) {
		case *history.ScheduleActivity, *history.StartTimer, *history.StartChild:
			f.pending = append(f.pending, Pending{Command: command.(history.Sequenced), Time: rec.Time, Generation: f.Generation})
		case *history.CancelTimer:
			f.drop(command.Seq())
		case *history.CancelActivity:
			if f.asked(command); command.Abandoned {
				f.drop(command.Seq())
			}
		case *history.CancelChild:
			f.asked(command)
		}
	}
	f.Records, f.Time, f.Commands, f.Closes = rec.Number, rec.Time, rec.Commands, rec.Closes()
}

func (f *Fold) asked(cancel history.Sequenced) {
	for i := range f.pending {
		if f.pending[i].Command.Seq() == cancel.Seq() {
			f.pending[i].Cancel = cancel
		}
	}
}

// Find gives a pending command by its number.
func (f *Fold) Find(seq int64) (history.Sequenced, bool) {
	for _, p := range f.pending {
		if p.Command.Seq() == seq {
			return p.Command, true
		}
	}
	return nil, false
}

func (f *Fold) drop(seq int64) {
	f.pending = slices.DeleteFunc(f.pending, func(p Pending) bool { return p.Command.Seq() == seq })
}

// Pending lists what is waited for, in order of sequence numbers.
func (f *Fold) Pending() []Pending { return f.pending }
