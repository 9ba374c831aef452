package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// longestDelay is what a queue can delay a message by (SQS: 15 minutes). A timer further away waits in a bucket (rule 8).
const longestDelay = 15 * time.Minute

// delayable is as much of a wait as a queue can delay a message by.
func delayable(wait time.Duration) time.Duration { return min(max(wait, 0), longestDelay) }

// outbox collects messages, to send them together.
type outbox struct {
	e          *Engine
	run        string
	generation int
	ancestors  int // of the run
	pending    func(seq int64) (history.Sequenced, bool)
	// it sends what was sent before, perhaps: activities continue from their states
	again   bool
	resent  bool                      // a rebuild of this process has sent the activities
	states  map[int64]*port.TaskState // of activities, once they are known
	due     []port.DueTimer
	resumes []port.Resume
	tasks   []port.Task
}

func (o *outbox) flush(ctx context.Context) error {
	if len(o.due) > 0 {
		if err := o.e.Due.PutDue(ctx, o.due...); err != nil {
			return err
		}
	}
	if len(o.tasks) > 0 {
		if err := o.e.Queue.SendTasks(ctx, o.tasks...); err != nil {
			return err
		}
	}
	if len(o.resumes) > 0 {
		return o.e.Queue.SendResumes(ctx, o.resumes...)
	}
	return nil
}

// sendFor sends what an author's newest record asks for, as far as it is still pending: right after it was put, or again for
// one that died (rules 3 and 4).
func (v *visit) sendFor(ctx context.Context, a *author) error {
	l := v.slot.live
	closes := l.closes != nil && a.newest == l.position.Record
	var unsent map[int64]bool
	if closes {
		unsent = endUnsent(a.asks)
	}
	o := &outbox{e: v.e, run: v.run, generation: l.position.Generation,
		ancestors: l.summary.Ancestors, pending: l.exec.Pending, again: a.name != v.author}
	o.resent = o.again && v.e.resent.has(v.run, l.position.Generation, a.newest)
	if a.base { // the first record after a reset asks for all that was pending there
		for _, command := range l.exec.PendingCommands() {
			if before, is := l.base[command.Seq()]; is {
				if err := o.addPending(ctx, before); err != nil {
					return err
				}
			}
		}
	}
	for _, command := range a.asks {
		sequenced, ok := command.(history.Sequenced)
		if ok && unsent[sequenced.Seq()] {
			continue
		}
		// whoever runs it later knows
		if cancel, ok := command.(*history.CancelActivity); ok &&
			l.ledger.steps[cancel.Seq()] != nil {
			v.e.attempts.cancel(port.TaskKey{Run: v.run, Generation: l.position.Generation,
				Seq: cancel.Seq()})
			continue
		}
		if ok {
			if _, pending := l.exec.Pending(sequenced.Seq()); !pending && !abandons(command) {
				continue
			}
		}
		if err := o.add(ctx, command, a.time); err != nil {
			return err
		}
	}
	if closes {
		if err := o.close(ctx, l.summary, l.closes, sentOf(l.exec.PendingCommands(), unsent)); err != nil {
			return err
		}
	}
	if err := o.flush(ctx); err != nil {
		return err
	}
	if a.name == v.author {
		set(&v.sent, l.position.Generation, a.newest)
	}
	return nil
}

// endUnsent gives the numbers of the commands in a closing record that end with their generation before anything was sent for them:
// their results would come too late for anything. A child that outlives its parent starts.
func endUnsent(commands []history.Command) map[int64]bool {
	unsent := map[int64]bool{}
	for _, command := range commands {
		switch command := command.(type) {
		case *history.ScheduleActivity, *history.StartTimer, *history.StartChild:
			if !outlives(command) {
				unsent[command.(history.Sequenced).Seq()] = true
			}
		}
	}
	return unsent
}

// sentOf leaves out of pending commands those for which nothing was sent.
func sentOf(pending []history.Sequenced, unsent map[int64]bool) []history.Sequenced {
	return slices.DeleteFunc(pending, func(command history.Sequenced) bool { return unsent[command.Seq()] })
}

func abandons(command history.Command) bool {
	cancel, ok := command.(*history.CancelActivity)
	return ok && cancel.Abandoned
}

