package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/port"
)

// steps are those that a visit runs. A lone one runs in the visit's own goroutine; several run side by side.
type steps struct {
	generation int             // that they belong to: numbers begin anew in the next one
	begun      []*step         // not yet running
	running    map[int64]*step // begun ones included
	mu         sync.Mutex
	ended      []stepEnd
	woken      chan struct{}
	left       []history.Tried // not begun, or not to be retried in time: to be handed over
	kept       []port.TaskKey  // of steps whose failed attempts are in the table; under mu
}

// step is one of them.
type step struct {
	key       port.TaskKey
	origin    int // generation whose log has the command
	command   *history.ScheduleActivity
	perform   registry.Activity
	scheduled time.Time
	tried     history.Tried // in earlier invocations, and in this one
	blocks    *blockedError // its function broke a rule of workflow code
	of        *steps
	*underway
}

// stepEnd is a step's result, or nil where it is left to another invocation.
type stepEnd struct {
	*step
	result *history.ActivityResolved
}

func (s *steps) idle() bool { return len(s.running) == 0 }

func (s *steps) has(seq int64) bool {
	return s.running[seq] != nil || slices.ContainsFunc(s.left, func(left history.Tried) bool { return left.Seq == seq })
}

// cancel gives up what is still running: its results are not wanted.
func (s *steps) cancel() {
	for _, step := range s.running { // order-insensitive: all are cancelled
		step.cancel()
	}
	s.running, s.begun = nil, nil
}

// stepsOfGeneration has the visit's steps be those of a generation. What it still runs of another one is given up.
func (v *visit) stepsOfGeneration(generation int) {
	if v.steps.generation == generation {
		return
	}
	v.steps.cancel()
	v.ended = append(v.ended, v.steps.forget()...)
	v.steps, v.done = &steps{generation: generation}, nil
}

// startSteps begins steps that belong to this author, if there is time for them.
func (v *visit) startSteps(seqs ...int64) {
	for _, seq := range seqs {
		if !v.budget.suffices(v.e.Clock.Now(), 0) {
			v.steps.left = append(v.steps.left, v.slot.live.ledger.tried(seq))
			continue
		}
		command, pending := v.slot.live.exec.Pending(seq)
		if pending {
			step := command.(*history.ScheduleActivity)
			v.startStep(step, v.e.stepFunction(step, v.slot.live.exec.Step(seq)))
		}
	}
}

// stepFunction is the step's own, or that of the activity which is called inline.
func (e *Engine) stepFunction(command *history.ScheduleActivity, own func(context.Context) (history.Payload, error)) registry.Activity {
	if own == nil {
		return e.activity(command)
	}
	return func(ctx context.Context, _ history.Payload) (history.Payload, error) { return own(ctx) }
}

func (v *visit) startStep(command *history.ScheduleActivity, perform registry.Activity) {
	s := v.steps
	if s.running == nil {
		s.running = map[int64]*step{}
	}
	key := port.TaskKey{Run: v.run, Generation: v.slot.live.position.Generation, Seq: command.Seq()}
	begun := &step{key: key, command: command, perform: perform, of: s, scheduled: v.slot.live.scheduled(command.Seq()),
		origin: v.slot.live.origin(command.Seq()),
		tried:  v.slot.live.ledger.tried(command.Seq()), underway: v.e.attempts.begin(key)}
	if v.slot.live.ledger.asked[command.Seq()] {
		begun.cancel()
	}
	s.running[command.Seq()] = begun
	s.begun = append(s.begun, begun)
}

