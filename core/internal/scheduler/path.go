package scheduler

import (
	"cmp"
	"strconv"
)

// Path is a unit's place in the structure of the run: [] is the root, p1.p0 the first branch of the root's second, h2 the
// third handler that was dispatched, h2.a0 what it left running. Paths come from structure alone, never from timing (S1.5).
type Path []segment

type segment struct {
	kind  segmentKind
	index int
}

type segmentKind byte

// In the order in which units of one parent take their turns (S1.22).
const (
	branch segmentKind = 'p'
	async  segmentKind = 'q' // written 'a'
	handle segmentKind = 'r' // written 'h'
)

func (k segmentKind) letter() byte {
	switch k {
	case async:
		return 'a'
	case handle:
		return 'h'
	}
	return 'p'
}

func (p Path) child(kind segmentKind, index int) Path {
	return append(p[:len(p):len(p)], segment{kind, index})
}

func (p Path) String() string {
	if len(p) == 0 {
		return ""
	}
	out := make([]byte, 0, 8)
	for i, s := range p {
		if i > 0 {
			out = append(out, '.')
		}
		out = append(out, s.kind.letter())
		out = strconv.AppendInt(out, int64(s.index), 10)
	}
	return string(out)
}

// compare orders paths: segment by segment, a parent before its children.
func (p Path) compare(q Path) int {
	for i := range min(len(p), len(q)) {
		if c := cmp.Or(cmp.Compare(p[i].kind, q[i].kind), cmp.Compare(p[i].index, q[i].index)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(q))
}
