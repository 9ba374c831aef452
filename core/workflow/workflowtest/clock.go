package workflowtest

import (
	"slices"
	"time"
)

// happening is something that is due at a virtual time.
type happening struct {
	at    time.Time
	stale func() bool // it is no longer wanted: time does not move for it; nil: it always is
	do    func()
}

// after plans a happening. Of those at the same time, the one that was planned first comes first.
func (env *Env) after(d time.Duration, stale func() bool, do func()) {
	h := happening{at: env.now.Add(d), stale: stale, do: do}
	at, _ := slices.BinarySearchFunc(env.queue, h.at, func(other happening, at time.Time) int {
		if other.at.After(at) {
			return 1
		}
		return -1
	})
	env.queue = slices.Insert(env.queue, at, h)
}

// advance moves time to the next happening, and has it happen. It says whether there was one.
func (env *Env) advance() bool {
	for len(env.queue) > 0 {
		h := env.queue[0]
		env.queue = slices.Delete(env.queue, 0, 1)
		if h.stale != nil && h.stale() {
			continue
		}
		env.now = h.at
		h.do()
		return true
	}
	return false
}
