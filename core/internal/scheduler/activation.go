package scheduler

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
)

// begin applies an activation: first its metadata, then its events in order (S1.24). No author's code runs here.
func (r *Run) begin(a Activation) {
	// What a log gives back is UTC and has no reading of the process's clock; the first run must see the same.
	r.active, r.record, r.time = true, a.Record, a.Time.Round(0).UTC()
	r.stateSet, r.logs = false, nil
	r.turns.Add(1)
	if r.terminal != nil {
		r.fail(fmt.Errorf("record %d comes after the one that closes the log with %s", r.record, r.terminal.Kind()))
		return
	}
	for _, event := range a.Events {
		r.size++
		if r.terminal != nil {
			continue // an event before it ended the run without asking its code: nothing follows from this one
		}
		if r.apply(event); r.err != nil {
			return
		}
	}
}

func (r *Run) apply(event history.Event) {
	switch event := event.(type) {
	case *history.Started:
		r.start(event)
	case history.Resolution:
		if err := r.machine.Resolve(event); err != nil {
			r.fail(err)
		}
	case *history.SignalReceived:
		r.deliver(&Message{run: r, Name: event.Name, ID: event.ID, Input: event.Input, signal: event})
	case *history.UpdateReceived:
		r.deliver(&Message{run: r, Name: event.Name, ID: event.ID, Input: event.Input, update: event})
	case *history.CancelRequested:
		r.Cancel(r.scope, r.cancellation(event.Reason))
	case *history.TerminateRequested:
		r.terminal = &history.TerminateRun{Failure: history.TerminationFailure(event.Reason)}
		r.emit("", r.terminal)
	case *history.ResetRequested:
		r.terminal = &history.ResetRun{}
		r.emit("", r.terminal)
	default:
		r.fail(fmt.Errorf("record %d: a %s event, which this version cannot apply", r.record, event.Kind()))
	}
}

// cancellation is what the code is told of a request to cancel. Logs of behavior version 0 have the reason alone.
func (r *Run) cancellation(reason string) *history.Failure {
	if reason != "" && r.Since(1) {
		reason = "canceled: " + reason
	}
	return history.CancelFailure(reason)
}

// start makes the root unit. In a run that was reset, the event comes again after the records that still count.
func (r *Run) start(event *history.Started) {
	r.random.seed(event.Seed)
	if event.Behavior > 0 { // what a reset kept of an earlier generation sees the number of that one
		r.id.Generation = event.Generation
	}
	if r.started != nil { // what came after the place that it was reset to
		for _, signal := range event.Signals {
			r.apply(signal)
		}
		for _, letter := range event.Letters {
			r.apply(letter)
		}
		return
	}
	if r.started, r.behavior = event, event.Behavior; r.behavior > history.Behavior {
		r.fail(fmt.Errorf("%w: the log has behavior version %d, and this program knows versions up to %d",
			history.ErrUnreadable, r.behavior, history.Behavior))
		return
	}
	r.attributes = history.Attributes{}
	for _, name := range event.Attributes.Sorted() {
		r.attributes[name] = event.Attributes[name]
	}
	root := r.newUnit(nil, func(u *Unit) (any, error) { return r.entry(u, event.Input) })
	root.end = func(value any, err error) {
		result, _ := value.(history.Payload)
		r.end(result, err)
	}
	root.Wake()
	for _, signal := range event.Signals {
		r.apply(signal)
	}
}

// finish ends the activation with its one completion.
func (r *Run) finish() {
	commands, err := r.machine.Finish()
	if err != nil {
		r.fail(err)
		return
	}
	r.size += len(commands)
	r.commands = commands
}

// emit appends a command that needs no number. After an error the unit never has a turn again.
func (r *Run) emit(unit string, command history.Command) {
	command.Emitter(unit)
	if err := r.machine.Emit(command); err != nil {
		r.fail(err)
	}
}

// halt parks a unit whose activation has failed: the code after a failed command must not run.
func (u *Unit) halt() {
	if u.run.err != nil {
		u.pause(halted{})
	}
}

type halted struct{}

func (halted) String() string { return "the activation failed" }

// Emit appends a command that needs no answer: the unit keeps its turn (S1.13).
func (u *Unit) Emit(command history.Command) {
	u.effects(command.Kind())
	command.SetPlace(u.place)
	u.run.emit(u.name, command)
	u.halt()
}

// Schedule appends a command whose answer settles the operation, unless the scope is cancelled already: then nothing is
// emitted, and the operation has failed.
func (u *Unit) Schedule(command history.Sequenced, scope *Scope, op *machine.Operation) {
	u.effects(command.Kind())
	op.Scope = scope
	if err := scope.Err(); err != nil {
		op.Break(err)
		return
	}
	command.Emitter(u.name)
	command.SetPlace(u.place)
	if err := u.run.machine.Schedule(command, op); err != nil {
		u.run.fail(err)
	}
	u.halt()
}

// At says where in its source the unit's code is.
func (u *Unit) At(place string) { u.place = place }

// Scope is the run's own.
func (r *Run) Scope() *Scope { return r.scope }

// ID says which run it is.
func (r *Run) ID() Identity { return r.id }

// Now is the time of the activation: it stands still while the code runs.
func (r *Run) Now() time.Time { return r.time }

// Replaying says whether what happens now has happened before.
func (r *Run) Replaying() bool { return r.machine.Replaying() }

// Size is how many events and commands the log has, this activation's included.
func (r *Run) Size() int {
	if !r.active {
		return r.size
	}
	return r.size + r.machine.Emitted()
}

// Record is the number of the record that this activation becomes.
func (r *Run) Record() int { return r.record }

// Publish sets the state that queries and listings show; no command (S1.12).
func (u *Unit) Publish(state history.Payload) {
	u.effects("PublishState")
	u.run.state, u.run.stateSet, u.run.published = state, true, true
}

// Upsert changes what the run is searched by. The activation fails if the attributes pass a limit. On replay there is no
// limit: a log may be older than it.
func (u *Unit) Upsert(attributes history.Attributes) {
	changed := u.run.attributes.With(attributes)
	if err := changed.Check(); err != nil && !u.run.Replaying() {
		u.run.fail(fmt.Errorf("workflow.SetAttributes: %w", err))
		u.halt()
	}
	u.Emit(&history.UpsertAttributes{Attributes: attributes})
	u.run.attributes = changed
}

// Patched says whether the run follows the new code behind a patch.
func (u *Unit) Patched(id string) bool {
	u.effects("Patched")
	yes, err := u.run.machine.Patched(id, u.name)
	if err != nil {
		u.run.fail(err)
		u.halt()
	}
	return yes
}

// DeprecatePatch marks a patch whose old code is gone.
func (u *Unit) DeprecatePatch(id string) {
	u.effects("DeprecatePatch")
	if err := u.run.machine.Deprecate(id, u.name); err != nil {
		u.run.fail(err)
		u.halt()
	}
}

// Log keeps a line for the shell, the first time only.
func (u *Unit) Log(message string, args []any) {
	u.run.log(LogLine{Unit: u.name, Message: message, Args: args})
}

// LogError keeps a line that tells of an error which no code handles.
func (u *Unit) LogError(message string, err error) {
	u.run.log(LogLine{Unit: u.name, Message: message, Args: []any{"error", err.Error()}, Failed: true})
}

func (r *Run) log(line LogLine) {
	if !r.Replaying() {
		r.logs = append(r.logs, line)
	}
}
