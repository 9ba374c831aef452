package workflowtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// run is a run under test: its generations, one after the other, the latest alive.
type run struct {
	env        *Env
	id         string
	workflow   string
	generation int
	entry      scheduler.Entry
	live       *scheduler.Run
	log        [][]byte // records of this generation, as they would be stored
	inbox      []history.Event
	parent     *parent
	children   []*child
	calls      map[int64]*call // of this generation
	state      history.Payload
	closed     history.Terminal // nil while it is open
	checkAt    int              // length of the log from which it is replayed again
}

// parent is who waits for the end of a child.
type parent struct {
	run        *run
	generation int
	seq        int64
}

const (
	mostTurns    = 50_000 // activations of one environment
	mostAttempts = 1_000  // of one activity
)

// run is what Run does, whatever the types.
func (env *Env) run(w Definition, input history.Payload) error {
	if env.root != nil {
		return fmt.Errorf("an environment is for one run: make another one with New")
	}
	if err := env.register(w); err != nil {
		return err
	}
	env.Start = env.Start.UTC().Round(0)
	env.now = env.Start
	env.root = env.begin(env.ID, w.Name(), history.NewStarted(1, w.Name(), input, env.Seed), nil)
	env.root.inbox = append(env.root.inbox, env.early...)
	for _, c := range env.planned {
		env.plan(c)
	}
	for env.settle(); env.problem == nil && env.advance(); {
		env.settle()
	}
	if env.problem == nil && env.root.closed == nil {
		env.fail("%s", env.stuck())
	}
	return env.problem
}

// begin starts a run. What has no code is a problem of the test.
func (env *Env) begin(id, workflow string, started *history.Started, by *parent) *run {
	r := &run{env: env, id: id, workflow: workflow, parent: by}
	entry, ok := env.registered.FindWorkflow(workflow)
	if !ok {
		env.fail("workflow %q is started as a child, but is neither registered nor mocked: "+
			"env.Register(definition), or workflowtest.MockChild(env, definition, function)", workflow)
		return r
	}
	r.entry = entry
	env.runs[id] = r
	env.order = append(env.order, r)
	r.next(started)
	return r
}

// next begins a generation.
func (r *run) next(started *history.Started) {
	r.generation = started.Generation
	r.live = scheduler.New(r.identity(), r.entry)
	r.log, r.calls, r.checkAt = nil, map[int64]*call{}, 0
	// Mail goes on to the next generation, answers of the one before do not.
	r.inbox = append([]history.Event{started}, slices.DeleteFunc(r.inbox, func(event history.Event) bool {
		_, answer := event.(history.Resolution)
		return answer
	})...)
}

func (r *run) identity() scheduler.Identity {
	return scheduler.Identity{Run: r.id, Generation: r.generation, Workflow: r.workflow}
}

// settle runs activations until no run has anything new. Time stands still.
func (env *Env) settle() {
	for i := 0; i < len(env.order) && env.problem == nil; i++ {
		if r := env.order[i]; len(r.inbox) > 0 {
			r.activate()
			i = -1 // what it decided may concern a run before it
		}
	}
}

// activate runs one activation: what lies in the inbox goes in, and what the code decides is recorded, checked, carried out.
func (r *run) activate() {
	env := r.env
	events := r.inbox
	r.inbox = nil
	if r.closed != nil {
		return
	}
	if env.turns++; env.turns > mostTurns {
		env.fail("%d activations, and no end: run %s goes round in a circle. If the workflow is meant to run for ever, "+
			"cancel it from env.At, or set env.StopAtContinueAsNew", mostTurns, r.id)
		return
	}
	rec := &history.Record{Number: len(r.log) + 1, Time: env.now, Events: events}
	env.inside = true
	done, err := r.live.Activate(scheduler.Activation{Record: rec.Number, Time: rec.Time,
		Events: rec.Events})
	env.inside = false
	if err != nil {
		env.fail("workflow %s, run %s, record %d: %w", r.workflow, r.id, rec.Number, err)
		return
	}
	for _, line := range done.Logs {
		level := ""
		if line.Failed {
			level = "ERROR "
		}
		env.t.Logf("%s %s: %s%s%s", env.Elapsed(), r.id, level, line.Message, pairs(line.Args))
	}
	if done.StateSet {
		r.state = done.State
	}
	rec.Commands = done.Commands
	r.log = append(r.log, history.AppendRecord(nil, rec))
	if err := r.check(done.Closes != nil); err != nil {
		env.fail("workflow %s decides differently when it runs again over the log of run %s: %w", r.workflow, r.id, err)
		return
	}
	stored, err := history.DecodeRecord(r.log[len(r.log)-1])
	if err != nil {
		env.fail("record %d of run %s: %w", rec.Number, r.id, err)
		return
	}
	r.carryOut(stored.Commands)
}

