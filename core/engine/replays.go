package engine

import (
	"container/list"
	"context"
	"sync"
)

// mostReplays is how many runs are brought back from their logs at one time. It is more than the messages of one batch on AWS
// (10), so it never delays those; and few enough that their logs, in memory whole, are no burden.
const mostReplays = 16

// replays lets so many runs at a time be read and replayed from their logs, so that thousands of them, due at once after a
// restart, neither fill the memory nor take the processors from everybody else. What is live need not wait.
//
// The places that become free are given to the longest waiting and to the latest by turns: so whoever asks a question or
// starts a run while thousands wait is served next, or next but one; and nobody waits for ever.
type replays struct {
	mu      sync.Mutex
	taken   int
	waiting list.List // of chan struct{}, the longest waiting in front
	latest  bool      // whose turn it is
}

// try takes a place, if one is free.
func (r *replays) try() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.take()
}

// take is try. The lock is held.
func (r *replays) take() bool {
	if r.taken == mostReplays {
		return false
	}
	r.taken++
	return true
}

// enter waits for a place. Whoever got one leaves it.
func (r *replays) enter(ctx context.Context) error {
	r.mu.Lock()
	if r.take() {
		r.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	mine := r.waiting.PushBack(turn)
	r.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-turn: // it came after all
		r.pass()
	default:
		r.waiting.Remove(mine)
	}
	return ctx.Err()
}

func (r *replays) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
}

// pass gives a place to the next. The lock is held.
func (r *replays) pass() {
	next := r.waiting.Front()
	if r.latest = !r.latest; r.latest {
		next = r.waiting.Back()
	}
	if next == nil {
		r.taken--
		return
	}
	close(r.waiting.Remove(next).(chan struct{}))
}

// hold waits until nobody else holds the run; and if it is not live, until it may be replayed, which nobody waits for who
// holds a run: others could not ask it meanwhile.
func (e *Engine) hold(ctx context.Context, run string) (*slot, error) {
	s, err := e.live.hold(ctx, run)
	if err != nil || s.isLive() {
		return s, err
	}
	if !e.replays.try() {
		e.live.release(s)
		if err := e.replays.enter(ctx); err != nil {
			return nil, err
		}
		if s, err = e.live.hold(ctx, run); err != nil || s.isLive() { // somebody else has replayed it
			e.replays.leave()
			return s, err
		}
	}
	s.replaying = &e.replays
	return s, nil
}

func (s *slot) isLive() bool { return s.live != nil && s.live.exec != nil }

// replayed gives the place back that the slot's run was to be replayed in, if it has one still.
func (s *slot) replayed() {
	if s.replaying != nil {
		s.replaying.leave()
		s.replaying = nil
	}
}
