package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/port"
)

// Activate handles a batch of resumes: functions/activate. Each message has its answer, in their order: nil when all that
// follows from it is done, so that it may be acknowledged; else it is to come again.
//
// The deadline is that of the invocation: what cannot be done before it is handed over. Zero: there is none.
func (e *Engine) Activate(ctx context.Context, deadline time.Time, messages []port.Resume) []error {
	answers := make([]error, len(messages))
	byRun := map[string][]int{}
	var runs []string
	for i, message := range messages {
		if byRun[message.Run] == nil {
			runs = append(runs, message.Run)
		}
		byRun[message.Run] = append(byRun[message.Run], i)
	}
	if len(runs) == 1 { // no goroutine for what is the rule where messages come one by one
		answers[0] = e.visit(ctx, deadline, runs[0], messages)
		for i := range answers {
			answers[i] = answers[0]
		}
		return answers
	}
	var visits sync.WaitGroup
	for _, run := range runs {
		visits.Go(func() {
			batch := make([]port.Resume, 0, 1)
			for _, i := range byRun[run] {
				batch = append(batch, messages[i])
			}
			err := e.visit(ctx, deadline, run, batch)
			for _, i := range byRun[run] {
				answers[i] = err
			}
		})
	}
	visits.Wait()
	return answers
}

// visit is one look at a run, and all that follows from it: put, send, run steps, put again, delete. It is the author of
// the records that it puts.
type visit struct {
	e      *Engine
	run    string
	author string
	until  time.Time // when the author has certainly ended
	budget budget
	slot   *slot // held only during a turn
	// pending says that this visit has not read the run yet.
	pending *pendingLook

	sent  map[int]int     // by generation: number of its own newest record whose sends are made
	tidy  []finished      // items to delete at the end
	ended []port.TaskKey  // activities whose state is of no more use
	void  []port.DueTimer // timers that nobody waits for any more
	named bool            // an item is in its name; known in one process alone
	dead  map[string]bool // authors that were dead before the present look
	wait  time.Time
	steps *steps
	done  []*history.ActivityResolved // results of steps in hand, not yet recorded
	// broken: the function of a step broke a rule of workflow code.
	broken *blockedError
}

func (e *Engine) visit(
	ctx context.Context, deadline time.Time, run string, messages []port.Resume,
) error {
	for _, message := range messages {
		if message.Carries != nil {
			if err := e.fileCarried(ctx, message); err != nil {
				return err
			}
		}
	}
	for _, message := range messages {
		if message.Unblocks != "" { // the mark goes first, then comes the look (rule 7)
			if err := e.Runs.Unblock(ctx, run, message.Unblocks); err != nil {
				return err
			}
		}
	}
	pending, first := e.looks.begin(run)
	if !first {
		return nil
	}
	defer pending.end()
	author, until := e.Authors.Begin(deadline)
	defer e.Authors.End(author)
	v := &visit{e: e, run: run, pending: pending, author: author, until: until,
		budget: e.newBudget(deadline), steps: &steps{}}
	defer func() { v.steps.cancel() }()
	for {
		handedOver, err := v.turn(ctx)
		if handedOver || err != nil {
			return err
		}
		if v.steps.idle() {
			return v.finish(ctx)
		}
		if err := v.awaitSteps(ctx); err != nil {
			return err
		}
	}
}

// finish deletes what has been taken care of, and comes back later for what a living author answers for (rules 3 and 4).
func (v *visit) finish(ctx context.Context) error {
	if err := v.deleteStates(ctx); err != nil {
		return err
	}
	if err := v.tidyUp(ctx); err != nil {
		return err
	}
	if v.e.Together && v.wait.IsZero() {
		v.e.resent.drop(v.run)
	}
	if v.e.Forget != nil && len(v.void) > 0 {
		v.e.Forget(v.void)
	}
	if v.wait.IsZero() {
		return nil
	}
	return v.e.Queue.SendResumes(ctx, port.Resume{Run: v.run, Delay: v.delay(v.wait)})
}

// deleteStates deletes the states of activities and steps that have ended.
func (v *visit) deleteStates(ctx context.Context) error {
	v.ended = append(v.ended, v.steps.forget()...)
	for len(v.ended) > 0 {
		if err := v.e.Tasks.DeleteTask(ctx, v.ended[0]); err != nil {
			return err
		}
		v.ended = v.ended[1:]
	}
	return nil
}

// turn looks at the run and takes it as far as it goes without waiting for a step. If steps are
// left then, and none runs, it hands them over: while it holds the run, or that may have been
// evicted.
func (v *visit) turn(ctx context.Context) (handedOver bool, err error) {
	if v.slot, err = v.e.hold(ctx, v.run, v.e.replays); err != nil {
		return false, err
	}
	defer func() {
		if l := v.slot.live; l != nil && l.closes != nil {
			l.retire()
		}
		v.e.live.release(v.slot)
		v.slot = nil
	}()
	v.pending.end()
	if err := v.advance(ctx); err != nil || !v.steps.idle() || len(v.steps.left) == 0 {
		return false, err
	}
	return true, v.handOver(ctx)
}

