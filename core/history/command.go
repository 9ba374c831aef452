package history

// Command is something that a run decided.
//
// The set is closed: the codec knows every kind by name (see decodeCommand).
type Command interface {
	// Kind is the stored name of this sort of command.
	Kind() string
	// Unit is the path of the unit that emitted the command, as in "p1.p0"; empty for the root unit and for what the
	// scheduler itself emits.
	Unit() string
	// Emitter sets that path.
	Emitter(unit string)
	// Place is where in its source the code was, as in "greet.js:3:5", if an interpreter said so.
	Place() string
	// SetPlace sets that place.
	SetPlace(place string)
	// Fields lists what makes the command this command and no other, in a fixed order: what replay compares.
	Fields() []Field

	write(w *writer)
	read(key []byte, r *reader)
}

// Sequenced is implemented by the commands that have a sequence number of their own.
type Sequenced interface {
	Command
	Seq() int64
	// Number sets the sequence number. Only core/internal/machine calls it, when the command is emitted.
	Number(seq int64)
}

// Terminal is implemented by the commands that close a generation. At most one is emitted, and it is the last.
type Terminal interface {
	Command
	// Status of the run once the command is recorded.
	Status() Status
}

// Field is one part of a command's identity, as text that a person can compare.
type Field struct{ Name, Value string }

// emitted is the part that all commands share.
type emitted struct{ unit, place string }

func (e *emitted) Unit() string        { return e.unit }
func (e *emitted) Emitter(unit string) { e.unit = unit }

func (e *emitted) Place() string         { return e.place }
func (e *emitted) SetPlace(place string) { e.place = place }

// numbered is the part that all commands with a sequence number share.
type numbered struct {
	emitted
	seq int64
}

func (n *numbered) Seq() int64       { return n.seq }
func (n *numbered) Number(seq int64) { n.seq = seq }

// Status of a run.
type Status string

const (
	Running        Status = "running"
	Completed      Status = "completed"
	Failed         Status = "failed"
	Cancelled      Status = "cancelled"
	Terminated     Status = "terminated"
	ContinuedAsNew Status = "continued-as-new" // of a generation: the run goes on in the next one
	WasReset       Status = "reset"            // of a generation: the run goes on in the next one
)

// Closed says whether nothing more can happen to a run of this status.
func (s Status) Closed() bool {
	return s == Completed || s == Failed || s == Cancelled || s == Terminated
}
