package port

import (
	"context"

	"github.com/reprise-run/reprise/core/history"
)

// Runs is the table: summaries, logs, inboxes. All reads are strongly consistent.
type Runs interface {
	// Look reads a run: its summary, its inbox, and then what its current generation's log has
	// after the record that the caller knows (all of it, if it knows another generation). The log
	// may be given in part: see [View.More]. If the caller knows [Newest], it gives the log's
	// newest records, as [Runs.RecordsBefore] does. ErrNoRun if there is none;
	// history.ErrUnreadable if what is stored cannot be read.
	Look(ctx context.Context, run string, known Position) (*View, error)
	// Records reads a part of one generation's log, in order: those after a number, as many as fit
	// one page; none at its end.
	Records(ctx context.Context, run string, generation, after int) ([]*history.Record, error)
	// RecordsBefore reads a part of one generation's log from its end: the last records before a
	// number, in order, as many as fit one page, and [NewestRecords] at most; none at its
	// beginning. It gives their checkpoints. The other reads say only which records have one.
	RecordsBefore(ctx context.Context, run string, generation, before int) ([]*history.Record,
		error)
	// Summary reads only that. ErrNoRun if there is none. history.ErrUnreadable if it cannot be
	// read, beside what else is known: nil, or the run's generation, status, workflow and times.
	// See [Shown].
	Summary(ctx context.Context, run string) (*Summary, error)
	// Create puts a summary and the item of its start in one transaction, if there is no run of
	// this id. Else ErrTaken.
	Create(ctx context.Context, summary *Summary, start Item) error
	// File puts an item into the inbox of a run, if none of its key is there. It gives the stamp of
	// the one that lies there then, and says whether that was there before. ErrNoRun if there is no
	// run, from a store that can tell at no extra cost.
	File(ctx context.Context, run string, item Item) (stamp int64, there bool, err error)
	// Put puts record n of a generation, if there is none, in one transaction with what it changes
	// elsewhere. ErrTaken if there is one, or if the summary that the change replaces is of another
	// generation. A mark stays: only Block and Unblock touch it.
	Put(ctx context.Context, commit *Commit) error
	// DeleteLog deletes the log of a generation before the present one, and the notes of its
	// records; what of it is kept elsewhere (large payloads) may stay as long as the run. One that
	// is not there is no error. It may be delayed, and is not done before deletions asked for
	// earlier.
	DeleteLog(ctx context.Context, run string, generation int) error
	// Delete deletes items from an inbox. One that is not there is no error. It may be delayed, and
	// lost with the process.
	Delete(ctx context.Context, run string, keys []string) error
	// Note keeps which records took some messages, as long as the logs of these records are kept.
	// The latest note of a key counts. It may be delayed, and lost with the process; then deletions
	// that are asked for later are delayed and lost, too. It is no error if there is no run.
	Note(ctx context.Context, run string, notes []Note) error
	// Noted reads the note of a key: the zero Position if there is none.
	Noted(ctx context.Context, run, key string) (Position, error)
	// Item reads one item of an inbox: nil if it is not there. It costs the same however much the
	// run has besides.
	Item(ctx context.Context, run, key string) (*Item, error)
	// Record reads one record: nil if it is not there. It costs the same however long the log is.
	Record(ctx context.Context, run string, at Position) (*history.Record, error)
	// Discard deletes items as Delete does, if the run is still in a generation; else ErrTaken. It
	// is for who has seen that generation end: the next one may take what lies there.
	Discard(ctx context.Context, run string, generation int, keys []string) error
	// Block marks a run, in the place of a mark that is there. ErrNoRun if there is no run.
	Block(ctx context.Context, run string, block *Block) error
	// Unblock takes the mark of this id off, and no other. None is no error, nor is no run.
	Unblock(ctx context.Context, run, mark string) error
}

// Sizer is what a [Runs] may be, too: a store that knows how much there is to read before it reads
// it. Memory is then taken from the budget (engine.Config.Memory) before a large run is read. None
// of its methods reads a value.
type Sizer interface {
	// Size is about how many bytes are stored of a run: summary, inbox, and the log of its current
	// generation. ErrNoRun if there is none.
	Size(ctx context.Context, run string) (int64, error)
	// SizeOfSummary is Size without the log: what is read where only the summary is asked for.
	SizeOfSummary(ctx context.Context, run string) (int64, error)
	// SizeOfNewest is about how many bytes are stored of what Look gives for [Newest]. ErrNoRun if
	// there is none.
	SizeOfNewest(ctx context.Context, run string) (int64, error)
	// SizeOfRecords is about how many bytes are stored of what Records would give.
	SizeOfRecords(ctx context.Context, run string, generation, after int) (int64, error)
}

// Position is a place in a run's log: record number Record of generation Generation; the zero
// Position is before all.
type Position struct{ Generation, Record int }

// View is what one look at a run shows.
type View struct {
	Summary *Summary
	// Inbox in no particular order; see [Item.Stamp].
	Inbox []Item
	// Records of the current generation after the known ones, in order.
	Records []*history.Record
	// More: the log has records after Records, for [Runs.Records] to read. Where the caller knew
	// [Newest], it has records before them, for [Runs.RecordsBefore] to read.
	More bool
}

// Note says where the log has a message: the record at Taken took the item of this key.
type Note struct {
	Key   string
	Taken Position
}

// Newest is the position of a caller of [Runs.Look] that needs only the newest records of the log.
var Newest = Position{Record: -1}

// CheckpointAfter is how many records come between two checkpoints, unless the engine is told
// otherwise.
const CheckpointAfter = 64

// NewestRecords is how many records [Runs.RecordsBefore] gives at most: as many as a reader needs
// of most logs.
const NewestRecords = CheckpointAfter + 1

// Started is what the current generation begins with: the start that its first record took, or the
// one in the inbox before there is a record. Nil: the view has neither.
func (v *View) Started() *history.Started {
	if len(v.Records) > 0 {
		return history.StartIn(v.Records)
	}
	return v.Start()
}

// Base gives where the current generation continues, if a reset began it.
func (v *View) Base() *history.Base {
	if started := v.Started(); started != nil {
		return started.Base
	}
	return nil
}

// Start is the start of the present generation, if it lies in the inbox; nil if it is not there.
func (v *View) Start() *history.Started {
	for _, item := range v.Inbox {
		if started, ok := item.Event.(*history.Started); ok &&
			started.Generation == v.Summary.Generation {
			return started
		}
	}
	return nil
}

// Commit is one activation, about to be stored.
type Commit struct {
	Run        string
	Generation int
	// Record is nil only where a closed run goes on in a new generation.
	Record *history.Record
	// Summary replaces the run's summary, if it is not nil: in one transaction with the record. Its
	// own mark says nothing: the run's stays as it is, since whoever makes this commit may have
	// looked before the run was blocked, and others have left their mail to whoever unblocks it.
	Summary *Summary
	// Next is the start of the next generation, where this commit begins one.
	Next *Item
}
