package machine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Fold is what a log alone says of where a generation stands, without running any author's code: enough to send again what
// is pending, and to close it from outside. The zero value is a log before its first record.
type Fold struct {
	// Generation of the records to come; the reader sets it.
	Generation int
	// Records is the number of the last record.
	Records int
	// Time, Commands and Closes are the last record's.
	Time     time.Time
	Commands []history.Command
	Closes   history.Terminal

	pending map[int64]history.Pending // by number
	weight  int                       // of what is pending, in bytes
	// records that came after the last checkpoint, with the record that has it
	since int
	bytes int // of these
}

// Estimates of what a record takes, an event or a command in it, and a command in a checkpoint,
// beside their values.
const (
	bytesOfRecord  = 150
	bytesOfPart    = 100
	bytesOfPending = 200
)

// Add goes on by one record.
func (f *Fold) Add(rec *history.Record) {
	if rec.Checkpoint != nil {
		f.since, f.bytes = 0, 0
	}
	f.since++
	f.bytes += bytesOfRecord + bytesOfPart*(len(rec.Events)+len(rec.Commands)) + rec.Bytes()
	for _, event := range rec.Events {
		switch event := event.(type) {
		case *history.Started:
			if event.Base != nil {
				for seq, p := range f.pending { // order-insensitive: each on its own
					f.pending[seq] = p.Again(rec.Time)
				}
			}
		case history.Resolution:
			f.drop(event.Resolves())
		}
	}
	for _, command := range rec.Commands {
		switch command := command.(type) {
		case *history.ScheduleActivity, *history.StartTimer, *history.StartChild:
			f.keep(history.Pending{Command: command.(history.Sequenced), Time: rec.Time,
				Generation: f.Generation})
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

// Begin has a fold of no records begin at one that has a checkpoint: what came before it is as if
// it had been added. Add adds the record itself.
func (f *Fold) Begin(checkpoint *history.Checkpoint) {
	for _, p := range checkpoint.Pending {
		f.keep(p)
	}
}

// Checkpoint is that of the record to come; nil: it needs none. A record has one after so many
// others, once these are as long as the checkpoint. So checkpoints take up half of a log at most. A
// reader needs so many records of it, or no more bytes than the pending commands have.
func (f *Fold) Checkpoint(after int) *history.Checkpoint {
	if f.since < after || f.bytes < f.weight {
		return nil
	}
	return &history.Checkpoint{Pending: f.Pending()}
}

func (f *Fold) keep(p history.Pending) {
	if f.pending == nil {
		f.pending = make(map[int64]history.Pending)
	}
	f.pending[p.Command.Seq()] = p
	f.weight += weightOf(p)
}

func weightOf(p history.Pending) int { return bytesOfPending + history.CommandBytes(p.Command) }

func (f *Fold) asked(cancel history.Sequenced) {
	if p, pending := f.pending[cancel.Seq()]; pending {
		p.Cancel = cancel
		f.pending[cancel.Seq()] = p
	}
}

// Find gives a pending command by its number.
func (f *Fold) Find(seq int64) (history.Sequenced, bool) {
	p, pending := f.pending[seq]
	return p.Command, pending
}

func (f *Fold) drop(seq int64) {
	if p, pending := f.pending[seq]; pending {
		f.weight -= weightOf(p)
		delete(f.pending, seq)
	}
}

// Pending lists what is waited for, in order of sequence numbers.
func (f *Fold) Pending() []history.Pending {
	return slices.SortedFunc(maps.Values(f.pending), func(a, b history.Pending) int {
		return cmp.Compare(a.Command.Seq(), b.Command.Seq())
	})
}
