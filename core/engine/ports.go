package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// Ports are what the engine needs of the world. core/engine/enginetest holds the suite that every adapter passes.
type Ports struct {
	Runs      Runs
	Directory Directory
	Due       Due
	Tasks     Tasks
	Queue     Queue
	Clock     Clock
	// Authors says who may still be alive.
	Authors Authors
	// NewID gives an id that nobody can guess and nobody has had: 128 random bits, as text of [a-z0-9].
	NewID func() string
	// Together: queues, and what is filed without [Item.Durable], die with this process, and [Engine.Rebuild] runs before
	// anything else at its next start. Then filing first and resuming after is as sure as the other way round, and no
	// message needs to carry an item (PROTOCOL.md rule 1).
	Together bool
	// Forget takes timers back that nobody waits for any more: from the queue, and from Due. Those that it does not find fire in
	// vain, as all do without it (nil).
	Forget func(timers []DueTimer)
}

// Runs is the table: summaries, logs, inboxes. All reads are strongly consistent.
type Runs interface {
	// Look reads a run: its summary, its inbox, and then what its current generation's log has after the record that the
	// caller knows (all of it, if it knows another generation). The log may be given in part: see [View.More].
	// If the caller knows [Newest], it gives the log's newest records, as [Runs.RecordsBefore] does.
	// ErrNoRun if there is none; history.ErrUnreadable if what is stored cannot be read.
	Look(ctx context.Context, run string, known Position) (*View, error)
	// Records reads a part of one generation's log, in order: those after a number, as many as fit one page; none at its end.
	Records(ctx context.Context, run string, generation, after int) ([]*history.Record, error)
	// RecordsBefore reads a part of one generation's log from its end: the last records before a
	// number, in order, as many as fit one page, and [NewestRecords] at most; none at its beginning.
	// It gives their checkpoints. The other reads say only which records have one.
	RecordsBefore(ctx context.Context, run string, generation, before int) ([]*history.Record, error)
	// Summary reads only that. ErrNoRun if there is none. history.ErrUnreadable if it cannot be read, beside what else is known: nil,
	// or the run's generation, status, workflow and times. See [Shown].
	Summary(ctx context.Context, run string) (*Summary, error)
	// Create puts a summary and the item of its start in one transaction, if there is no run of this id. Else ErrTaken.
	Create(ctx context.Context, summary *Summary, start Item) error
	// File puts an item into the inbox of a run, if none of its key is there. It gives the stamp of the one that lies there
	// then, and says whether that was there before. ErrNoRun if there is no run, from a store that can tell at no extra cost.
	File(ctx context.Context, run string, item Item) (stamp int64, there bool, err error)
	// Put puts record n of a generation, if there is none, in one transaction with what it changes elsewhere. ErrTaken if
	// there is one, or if the summary that the change replaces is of another generation. A mark stays: only Block and Unblock touch it.
	Put(ctx context.Context, commit *Commit) error
	// DeleteLog deletes the log of a generation before the present one, and the notes of its records; what of it is kept elsewhere (large payloads) may stay as
	// long as the run. One that is not there is no error. It may be delayed, and is not done before deletions asked for earlier.
	DeleteLog(ctx context.Context, run string, generation int) error
	// Delete deletes items from an inbox. One that is not there is no error. It may be delayed, and lost with the process.
	Delete(ctx context.Context, run string, keys []string) error
	// Note keeps which records took some messages, as long as the logs of these records are kept. The
	// latest note of a key counts. It may be delayed, and lost with the process; then deletions that
	// are asked for later are delayed and lost, too. It is no error if there is no run.
	Note(ctx context.Context, run string, notes []Note) error
	// Noted reads the note of a key: the zero Position if there is none.
	Noted(ctx context.Context, run, key string) (Position, error)
	// Item reads one item of an inbox: nil if it is not there. It costs the same however much the run
	// has besides.
	Item(ctx context.Context, run, key string) (*Item, error)
	// Record reads one record: nil if it is not there. It costs the same however long the log is.
	Record(ctx context.Context, run string, at Position) (*history.Record, error)
	// Discard deletes items as Delete does, if the run is still in a generation; else ErrTaken. It is for who has seen that generation
	// end: the next one may take what lies there.
	Discard(ctx context.Context, run string, generation int, keys []string) error
	// Block marks a run, in the place of a mark that is there. ErrNoRun if there is no run.
	Block(ctx context.Context, run string, block *Block) error
	// Unblock takes the mark of this id off, and no other. None is no error, nor is no run.
	Unblock(ctx context.Context, run, mark string) error
}