// advance is a turn's part up to the steps that are left.
func (v *visit) advance(ctx context.Context) error {
	if v.broken != nil {
		return v.blockIf(ctx, v.broken)
	}
	if len(v.done) > 0 && v.slot.live != nil && v.slot.live.position.Generation == v.steps.generation { // the author's next record is put without reading
		if taken, err := v.recordResults(ctx); taken || err != nil {
			return v.blockIf(ctx, err)
		}
	}
	for {
		again, err := v.look(ctx)
		if err != nil || !again {
			return v.blockIf(ctx, err)
		}
	}
}

// look reads the run once and does what follows. Again: it lost a race, or there is more to do.
func (v *visit) look(ctx context.Context) (again bool, err error) {
	view, err := v.e.Runs.Look(ctx, v.run, v.slot.live.known())
	switch {
	case errors.Is(err, port.ErrNoRun):
		v.done = nil
		return false, nil
	case err != nil:
		return false, err
	}
	if item := administrative(view); item != nil {
		return v.administer(ctx, view, *item)
	}
	if view.Summary.Blocked != nil { // everything stays where it is
		v.done, v.tidy = nil, nil
		return false, v.lackStill(ctx, view.Summary)
	}
	if view.Summary.Status.Closed() {
		return v.lookClosed(ctx, view)
	}
	if v.quiet(view) {
		v.done = nil
		return false, nil
	}
	if err := v.e.catchUp(ctx, v.slot, view); err != nil {
		return false, err
	}
	if v.slot.live.closes != nil { // under a summary from before: what is of the next generation must not pass for late
		return true, nil
	}
	v.stepsOfGeneration(view.Summary.Generation)
	p, err := v.decide(ctx, view)
	if err != nil {
		return false, err
	}
	if p.ended {
		return true, nil
	}
	v.tidy, v.wait = p.tidy, p.wait
	if err := v.finishDead(ctx, p); err != nil { // before a record of one's own
		return false, err
	}
	if p.records() {
		again, err = v.record(ctx, p)
		if again || err != nil {
			return again, err
		}
	}
	v.done = nil
	v.startSteps(p.steps...)
	return false, nil
}

// quiet says that there is nothing to do, without replaying a run that is not live: its inbox is empty, and no step of it
// can be anybody's. That is what most resumes of a run whose answers came together find.
func (v *visit) quiet(view *port.View) bool {
	if len(view.Inbox) > 0 || len(v.done) > 0 {
		return false
	}
	if l := v.slot.live; l != nil {
		return l.position.Generation == view.Summary.Generation && len(view.Records) == 0 && !view.More && len(l.ledger.steps) == 0
	}
	log := &machine.Fold{}
	for _, rec := range view.Records {
		log.Add(rec)
	}
	return !view.More && view.Base() == nil &&
		!slices.ContainsFunc(log.Pending(), func(p history.Pending) bool {
			return isStep(p.Command)
		})
}

// recordResults records the results of steps at once. Not taken: the run has moved on elsewhere, and must be looked at.
func (v *visit) recordResults(ctx context.Context) (taken bool, err error) {
	events := v.results()
	if len(events) == 0 {
		return false, nil
	}
	lost, err := v.record(ctx, &plan{takes: events})
	if err == nil && !lost {
		v.done = nil
	}
	return !lost, err
}

// results are the results in hand that the run still waits for. One that has ended waits for nothing, though that may have
// been found out only now: the log is read after the summary.
func (v *visit) results() (events []history.Event) {
	if v.slot.live.closes != nil {
		return nil
	}
	for _, result := range v.done {
		if _, pending := v.slot.live.exec.Pending(result.Seq); pending {
			events = append(events, result)
		}
	}
	return
}

// holds says whether the step is running here, or has just run.
func (v *visit) holds(seq int64) bool {
	return v.steps.has(seq) || slices.ContainsFunc(v.done, func(r *history.ActivityResolved) bool { return r.Seq == seq })
}

// blockIf blocks the run if the error says that it cannot advance: what cannot be read, whoever met it, is no better the next
// time.
func (v *visit) blockIf(ctx context.Context, err error) error {
	if errors.Is(err, history.ErrUnreadable) {
		err = blockFor(err)
	}
	var blocked *blockedError
	if !errors.As(err, &blocked) {
		return err
	}
	v.slot.drop()
	v.done, v.tidy = nil, nil // everything stays in the inbox
	v.steps.cancel()
	_ = v.steps.forget() // the run continues from them once it is unblocked
	if err := v.e.block(ctx, v.run, blocked.reason, blocked.message); err != nil {
		return err
	}
	return v.e.unblockPublished(ctx, v.run, blocked.needs)
}

// lackStill looks for the definition that a run was blocked for the lack of: the author that
// blocked it may have died before it looked again.
func (v *visit) lackStill(ctx context.Context, run *port.Summary) error {
	if run.Blocked.Reason != port.ReasonUnregistered {
		return nil
	}
	return v.e.unblockPublished(ctx, v.run, pin{run.Workflow, run.Definition})
}
