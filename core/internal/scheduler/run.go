// Package scheduler runs author's code deterministically: it owns units, rounds and turns (seed 001). It is pure: no clock,
// no randomness, no I/O; time, seed and events come in with an activation, commands go out.
//
// The shell (core/engine) gives it the log first ([Run.Replay]), then what is new ([Run.Activate]), and keeps it as long as
// it likes: a live run is a cache, never a source of truth. Read it in the order run.go, rounds.go, unit.go, activation.go.
package scheduler

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
)

// Entry is a workflow function in the form that the scheduler runs.
type Entry func(u *Unit, input history.Payload) (history.Payload, error)

// Run is one live generation of a run: its code, paused between activations. One goroutine at a time may use it, except
// for [Run.Stuck]. After an error it is of no more use: Close it, and replay anew.
type Run struct {
	id      Identity
	entry   Entry
	machine machine.Machine
	started *history.Started
	scope   *Scope // the run's own: cancelled when the run is

	behavior     int  // behavior version of the generation: see history.Behavior
	failsOnPanic bool // a panic is an error, and does not fail the activation

	// Units and turns.
	units      []*Unit // not ended, in order of creation
	ready      []*Unit // for the next round
	round      []*Unit // of this round, from at on still to come
	at         int
	rounds     int
	turn       *Unit // whose turn comes when the coroutine now running suspends
	running    atomic.Pointer[Unit]
	dispatches int // handlers dispatched so far
	waits      []*wait
	looker     looker
	mail       mail
	queries    map[string]Query
	deferred   func() // ends the generation once no awaited unit is left
	awaited    func(*Unit) bool
	completing bool // the root has ended with a result
	inPhase    bool

	// The activation under way.
	active   bool
	record   int // number of its record
	time     time.Time
	feed     Feed
	terminal history.Terminal
	commands []history.Command
	logs     []LogLine

	resources  []Resource // that the code holds
	random     random
	state      history.Payload
	stateSet   bool // in this activation
	published  bool // in this generation
	attributes history.Attributes
	size       int // events and commands so far

	turns    atomic.Uint64 // activations begun so far: what the shell's watchdog sees of the progress
	lost     atomic.Bool   // a unit is stuck: its goroutine cannot be ended
	err      error
	violated atomic.Pointer[Violation] // from a goroutine of the author's
	stopping bool
}

// Identity is what a run knows of itself from outside its log.
type Identity struct {
	Run        string
	Generation int
	Workflow   string
}

// Query answers a question about the run's state without changing it.
type Query func(input history.Payload) (history.Payload, error)

// Feed gives the records of a log, one at a time; nil at its end.
type Feed func() (*history.Record, error)

// Activation is what the shell brings: the time that the code sees, and the events in the order in which they count.
type Activation struct {
	Record int // number of the record that it will become
	Time   time.Time
	Events []history.Event
}

// Completion is what one activation decided. There is exactly one for each (S1.27).
type Completion struct {
	// Commands, to be recorded before any of them is carried out.
	Commands []history.Command
	// Closes is the last command, if it closes the generation.
	Closes history.Terminal
	// State is the published state, if this activation published one.
	State    history.Payload
	StateSet bool
	// Logs are lines that the code logged, for the first time: replay logs nothing.
	Logs []LogLine
}

// LogLine is a line that workflow code logged. Failed: it tells of an error that no code handles.
type LogLine struct {
	Unit, Message string
	Args          []any
	Failed        bool
}

// New makes a run before its first record.
func New(id Identity, entry Entry) *Run {
	return &Run{id: id, entry: entry, scope: &Scope{}}
}

// Replay runs the code against its log: the same rounds as the first time, with the commands matched against the records.
// It may come several times, each going on where the last ended. A [*machine.Nondeterminism] says that the code no longer
// agrees with the log.
func (r *Run) Replay(feed Feed) error {
	r.feed = feed
	defer func() { r.feed = nil }()
	if !r.proceed() {
		return r.err
	}
	return r.drive()
}