// Sizer is what a [Runs] may be, too: a store that knows how much there is to read before it reads
// it. Memory is then taken from the budget ([Config.Memory]) before a large run is read. None of its
// methods reads a value.
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

// Position is a place in a run's log: record number Record of generation Generation; the zero Position is before all.
type Position struct{ Generation, Record int }

// Note says where the log has a message: the record at Taken took the item of this key.
type Note struct {
	Key   string
	Taken Position
}

// Newest is the position of a caller of [Runs.Look] that needs only the newest records of the log.
var Newest = Position{Record: -1}

// checkpointAfter is how many records come between two checkpoints where nobody says.
const checkpointAfter = 64

// NewestRecords is how many records [Runs.RecordsBefore] gives at most: as many as a reader needs
// of most logs.
const NewestRecords = checkpointAfter + 1

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

// Item is something that happened to a run, in its inbox.
type Item struct {
	Key   string // identity: see history.Event.Key; that of mail says, too, which run it is for
	Event history.Event
	// Stamp orders mail: nanoseconds since 1970, later than the stamps of earlier mail of the same sender.
	Stamp int64
	// Durable: it cannot be brought back from the log alone. A store that dies with its queues (Ports.Together) must
	// keep durable items, and may keep the others in memory.
	Durable bool
}

// Commit is one activation, about to be stored.
type Commit struct {
	Run        string
	Generation int
	// Record is nil only where a closed run goes on in a new generation.
	Record *history.Record
	// Summary replaces the run's summary, if it is not nil: in one transaction with the record.
	// Its own mark says nothing: the run's stays as it is, since whoever makes this commit may have looked before the run was
	// blocked, and others have left their mail to whoever unblocks it.
	Summary *Summary
	// Next is the start of the next generation, where this commit begins one.
	Next *Item
}

// Summary is what everybody sees of a run.
type Summary struct {
	// Start is the filing of the start that created the run, or that reused its id. It shows which
	// caller's start that was. It is stored, and callers do not see it. It is "" in rows of older
	// versions, and in rows of children.
	Start      string             `json:"-"`
	Run        string             `json:"run"`
	Workflow   string             `json:"workflow"`
	Generation int                `json:"generation"`
	Status     history.Status     `json:"status"`
	Blocked    *Block             `json:"blocked,omitempty"`
	Started    time.Time          `json:"started"`
	Closed     time.Time          `json:"closed,omitzero"`
	Input      history.Payload    `json:"input,omitempty"`
	Result     history.Payload    `json:"result,omitempty"`
	Failure    *history.Failure   `json:"failure,omitempty"`
	State      history.Payload    `json:"state,omitempty"`
	Attributes history.Attributes `json:"attributes,omitempty"`
	Parent     *history.Parent    `json:"parent,omitempty"`
	// Large names the values that were left out of this summary for their length: see
	// [Summary.LeaveOut]. It is not stored.
	Large map[string]Large `json:"large,omitempty"`
}

// Block says why a run cannot advance.
type Block struct {
	// ID tells this mark from one that is made later: whoever was asked to take this one off leaves that alone.
	ID    string    `json:"id,omitempty"`
	Since time.Time `json:"since"`
	// Reason is a stable code: see the Reason constants.
	Reason string `json:"reason"`
	// Message says what happened, where, and what to do.
	Message string `json:"message"`
	// Version of the deployment under which it happened: another one may do better, and unblocks it.
	Version string `json:"version,omitempty"`
}