// finishDead sends again what the dead left unsent (rule 4): before a record of one's own.
func (v *visit) finishDead(ctx context.Context, p *plan) error {
	for _, a := range p.finish {
		if err := v.sendFor(ctx, a); err != nil {
			return err
		}
		for _, seq := range a.retried {
			v.forgetStep(v.slot.live.position.Generation, seq)
		}
	}
	return v.finishEarlier(ctx, p.earlier, v.slot.live.summary)
}

func commandsOf(pending []history.Pending) (commands []history.Sequenced) {
	for _, p := range pending {
		commands = append(commands, p.Command)
	}
	return
}

// addPending does what a command asks for that has no answer yet, and what was asked of it since.
func (o *outbox) addPending(ctx context.Context, p history.Pending) error {
	before := len(o.tasks)
	if err := o.add(ctx, p.Command, p.Time); err != nil {
		return err
	}
	for i := range o.tasks[before:] {
		if p.Generation != o.generation {
			o.tasks[before+i].Origin = p.Generation
		}
	}
	if p.Cancel == nil {
		return nil
	}
	return o.add(ctx, p.Cancel, p.Time)
}

// add does what one command asks for, or collects its message. Doing it again does no harm.
func (o *outbox) add(ctx context.Context, command history.Command, recorded time.Time) error {
	switch command := command.(type) {
	case *history.ScheduleActivity:
		if !command.Inline && !o.resent {
			return o.activity(ctx, command, recorded)
		}
	case *history.CancelActivity:
		asked, _ := o.pending(command.Seq())
		return o.cancelActivity(ctx, asked, command.Seq())
	case *history.StartTimer:
		o.timer(command.Seq(), recorded.Add(command.Duration))
	case *history.StartChild:
		return o.child(ctx, command)
	case *history.CancelChild:
		return o.cancelChild(ctx, command.Seq())
	}
	return nil
}

// activity sends the task of an activity's first attempt. Sent again, it continues from the
// activity's state.
func (o *outbox) activity(
	ctx context.Context, command *history.ScheduleActivity, recorded time.Time,
) error {
	task := port.Task{Run: o.run, Generation: o.generation, Command: command, Scheduled: recorded,
		Sent: recorded, Attempt: 1}
	if o.again {
		if err := o.knowStates(ctx); err != nil {
			return err
		}
		if state := o.states[command.Seq()]; state != nil {
			o.e.continueTask(&task, state)
		}
	}
	o.tasks = append(o.tasks, task)
	return nil
}

// knowStates reads the states of the generation's activities, once.
func (o *outbox) knowStates(ctx context.Context) error {
	if o.states != nil {
		return nil
	}
	states, err := o.e.statesOf(ctx, o.run, o.generation)
	o.states = states
	return err
}

// statesOf reads the states of a generation's activities and steps, by number.
func (e *Engine) statesOf(
	ctx context.Context, run string, generation int,
) (map[int64]*port.TaskState, error) {
	all, err := e.Tasks.TasksOf(ctx, run)
	if err != nil {
		return nil, err
	}
	states := make(map[int64]*port.TaskState, len(all))
	for _, state := range all {
		if state.Generation == generation {
			states[state.Seq] = state
		}
	}
	return states, nil
}

// continueTask makes of an activity's first task the one that its state calls for. Attempts are
// counted from where they were. One that waits for its time still waits. One that is completed from
// outside does not run again: only its time limit is watched.
func (e *Engine) continueTask(t *port.Task, state *port.TaskState) {
	t.Attempt, t.Failed = max(1, state.Attempt), state.Failed
	switch {
	case state.Pending:
		limited := e.attemptAt(state.Started, t.Key(), t.Command, t.Attempt, t.Scheduled, budget{})
		t.Expire, t.Sent = true, state.Started.Add(limited.patience())
	case !state.Next.IsZero():
		t.Sent, t.Delay = state.Next, delayable(state.Next.Sub(e.Clock.Now()))
	}
}

// cancelActivity asks an activity to stop; a step runs here, or where nothing but its own deadline reaches it.
func (o *outbox) cancelActivity(ctx context.Context, command history.Command, seq int64) error {
	key := port.TaskKey{Run: o.run, Generation: o.generation, Seq: seq}
	if isStep(command) {
		o.e.attempts.cancel(key)
		return nil
	}
	return o.e.cancelActivity(ctx, key)
}

