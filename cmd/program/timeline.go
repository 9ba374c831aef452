package program

import (
	"fmt"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// timeline turns a log into lines for people: one for each thing that the run did or that happened to it, with what came
// of it later.
type timeline struct {
	now    time.Time
	run    looked
	record int
	at     time.Time // of that record
	begun  time.Time
	lines  []*happening
	open   map[int64]*happening  // what waits for its answer, by its sequence number
	update map[string]*happening // by id
	closed history.Terminal
	// generation is that of the log; children are the runs that it started and has no answer of.
	generation int
	children   map[string]*wire.Summary
}

// happening is one line, with the lines under it.
type happening struct {
	record  int
	at      time.Time
	what    string
	outcome string // in words
	value   string // what it gave or was given
	under   []string
	command history.Sequenced
}

func newTimeline(now time.Time, run looked, generation int) *timeline {
	return &timeline{now: now, run: run, generation: generation, open: map[int64]*happening{},
		update: map[string]*happening{}, children: map[string]*wire.Summary{}}
}

// childID is the id of a child run.
func (t *timeline) childID(command *history.StartChild) string {
	if command.Run != "" {
		return command.Run
	}
	return fmt.Sprintf("%s.%d.%d", t.run.Run, t.generation, command.Seq())
}

// mostChildren is how many children without an answer are asked for.
const mostChildren = 50

// left lists the children that a run left behind when it closed, as many as are asked for.
func (t *timeline) left() (ids []string) {
	for _, h := range t.lines {
		if command, ok := h.command.(*history.StartChild); ok && t.closed != nil && t.open[command.Seq()] == h {
			ids = append(ids, t.childID(command))
		}
	}
	return ids[:min(len(ids), mostChildren)]
}

// add takes the next record.
func (t *timeline) add(rec *history.Record) {
	t.record, t.at = rec.Number, rec.Time
	if t.begun.IsZero() {
		t.begun = rec.Time
	}
	for _, event := range rec.Events {
		t.event(event)
	}
	for _, command := range rec.Commands {
		t.command(command)
	}
}

func (t *timeline) line(what, value string) *happening {
	h := &happening{record: t.record, at: t.at, what: what, value: value}
	t.lines = append(t.lines, h)
	return h
}

func (h *happening) note(format string, args ...any) {
	h.under = append(h.under, fmt.Sprintf(format, args...))
}

func (t *timeline) event(event history.Event) {
	switch event := event.(type) {
	case *history.Started:
		t.started(event)
	case *history.ActivityResolved:
		t.activityResolved(event)
	case *history.TimerFired:
		if h := t.take(event.Seq); h != nil {
			h.outcome = "fired"
		}
	case *history.ChildResolved:
		if h := t.take(event.Seq); h != nil {
			t.settle(h, "completed", event.Result, event.Failure)
		}
	case *history.SignalReceived:
		t.line("signal "+event.Name, brief(event.Input))
	case *history.UpdateReceived:
		h := t.line("update "+event.Name, "")
		h.outcome = "not answered"
		if event.Input != nil {
			h.note("input %s", brief(event.Input))
		}
		t.update[event.ID] = h
	case *history.CancelRequested:
		t.line("cancel requested", shorten(event.Reason, 2*widest))
	case *history.TerminateRequested:
		t.line("terminate requested", shorten(event.Reason, 2*widest))
	case *history.ResetRequested:
		t.line(fmt.Sprintf("reset to record %d", event.Record), shorten(event.Reason, 2*widest))
	default:
		t.line(event.Kind(), "")
	}
}

// noteVersion says which version of a published definition a generation has.
func (h *happening) noteVersion(event *history.Started) {
	if event.Definition != 0 {
		h.note("with version %d of its definition", event.Definition)
	}
}

func (t *timeline) started(event *history.Started) {
	if event.Base != nil {
		h := t.line("reset", fmt.Sprintf("goes on from record %d of generation %d",
			event.Base.Record, event.Base.Generation))
		h.noteVersion(event)
	} else {
		h := t.line("started", brief(event.Input))
		h.noteVersion(event)
		if event.Parent != nil {
			h.note("by run %s", event.Parent.Run)
		}
		if len(event.Attributes) > 0 {
			h.note("attributes %s", describeAttributes(event.Attributes))
		}
	}
	for _, signal := range event.Signals {
		t.line("signal "+signal.Name, strings.TrimSpace(brief(signal.Input)+" (from the generation before)"))
	}
	for _, letter := range event.Letters {
		t.event(letter)
	}
}

func (t *timeline) command(command history.Command) {
	switch command := command.(type) {
	case *history.ScheduleActivity:
		t.begin(command, activityName(command))
	case *history.StartTimer:
		t.begin(command, "timer "+nominal(command.Duration))
	case *history.StartChild:
		h := t.begin(command, "child "+command.Workflow+inVersion(command.Definition))
		h.what += " " + t.childID(command)
	case *history.CancelActivity:
		t.stop(command, map[bool]string{true: "left to itself", false: "asked to stop"}[command.Abandoned], command.Abandoned)
	case *history.CancelTimer:
		t.stop(command, "cancelled", true)
	case *history.CancelChild:
		t.stop(command, "asked to stop", false)
	case *history.RespondUpdate:
		t.respond(command)
	case *history.MarkPatch:
		t.line("patch "+command.ID, map[bool]string{true: "deprecated"}[command.Deprecated])
	case *history.UpsertAttributes:
		t.line("attributes", describeAttributes(command.Attributes))
	case history.Terminal:
		t.close(command)
	default:
		t.line(command.Kind(), "")
	}
}

func (t *timeline) close(command history.Terminal) {
	t.closed = command
	status := strings.ReplaceAll(string(command.Status()), "-", " ")
	switch command := command.(type) {
	case *history.CompleteRun:
		t.line(status, brief(command.Result))
	case *history.FailRun:
		t.failed(t.line(status, ""), command.Failure)
	case *history.CancelRun:
		t.failed(t.line(status, ""), command.Failure)
	case *history.TerminateRun:
		t.line(status, "")
	case *history.ContinueAsNew:
		t.line(status+inVersion(command.Definition),
			strings.TrimSpace("input "+brief(command.Input)))
	default:
		t.line(status, "")
	}
}

// inVersion names the version that a command asks for; "" where it leaves it to the engine.
func inVersion(version int) string {
	switch version {
	case 0:
		return ""
	case history.LatestDefinition:
		return " (latest version)"
	}
	return fmt.Sprintf(" (version %d)", version)
}

func activityName(command *history.ScheduleActivity) string {
	name := "activity "
	if command.Inline {
		name = "step "
	}
	name += command.Activity
	if command.ID != "" && command.ID != command.Activity {
		name += " " + command.ID
	}
	return name
}

func (t *timeline) begin(command history.Sequenced, what string) *happening {
	if unit := command.Unit(); unit != "" {
		what += " [" + unit + "]"
	}
	h := t.line(what, "")
	h.command = command
	t.open[command.Seq()] = h
	return h
}

// take gives what waited for an answer.
func (t *timeline) take(seq int64) *happening {
	h := t.open[seq]
	delete(t.open, seq)
	return h
}

// stop notes that something is no longer wanted.
func (t *timeline) stop(command history.Sequenced, how string, ends bool) {
	h := t.open[command.Seq()]
	if h == nil {
		return
	}
	if ends {
		delete(t.open, command.Seq())
		h.outcome = how + " after " + after(h.at, t.at)
		return
	}
	h.note("%s after %s", how, after(h.at, t.at))
}

func (t *timeline) activityResolved(event *history.ActivityResolved) {
	h := t.take(event.Seq)
	if h == nil {
		return
	}
	for _, attempt := range event.Attempts {
		h.note("attempt %d failed after %s: %s", attempt.Number, after(attempt.Started, attempt.Ended), shorten(attempt.Failure.Error(), 2*widest))
	}
	t.settle(h, "ok", event.Result, event.Failure)
	if event.Number > 1 {
		h.outcome += fmt.Sprintf(", %d attempts", event.Number)
	}
}

// settle writes what came of something into its line.
func (t *timeline) settle(h *happening, well string, result history.Payload, failure *history.Failure) {
	took := after(h.at, t.at)
	if failure == nil {
		h.outcome, h.value = well+" after "+took, brief(result)
		return
	}
	h.outcome = "failed after " + took
	t.failed(h, failure)
}

func (t *timeline) failed(h *happening, failure *history.Failure) {
	if failure == nil {
		return
	}
	shown := *failure
	shown.Stack = "" // get shows it
	if text := describeFailure(&shown); text != h.what {
		h.under = append(h.under, strings.Split(text, "\n")...)
	}
}

func (t *timeline) respond(command *history.RespondUpdate) {
	h := t.update[command.ID]
	if h == nil { // it was received before the part of the log that is shown
		h = t.line("update", "")
		t.update[command.ID] = h
	}
	switch {
	case command.Phase == history.UpdateAccepted:
		h.outcome = "accepted, under way"
	case command.Failure == nil:
		h.outcome, h.value = fmt.Sprintf("%s after %s", command.Phase, after(h.at, t.at)), brief(command.Result)
	default:
		h.outcome = fmt.Sprintf("%s after %s", map[bool]string{true: "rejected", false: "failed"}[command.Phase == history.UpdateRejected], after(h.at, t.at))
		t.failed(h, command.Failure)
	}
}

// pending completes the lines that wait for something still.
func (t *timeline) pending() {
	tasks := map[int64]*wire.ActivityState{}
	for _, task := range t.run.Activities {
		tasks[task.Seq] = task
	}
	for _, h := range t.lines {
		if h.command == nil || t.open[h.command.Seq()] != h {
			continue
		}
		timer, isTimer := h.command.(*history.StartTimer)
		child, isChild := h.command.(*history.StartChild)
		switch {
		case t.closed != nil && isChild:
			t.leave(h, child)
		case t.closed != nil:
			h.outcome = "given up when the run ended"
		case isTimer:
			h.outcome = "fires in " + after(t.now, h.at.Add(timer.Duration))
		default:
			h.outcome = "under way for " + after(h.at, t.now)
			t.task(h, tasks[h.command.Seq()])
		}
	}
}

// leave says what a run that closed did with a child, and what became of the child.
func (t *timeline) leave(h *happening, command *history.StartChild) {
	h.outcome = "abandoned when the run ended"
	switch command.ParentClosePolicy {
	case history.CancelChildren:
		h.outcome = "cancellation requested when the run ended"
	case history.TerminateChildren:
		h.outcome = "terminated when the run ended"
	case history.AbandonChildren:
	}
	child := t.children[t.childID(command)]
	switch {
	case child == nil:
	case child.Status.Closed():
		h.outcome += fmt.Sprintf("; it %s after %s", child.Status, after(child.Started, child.Closed))
		h.value = brief(child.Result)
		t.failed(h, child.Failure)
	case child.Blocked != nil:
		h.outcome += "; it is blocked: " + child.Blocked.Reason
	default:
		h.outcome += "; it has been running for " + after(child.Started, t.now)
	}
}

// task notes how an activity under way is doing, where that is known.
func (t *timeline) task(h *happening, task *wire.ActivityState) {
	if task == nil {
		return
	}
	if task.Attempt > 1 {
		h.outcome += ", " + attempt(task, t.now)
	}
	if task.Failure != "" {
		h.note("attempt %d failed: %s", task.Attempt-1, shorten(task.Failure, 2*widest))
	}
	if task.Pending {
		h.note("to be completed by its token")
	}
	if task.Details != nil {
		h.note("heartbeat %s ago: %s", after(task.Beat, t.now), brief(task.Details))
	}
}