// Reasons for a block.
const (
	ReasonNondeterminism = "nondeterminism"       // the code no longer agrees with the log
	ReasonUnregistered   = "unknown-workflow"     // no such workflow is registered here
	ReasonUnreadable     = "unreadable-record"    // a record is damaged, or of a newer version
	ReasonPanic          = "panic"                // workflow code panicked
	ReasonUndecodable    = "undecodable-signal"   // a signal does not fit its type
	ReasonStuck          = "stuck-unit"           // workflow code blocks outside the surface
	ReasonViolation      = "scheduler-violation"  // workflow code called the surface out of turn
	ReasonUndeliverable  = "undeliverable-resume" // a resume was received too often
	ReasonActivation     = "failed-activation"    // anything else
)

// Directory lists runs.
type Directory interface {
	// List gives summaries that match, the latest start first, and a cursor for the next page (""
	// at the end). A page may be shorter than the limit although more follow. They are [Shown],
	// without values of more than [LongestListed] bytes: no run's values have another run left out
	// of a page, or a page refused.
	List(ctx context.Context, query ListQuery) (page []*Summary, next string, err error)
	// Unfinished gives the ids of open runs, and of closed ones with items in their inbox, page by page.
	Unfinished(ctx context.Context, cursor string) (runs []string, next string, err error)
}

// ListQuery says which runs to list. Empty fields match all.
type ListQuery struct {
	Status   history.Status
	Workflow string
	// Blocked: only those that are.
	Blocked bool
	// Attributes that must have these values. An attribute that is a list has the value of each of its elements, too.
	Attributes history.Attributes
	Limit      int
	Cursor     string
}

// Matches says whether a run is one to list. Attributes are the same if they differ in no more than the white space that
// JSON allows. It knows nothing of Limit and Cursor.
func (q ListQuery) Matches(summary *Summary) bool {
	if q.Status != "" && summary.Status != q.Status || q.Workflow != "" && summary.Workflow != q.Workflow || q.Blocked && summary.Blocked == nil {
		return false
	}
	for name, want := range q.Attributes {
		if have, there := summary.Attributes[name]; !there || !hasValue(compact(have), compact(want)) {
			return false
		}
	}
	return true
}

// hasValue says whether an attribute is the value, or is a list that contains it.
func hasValue(have, want []byte) bool {
	if bytes.Equal(have, want) {
		return true
	}
	var elements []json.RawMessage
	if !bytes.HasPrefix(have, []byte("[")) || json.Unmarshal(have, &elements) != nil {
		return false
	}
	return slices.ContainsFunc(elements, func(element json.RawMessage) bool { return bytes.Equal(element, want) })
}

// compact is a value without white space.
func compact(value history.Payload) []byte {
	var text bytes.Buffer
	if json.Compact(&text, value) != nil {
		return value
	}
	return text.Bytes()
}

// Due keeps timers that are too far away for a queue's delay, in buckets of a minute (PROTOCOL.md rule 8).
type Due interface {
	// PutDue puts timers, perhaps many. After an error, any of them may be there.
	PutDue(ctx context.Context, timers ...DueTimer) error
	// DueBefore gives timers whose bucket begins before a time, the earliest first, one page at most.
	DueBefore(ctx context.Context, before time.Time) ([]DueTimer, error)
	DeleteDue(ctx context.Context, timers []DueTimer) error
}

// DueTimer is a long timer's item.
type DueTimer struct {
	At         time.Time
	Run        string
	Generation int
	Seq        int64
}

// Tasks keeps what is known of activities under way, where more is needed than their message: they heartbeat, have failed
// before, were asked to stop, or wait to be completed from outside; and of steps that have failed.
type Tasks interface {
	// SaveTask keeps a state, in the place of the one that is there. Of that, one thing stays: no
	// save takes Cancelled off, as the caller may have looked before the activity was asked to stop.
	// A state that waits ([TaskState.Next], [TaskState.Pending]) or was asked to stop is durable when
	// SaveTask returns; others may be lost with the process.
	SaveTask(ctx context.Context, state *TaskState) error
	// CancelTask sets Cancelled, and changes nothing else of a state that is there. Only DeleteTask takes it off.
	CancelTask(ctx context.Context, key TaskKey) error
	// LoadTask gives nil if there is none.
	LoadTask(ctx context.Context, key TaskKey) (*TaskState, error)
	TasksOf(ctx context.Context, run string) ([]*TaskState, error)
	DeleteTask(ctx context.Context, key TaskKey) error
}