// timer goes to the queue or to a bucket, by the time that is left now (rule 8).
func (o *outbox) timer(seq int64, at time.Time) {
	timer := port.DueTimer{At: at, Run: o.run, Generation: o.generation, Seq: seq}
	left := at.Sub(o.e.Clock.Now())
	if left > longestDelay {
		o.due = append(o.due, timer)
		return
	}
	o.resumes = append(o.resumes, o.e.firing(timer, left))
}

// firing is the resume that carries a timer's firing.
func (e *Engine) firing(timer port.DueTimer, left time.Duration) port.Resume {
	item := e.newItem(&history.TimerFired{Seq: timer.Seq}, timer.Generation, false)
	return port.Resume{Run: timer.Run, Delay: max(left, 0), Carries: &item}
}

// child starts a child run: summary and start in one transaction, if there is none; then a resume.
func (o *outbox) child(ctx context.Context, command *history.StartChild) error {
	parent := &history.Parent{Run: o.run, Generation: o.generation, Seq: command.Seq()}
	summary := &port.Summary{
		Run: childID(command, parent), Workflow: command.Workflow, Definition: command.Definition,
		Generation: 1, Status: history.Running, Started: o.e.Clock.Now(), Input: command.Input,
		Attributes: command.Attributes, Parent: parent,
	}
	if command.ParentClosePolicy != history.AbandonChildren {
		summary.Ancestors = o.ancestors + 1
	}
	if summary.Ancestors > port.MostAncestors {
		return o.refuse(ctx, summary, history.TooManyAncestors, tooManyAncestors(summary))
	}
	err := o.e.create(ctx, summary, o.e.startItem(summary))
	if errors.Is(err, port.ErrTaken) {
		return o.childTaken(ctx, command, summary)
	}
	if err != nil {
		return err
	}
	o.resumes = append(o.resumes, port.Resume{Run: summary.Run})
	return o.leaveLate(ctx, command)
}

// leaveLate is for a child that begins after its parent has closed, because another invocation was faster: who closed the
// parent has looked for the child before there was one.
func (o *outbox) leaveLate(ctx context.Context, command *history.StartChild) error {
	if command.ParentClosePolicy == history.AbandonChildren {
		return nil
	}
	parent, err := o.e.Runs.Summary(ctx, o.run)
	if errors.Is(err, port.ErrNoRun) || err == nil && parent.Generation == o.generation &&
		!parent.Status.Closed() {
		return nil
	}
	if err != nil {
		return err
	}
	return o.leaveChild(ctx, command)
}

// childTaken is what follows when there is a run of the child's id: it is the child itself, perhaps closed by now, or it is
// somebody else's.
func (o *outbox) childTaken(
	ctx context.Context, command *history.StartChild, wanted *port.Summary,
) error {
	there, err := o.e.Runs.Summary(ctx, wanted.Run)
	switch {
	case err != nil:
		return err
	case there.Parent == nil || *there.Parent != *wanted.Parent:
		return o.refuse(ctx, wanted, "run-id-in-use", fmt.Sprintf(
			"a run with the id %q exists (workflow %s): give the child another id, or none",
			there.Run, there.Workflow))
	case there.Status.Closed():
		return o.tell(ctx, there.Parent, resolved(there))
	}
	o.resumes = append(o.resumes, port.Resume{Run: there.Run})
	return o.leaveLate(ctx, command)
}

func tooManyAncestors(child *port.Summary) string {
	return fmt.Sprintf("child %s of workflow %s was not started: %d runs would wait for it, each "+
		"for "+
		"the next, and the limit is %d; workflows probably start each other in a circle: end it, "+
		"or have a run continue as new",
		child.Run, child.Workflow, child.Ancestors, port.MostAncestors)
}

// refuse tells the parent that a child was not started.
func (o *outbox) refuse(ctx context.Context, child *port.Summary, kind, message string) error {
	failure := &history.Failure{FailureKind: history.Application, Type: kind, NonRetryable: true,
		Message: message}
	return o.tell(ctx, child.Parent, &history.ChildResolved{Seq: child.Parent.Seq,
		Failure: failure})
}

// childID is the child's own, or made of the parent's and the number of the call. One that would be
// too long for an id has a hash for its beginning.
func childID(command *history.StartChild, parent *history.Parent) string {
	if command.Run != "" {
		return command.Run
	}
	id := fmt.Sprintf("%s.%d.%d", parent.Run, parent.Generation, parent.Seq)
	if len(id) <= port.LongestID {
		return id
	}
	hash := sha256.Sum256([]byte(parent.Run))
	return fmt.Sprintf("%x.%d.%d", hash[:16], parent.Generation, parent.Seq)
}

