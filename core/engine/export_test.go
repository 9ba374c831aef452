package engine

import (
	"fmt"
	"slices"
)

// Held lists what an engine holds for work that it does: places for replays, runs that a visit or a caller holds, callers that
// wait, attempts, activations that are watched. An engine that has nothing to do holds none of these.
func Held(e *Engine) (held []string) {
	count := func(what string, n int) {
		if n > 0 {
			held = append(held, fmt.Sprintf("%d %s", n, what))
		}
	}
	count("places for replays", len(e.replays.free))
	count("places for replays of queries", len(e.questions.free))
	e.live.mu.Lock()
	for run, s := range e.live.slots {
		if s.waiting > 0 || s.claimed > 0 {
			held = append(held, "run "+run)
		}
	}
	e.live.mu.Unlock()
	e.watch.mu.Lock()
	count("runs that callers wait for", len(e.watch.waiting))
	e.watch.mu.Unlock()
	e.attempts.mu.Lock()
	count("attempts", len(e.attempts.byKey))
	e.attempts.mu.Unlock()
	e.watchdog.mu.Lock()
	for watched := e.watchdog.first; watched != nil; watched = watched.next {
		held = append(held, "an activation that is watched")
	}
	e.watchdog.mu.Unlock()
	slices.Sort(held)
	return held
}