// TaskKey names one call of an activity.
type TaskKey struct {
	Run        string `json:"run"`
	Generation int    `json:"generation"`
	Seq        int64  `json:"seq"`
}

// TaskState is what is known of an activity under way.
type TaskState struct {
	TaskKey
	Activity string `json:"activity"`
	// Step: it runs inline. [Engine.ActivitiesOf] sets it from the log.
	Step    bool            `json:"step,omitempty"`
	Attempt int             `json:"attempt"`
	Started time.Time       `json:"started,omitzero"`  // of this attempt
	Beat    time.Time       `json:"beat,omitzero"`     // the last heartbeat
	Details history.Payload `json:"details,omitempty"` // of the last heartbeat
	Failure string          `json:"failure,omitempty"` // of the attempt before
	// Next is when this attempt may begin, if it waits for that. Zero: it has begun, or waits for
	// nothing.
	Next time.Time `json:"next,omitzero"`
	// Failed shows the last attempts that failed, oldest first. [EncodeTask] stores it; JSON does
	// not show it.
	Failed []history.Attempt `json:"-"`
	// Cancelled: the run asked it to stop.
	Cancelled bool `json:"cancelled,omitempty"`
	// Pending: the attempt has returned, and will be completed from outside.
	Pending bool `json:"pending,omitempty"`
	// Large names the details, where they were left out: see [TaskState.LeaveOut]. It is not stored.
	Large map[string]Large `json:"large,omitempty"`
}

// Queue sends messages: at least once, in any order, after their delay. It may group them; an error names none of them,
// and any may have been sent.
type Queue interface {
	SendResumes(ctx context.Context, messages ...Resume) error
	SendTasks(ctx context.Context, messages ...Task) error
}

// Resume is the message that has a run looked at, by functions/activate.
type Resume struct {
	Run   string
	Delay time.Duration
	// Unblocks is the id of the mark that is taken off first; empty: none.
	Unblocks string
	// Carries is filed first, if it is not nil.
	Carries *Item
	// Creates is the summary that goes with a carried start.
	Creates *Summary
}

// Task is the message that has one attempt of an activity executed, by functions/task.
type Task struct {
	Run        string
	Generation int
	// Origin is the generation whose log has the command, where a reset kept it from an earlier
	// one. Zero: Generation.
	Origin  int
	Command *history.ScheduleActivity
	// Scheduled is when the run decided on it; Sent when this attempt became due.
	Scheduled, Sent time.Time
	Attempt         int // from 1
	// Failed shows the last attempts that failed, oldest first.
	Failed []history.Attempt
	// Expire: this is no attempt, but a look at whether the attempt that is completed from outside is still on time.
	Expire bool
	Delay  time.Duration
}

// Limit is how long its attempt may run; zero: it has no limit of its own.
func (t *Task) Limit() time.Duration {
	switch limit := t.Command.Options.StartToClose; {
	case limit == 0:
		return startToClose
	case limit < 0:
		return 0
	default:
		return limit
	}
}

// origin is the generation whose log has the command.
func (t *Task) origin() int {
	if t.Origin > 0 {
		return t.Origin
	}
	return t.Generation
}

// Key names the call.
func (t *Task) Key() TaskKey { return TaskKey{t.Run, t.Generation, t.Command.Seq()} }

// Clock is time: the real one, or a simulation's.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a goroutine of its own after a while; stop prevents it, if it comes in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Authors says which invocations may still be alive (PROTOCOL.md rule 3).
type Authors interface {
	// Begin gives an invocation's name as an author, and until when it can live at most; zero: as long as the process.
	Begin(deadline time.Time) (author string, until time.Time)
	// End says that the invocation puts nothing any more.
	End(author string)
	// Dead says whether the author of a record has certainly ended.
	Dead(author string, until, now time.Time) bool
}