// Activate takes events and runs the code until every unit waits.
func (r *Run) Activate(a Activation) (Completion, error) {
	r.machine.Begin(a.Record)
	r.begin(a)
	if err := r.drive(); err != nil {
		return Completion{}, err
	}
	c := Completion{Commands: r.commands, Closes: r.terminal, State: r.state, StateSet: r.stateSet, Logs: r.logs}
	r.commands, r.logs = nil, nil
	return c, nil
}

// Close ends all units without giving any of them a turn (S1.25: an eviction runs no workflow code): what author's code
// deferred does run, and any call of the surface in it ends it.
func (r *Run) Close() {
	if r.lost.Load() {
		return
	}
	r.stopping = true
	for _, u := range r.units {
		u.co.stop()
	}
	r.looker.co.stop()
	r.units = nil
	for _, held := range r.resources {
		held.Close()
	}
	r.resources = nil
}

// Resource is memory that author's code holds outside of Go's variables: see workflow.Resource.
type Resource interface {
	Bytes() int
	Close()
}

// Hold has the run count a resource, and close it at the end.
func (r *Run) Hold(resource Resource) { r.resources = append(r.resources, resource) }

// Held is how many bytes the resources of the run hold.
func (r *Run) Held() (bytes int) {
	for _, held := range r.resources {
		bytes += held.Bytes()
	}
	return bytes
}

// Pending gives the command of this sequence number, if the run waits for its answer.
func (r *Run) Pending(seq int64) (history.Sequenced, bool) { return r.machine.Pending(seq) }

// PendingCommands lists what the run waits for the answer of, in order.
func (r *Run) PendingCommands() (commands []history.Sequenced) {
	for _, op := range r.machine.Operations() {
		commands = append(commands, op.Command)
	}
	return
}

// Step gives the function of a pending step; nil if the step is an activity of the registry's.
func (r *Run) Step(seq int64) func(context.Context) (history.Payload, error) {
	if op := r.machine.Operation(seq); op != nil {
		return op.Step
	}
	return nil
}

// Waiting says of each unit what it is paused on, in order of creation: for people who ask why a run does not go on.
func (r *Run) Waiting() (lines []string) {
	for _, u := range r.units {
		if u.on != nil {
			lines = append(lines, unitName(u.name)+" waits for "+u.on.String())
		}
	}
	return
}

// Units is how many units have not ended.
func (r *Run) Units() int { return len(r.units) }

// Lost says whether the run was given up as stuck: see [Run.Stuck].
func (r *Run) Lost() bool { return r.lost.Load() }

// Turns grows with every activation, replayed or new: a watchdog may look at it from another goroutine.
func (r *Run) Turns() uint64 { return r.turns.Load() }

// HasTurn says whether author's code is running just now: for the watchdog, too.
func (r *Run) HasTurn() bool { return r.running.Load() != nil }

// Since says whether the generation follows the rules that came with a behavior version: see
// history.Behavior.
func (r *Run) Since(version int) bool { return r.behavior >= version }

// Started is the event that the generation began with; nil before its first record.
func (r *Run) Started() *history.Started { return r.started }

// State is what the run has published last.
func (r *Run) State() history.Payload { return r.state }

// Published says whether this generation has published a state.
func (r *Run) Published() bool { return r.published }

// Attributes are what the run is searched by.
func (r *Run) Attributes() history.Attributes { return r.attributes }

// Failed is the error that made the run useless, if any.
func (r *Run) Failed() error { return r.err }

func (r *Run) fail(err error) {
	if r.err != nil {
		return
	}
	if r.err = err; r.running.Load() != nil { // else the stack is of code that has paused
		locate(err)
	}
}

// proceed begins the next record of a replay. It says whether there is one.
func (r *Run) proceed() bool {
	r.active = false
	if r.feed == nil || r.err != nil {
		return false
	}
	rec, err := r.feed()
	if err != nil {
		r.fail(err)
	}
	if rec == nil || err != nil {
		return false
	}
	r.machine.Replay(rec.Number, rec.Commands)
	r.begin(Activation{Record: rec.Number, Time: rec.Time, Events: rec.Events})
	return true
}