// runStep makes attempts until one succeeds, or none is to follow, or there is no time to wait for another: then it gives nil.
func (v *visit) runStep(ctx context.Context, s *step) *history.ActivityResolved {
	defer v.e.attempts.end(s.key, s.underway)
	result := &history.ActivityResolved{Seq: s.key.Seq}
	defer func() { result.Attempts = s.tried.Attempts }()
	for number := s.tried.Count() + 1; ; number++ {
		if s.cancelled() {
			result.Failure = history.CancelFailure("cancelled before it began")
			return result
		}
		if s.tried.Count() > 0 {
			now := v.e.Clock.Now()
			wait := max(s.tried.Next.Sub(now), 0)
			if !v.budget.suffices(now, wait) || !v.await(ctx, s, wait) {
				return nil
			}
			if s.cancelled() {
				result.Failure = history.CancelFailure("cancelled between two attempts")
				return result
			}
		}
		a := v.e.newAttempt(s.key, s.command, number, s.scheduled, v.budget)
		a.origin = s.origin
		if a.failure == nil {
			a.perform(ctx, s.underway, s.perform, nil)
		}
		result.Started, result.Number, result.Worker = a.started, number, v.e.config.Worker
		if a.failure == nil {
			result.Result = a.result
			return result
		}
		if a.violation != nil {
			s.blocks = &blockedError{reason: port.ReasonViolation,
				message: fmt.Sprintf("step %s (seq %d): %s", s.command.Activity, s.key.Seq,
					a.violation.Error())}
			return nil
		}
		wait, again := a.retry(ctx)
		if !again {
			result.Failure = a.failure
			return result
		}
		s.tried.Attempts, s.tried.Next = keep(s.tried.Attempts, a.failed()), v.e.Clock.Now().Add(wait)
		v.saveTried(ctx, s, a.failure)
	}
}

// saveTried stores that a step waits for its next attempt, so that an author that takes it over
// neither forgets its attempts nor cuts its wait short. Where that fails, the step continues all
// the same: the count is no promise.
func (v *visit) saveTried(ctx context.Context, s *step, failure *history.Failure) {
	if s.cancelled() {
		return
	}
	s.of.keep(s.key)
	err := v.e.Tasks.SaveTask(ctx, &port.TaskState{TaskKey: s.key, Activity: s.command.Activity,
		Attempt: s.tried.Count() + 1,
		Failure: failure.Error(), Next: s.tried.Next, Failed: s.tried.Attempts})
	if err != nil && ctx.Err() == nil {
		v.e.warn(ctx, "a failed attempt of a step was not stored", "run", v.run, "step", s.command.ID, "error", err)
	}
	v.e.watch.changed(v.run)
}

// keep notes that the table has a state of a step.
func (s *steps) keep(key port.TaskKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, key)
}

// forget gives the states that are of no more use: all but those of steps that are handed over.
func (s *steps) forget() (ended []port.TaskKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended = slices.DeleteFunc(s.kept, func(key port.TaskKey) bool { return s.has(key.Seq) })
	s.kept = nil
	return ended
}

// await waits before an attempt, but not once the step is asked to stop. It says whether there is anything to go on for.
func (v *visit) await(ctx context.Context, s *step, wait time.Duration) bool {
	late, stop := v.e.after(wait)
	defer stop()
	select {
	case <-late:
	case <-s.asked:
	case <-ctx.Done():
		return false
	}
	return true
}

// awaitSteps runs what was begun, waits until a step has ended, and takes all that have.
func (v *visit) awaitSteps(ctx context.Context) error {
	s := v.steps
	if len(s.running) == 1 && len(s.begun) == 1 {
		lone := s.begun[0]
		s.begun = s.begun[:0]
		v.endStep(stepEnd{lone, v.runStep(ctx, lone)})
		return ctx.Err()
	}
	if s.woken == nil {
		s.woken = make(chan struct{}, 1)
	}
	for _, begun := range s.begun {
		go v.runBeside(ctx, s, begun)
	}
	s.begun = s.begun[:0]
	select {
	case <-s.woken:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	ended := s.ended
	s.ended = nil
	s.mu.Unlock()
	for _, end := range ended {
		v.endStep(end)
	}
	return nil
}

// runBeside runs one of several steps.
func (v *visit) runBeside(ctx context.Context, s *steps, begun *step) {
	end := stepEnd{begun, v.runStep(ctx, begun)}
	s.mu.Lock()
	s.ended = append(s.ended, end)
	s.mu.Unlock()
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

func (v *visit) endStep(end stepEnd) {
	delete(v.steps.running, end.key.Seq)
	switch {
	case end.blocks != nil:
		v.broken = end.blocks
	case end.result == nil:
		v.steps.left = append(v.steps.left, end.tried)
	default:
		v.done = append(v.done, end.result)
	}
}

// keep adds an attempt to those that history shows.
func keep(attempts []history.Attempt, next history.Attempt) []history.Attempt {
	attempts = append(attempts, next)
	if over := len(attempts) - history.KeptAttempts; over > 0 {
		attempts = attempts[over:]
	}
	return attempts
}
