package scheduler

import "slices"

// What transcripts show of a run beyond its public face.

// Rounds is how many rounds there have been.
func (r *Run) Rounds() int { return r.rounds }

// Paused says for each unit that has not ended what it is paused on, in the order of turns.
func (r *Run) Paused() (lines []string) {
	units := slices.Clone(r.units)
	slices.SortFunc(units, func(a, b *Unit) int { return a.path.compare(b.path) })
	for _, u := range units {
		on := "nothing: it has not begun"
		if u.on != nil {
			on = u.on.String()
		}
		lines = append(lines, unitName(u.name)+": "+on)
	}
	return lines
}

// Draw is the random number that the run would draw next: what has been drawn is part of what a replay restores.
func (r *Run) Draw() uint64 {
	if r.random.PCG == nil {
		return 0
	}
	state := *r.random.PCG
	return state.Uint64()
}

// PathOf makes a path of its text's parts, as in "p1", "p0".
func PathOf(parts ...string) (p Path) {
	for _, part := range parts {
		kind := map[byte]segmentKind{'p': branch, 'a': async, 'h': handle}[part[0]]
		index := 0
		for _, digit := range part[1:] {
			index = 10*index + int(digit-'0')
		}
		p = p.child(kind, index)
	}
	return p
}

// Compare orders paths.
func (p Path) Compare(q Path) int { return p.compare(q) }

// Found makes a run that [Run.Stuck] gave up closable again: its unit has come back after all.
func (r *Run) Found() { r.lost.Store(false) }