// carryOut does what the commands of a record ask for.
func (r *run) carryOut(commands []history.Command) {
	for _, command := range commands {
		switch command := command.(type) {
		case *history.ScheduleActivity:
			r.schedule(command)
		case *history.CancelActivity:
			if c := r.calls[command.Seq()]; c != nil {
				c.cancel(command.Abandoned)
			}
		case *history.StartTimer:
			fired := &history.TimerFired{Seq: command.Seq()}
			generation := r.generation
			r.env.after(command.Duration, func() bool { return !r.waitsFor(generation, fired.Seq) },
				func() { r.resolve(generation, fired) })
		case *history.StartChild:
			r.startChild(command)
		case *history.CancelChild:
			r.cancelChild(command.Seq())
		case *history.RespondUpdate:
			r.env.answer(command)
		case history.Terminal:
			r.close(command)
		}
	}
}

// waitsFor says whether the answer of a command is still of interest.
func (r *run) waitsFor(generation int, seq int64) bool {
	if r.closed != nil || r.generation != generation {
		return false
	}
	_, pending := r.live.Pending(seq)
	return pending
}

// resolve files the answer of a command, unless nobody waits for it any more.
func (r *run) resolve(generation int, event history.Resolution) {
	if r.waitsFor(generation, event.Resolves()) {
		r.inbox = append(r.inbox, event)
	}
}

// close ends a generation, and the run unless it continues.
func (r *run) close(command history.Terminal) {
	r.closeCalls()
	for _, c := range r.children {
		c.parentClosed()
	}
	r.children = nil
	if next, ok := command.(*history.ContinueAsNew); ok && !(r.env.StopAtContinueAsNew && r == r.env.root) {
		before, live := r.live.Started(), r.live
		seed := rand.NewPCG(before.Seed, uint64(r.generation)).Uint64()
		started := history.NewStarted(r.generation+1, next.Workflow, next.Input, seed)
		started.Parent = before.Parent
		started.Attributes, started.Signals = live.Attributes(), live.Unread()
		r.next(started)
		live.Close()
		return
	}
	r.closed = command
	if left := r.live.LeftInFutures(); len(left) > 0 && command.Status() == history.Completed {
		r.env.fail("workflow %s, run %s, has completed, and a future of signal %s was left with a signal: "+
			"await the future; if its signal no longer matters, make it in a workflow.WithCancel scope and "+
			"cancel that, or use workflow.ReceiveWithin", r.workflow, r.id, strings.Join(left, ", "))
	}
	r.env.closeUpdates(r)
	if r.parent != nil {
		end := &history.ChildResolved{Seq: r.parent.seq, Failure: failureOf(command)}
		if completed, ok := command.(*history.CompleteRun); ok {
			end.Result = completed.Result
		}
		r.parent.run.resolve(r.parent.generation, end)
	}
}

// stuck says what everything waits for, when nothing can come any more.
func (env *Env) stuck() string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "workflow %s waits for ever: after %s nothing is planned that could wake it", env.root.workflow, env.Elapsed())
	for _, r := range env.order {
		if r.closed == nil {
			fmt.Fprintf(text, "\n  run %s (%s):", r.id, r.workflow)
			for _, line := range r.live.Waiting() {
				fmt.Fprintf(text, "\n    %s", line)
			}
		}
	}
	text.WriteString("\nsend what it waits for from env.At: workflowtest.Signal, Update, Complete, Cancel; or have the workflow wait in a workflow.WithTimeout context")
	return text.String()
}

// pairs writes a log line's arguments as log/slog's text form does, roughly.
func pairs(args []any) string {
	text := &strings.Builder{}
	for pair := range slices.Chunk(args, 2) {
		if len(pair) == 2 {
			fmt.Fprintf(text, " %v=%v", pair[0], pair[1])
		} else {
			fmt.Fprintf(text, " %v", pair[0])
		}
	}
	return text.String()
}
