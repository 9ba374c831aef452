package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
)

// stepReserve is the least time that must be left before the invocation's deadline for a step to begin.
const stepReserve = 10 * time.Second

// steps are those that a visit runs: side by side, in goroutines of their own.
type steps struct {
	mu      sync.Mutex
	running map[int64]context.CancelCauseFunc
	ended   []stepEnd
	woken   chan struct{}
	left    []int64 // not begun, or not to be retried in time: to be handed over
}

// stepEnd is a step's result, or nil where it is left to another invocation.
type stepEnd struct {
	seq    int64
	result *history.ActivityResolved
}

func (s *steps) idle() bool { return len(s.running) == 0 }

func (s *steps) has(seq int64) bool { return s.running[seq] != nil || slices.Contains(s.left, seq) }

// cancel gives up what is still running: its results are not wanted.
func (s *steps) cancel() {
	for _, cancel := range s.running { // order-insensitive: all are cancelled
		cancel(history.ErrCancelled)
	}
	s.running = nil
}

// startSteps begins steps that belong to this author, if there is time for them.
func (v *visit) startSteps(ctx context.Context, seqs ...int64) {
	for _, seq := range seqs {
		if !v.deadline.IsZero() && v.deadline.Sub(v.e.Clock.Now()) < stepReserve {
			v.steps.left = append(v.steps.left, seq)
			continue
		}
		command, pending := v.slot.live.exec.Pending(seq)
		if pending {
			step := command.(*history.ScheduleActivity)
			v.startStep(ctx, step, v.e.stepFunction(step, v.slot.live.exec.Step(seq)))
		}
	}
}

// stepFunction is the step's own, or that of the activity which is called inline.
func (e *Engine) stepFunction(command *history.ScheduleActivity, own func(context.Context) (history.Payload, error)) registry.Activity {
	if own == nil {
		return e.activity(command.Activity)
	}
	return func(ctx context.Context, _ history.Payload) (history.Payload, error) { return own(ctx) }
}

func (v *visit) startStep(ctx context.Context, command *history.ScheduleActivity, perform registry.Activity) {
	s := &v.steps
	if s.running == nil {
		s.running, s.woken = map[int64]context.CancelCauseFunc{}, make(chan struct{}, 1)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.running[command.Seq()] = cancel
	key := TaskKey{v.run, v.slot.live.position.Generation, command.Seq()}
	scheduled := v.e.Clock.Now()
	go func() {
		defer cancel(nil)
		result := v.runStep(ctx, key, command, perform, scheduled)
		s.mu.Lock()
		s.ended = append(s.ended, stepEnd{command.Seq(), result})
		s.mu.Unlock()
		select {
		case s.woken <- struct{}{}:
		default:
		}
	}()
}

// runStep makes attempts until one succeeds, or none is to follow, or there is no time for another: then it gives nil.
func (v *visit) runStep(ctx context.Context, key TaskKey, command *history.ScheduleActivity, perform registry.Activity, scheduled time.Time) *history.ActivityResolved {
	ctx, leave := v.e.attempts.begin(ctx, key)
	defer leave()
	result := &history.ActivityResolved{Seq: command.Seq()}
	for number := 1; ; number++ {
		a := v.e.newAttempt(key, command, number, scheduled)
		if a.failure == nil {
			a.perform(ctx, perform, nil)
		}
		result.Started, result.Number, result.Worker = a.started, number, v.e.config.Worker
		if a.failure == nil {
			result.Result = a.result
			return result
		}
		wait, again := a.retry()
		if !again {
			result.Failure = a.failure
			return result
		}
		result.Attempts = keep(result.Attempts, a.failed())
		if !v.deadline.IsZero() && v.deadline.Sub(v.e.Clock.Now()) < wait+stepReserve {
			return nil
		}
		late, stop := v.e.after(wait)
		select {
		case <-late:
		case <-ctx.Done():
			stop()
			result.Failure = history.CancelFailure(context.Cause(ctx).Error())
			return result
		}
	}
}

// awaitSteps waits until a step has ended, and takes all that have.
func (v *visit) awaitSteps(ctx context.Context) error {
	s := &v.steps
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
		delete(s.running, end.seq)
		if end.result == nil {
			s.left = append(s.left, end.seq)
		} else {
			v.done = append(v.done, end.result)
		}
	}
	return nil
}

func keep(attempts []history.Attempt, next history.Attempt) []history.Attempt {
	attempts = append(attempts, next)
	if over := len(attempts) - history.KeptAttempts; over > 0 {
		attempts = attempts[over:]
	}
	return attempts
}
