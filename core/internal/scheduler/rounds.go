package scheduler

import "slices"

// next decides whose turn it is; nil when nothing is left to run (S1.13–S1.19).
//
// A round is a snapshot of the runnable units in stable order; each gets one step; what becomes runnable meanwhile waits for
// the next round. When no unit is runnable, the activation ends; on replay, the next record begins.
func (r *Run) next() *Unit {
	for r.err == nil && r.violated.Load() == nil {
		if r.terminal == nil {
			if u := r.ofThisRound(); u != nil {
				return u
			}
			if r.startRound() || r.meetConditions() || r.answerLeftOver() {
				continue
			}
			r.endDeferred()
		}
		if !r.active {
			return nil
		}
		if r.finish(); !r.proceed() {
			return nil
		}
	}
	return nil
}

func (r *Run) ofThisRound() *Unit {
	for r.at < len(r.round) {
		u := r.round[r.at]
		r.round[r.at] = nil
		r.at++
		u.ready = false
		if !u.ended {
			return u
		}
	}
	return nil
}

// startRound takes the snapshot. It says whether there is anything to run.
func (r *Run) startRound() bool {
	if len(r.ready) == 0 {
		return false
	}
	r.round, r.ready, r.at = r.ready, r.round[:0], 0
	r.rounds++
	if len(r.round) > 1 {
		slices.SortFunc(r.round, func(a, b *Unit) int { return a.path.compare(b.path) })
	}
	return true
}

// drive gives turns until nothing is left to run.
func (r *Run) drive() error {
	r.turn = r.next()
	for r.turn != nil {
		r.step(r.turn)
	}
	if v := r.violated.Load(); v != nil {
		r.fail(v)
	}
	return r.err
}