// tell files a child's end in its parent's inbox, and resumes the parent.
func (o *outbox) tell(
	ctx context.Context, parent *history.Parent, event *history.ChildResolved,
) error {
	if _, _, err := o.e.Runs.File(ctx, parent.Run,
		o.e.newItem(event, parent.Generation, false)); err != nil &&
		!errors.Is(err, port.ErrNoRun) {
		return err
	}
	o.resumes = append(o.resumes, port.Resume{Run: parent.Run})
	return nil
}

func resolved(child *port.Summary) *history.ChildResolved {
	return &history.ChildResolved{Seq: child.Parent.Seq, Result: child.Result, Failure: child.Failure}
}

// cancelChild asks the child of a pending command to cancel. One that is not there yet is started here: whoever put the record
// that asks for it comes later, or is dead, and knows of no cancellation.
func (o *outbox) cancelChild(ctx context.Context, seq int64) error {
	command, pending := o.pending(seq)
	if !pending {
		return nil
	}
	child := command.(*history.StartChild)
	cancel := func(id string) history.Event { return history.NewCancel(id, "its parent cancelled it") }
	err := o.mailChild(ctx, child, cancel)
	if !errors.Is(err, port.ErrNoRun) {
		return err
	}
	if err := o.child(ctx, child); err != nil {
		return err
	}
	if err := o.mailChild(ctx, child, cancel); !errors.Is(err, port.ErrNoRun) {
		return err
	}
	return nil // it was refused
}

// mailChild files a mail from the parent in a child's inbox, and resumes the child. ErrNoRun: it
// has not been started. A child that has ended is resumed, too: an author that died before its
// resume may have filed the mail, and the child's author may have died before it told the parent
// (rule 1).
func (o *outbox) mailChild(ctx context.Context, command *history.StartChild, mail func(id string) history.Event) error {
	parent := &history.Parent{Run: o.run, Generation: o.generation, Seq: command.Seq()}
	child := childID(command, parent)
	there, err := o.e.Runs.Summary(ctx, child)
	if err != nil {
		return err
	}
	if there.Parent == nil || *there.Parent != *parent {
		return nil
	}
	o.resumes = append(o.resumes, port.Resume{Run: child})
	if there.Status.Closed() {
		return nil
	}
	event := mail(fmt.Sprintf("parent.%s.%d.%d", o.run, o.generation, command.Seq()))
	_, _, err = o.e.Runs.File(ctx, child, o.e.newMail(there, event))
	return err
}

// close does what a closing record asks for (rule 6): the parent is told, or the next generation resumed; children that the
// run leaves behind are told, too.
func (o *outbox) close(ctx context.Context, summary *port.Summary, closes history.Terminal, pending []history.Sequenced) error {
	for _, command := range pending {
		var err error
		switch command := command.(type) {
		case *history.StartChild:
			err = o.leaveChild(ctx, command)
		case *history.ScheduleActivity:
			err = o.cancelActivity(ctx, command, command.Seq())
		}
		if err != nil {
			return err
		}
	}
	switch {
	case closes == nil:
	case !closes.Status().Closed():
		o.resumes = append(o.resumes, port.Resume{Run: o.run})
	case summary.Parent != nil:
		// the run's own may show another generation by now
		ended := port.Summary{Parent: summary.Parent}
		ended.End(closes, time.Time{})
		return o.tell(ctx, summary.Parent, resolved(&ended))
	}
	return nil
}

// leaveChild tells a child that its parent has closed. One that is not there yet is told by whoever starts it: see leaveLate.
func (o *outbox) leaveChild(ctx context.Context, command *history.StartChild) (err error) {
	switch command.ParentClosePolicy {
	case history.TerminateChildren:
		err = o.mailChild(ctx, command, func(id string) history.Event { return history.NewTerminate(id, "its parent closed") })
	case history.CancelChildren:
		err = o.mailChild(ctx, command, func(id string) history.Event { return history.NewCancel(id, "its parent closed") })
	case history.AbandonChildren:
	}
	if errors.Is(err, port.ErrNoRun) {
		return nil
	}
	return err
}
