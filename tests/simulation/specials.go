package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// specials are cases that only some seeds draw. They come from streams of their own, so that the
// other seeds keep their meaning.
type specials struct {
	limited    bool  // activities have a schedule-to-close and a schedule-to-start
	named      bool  // parents use ids of their own for their children, and use them again
	leaving    bool  // programs end with children that nothing waits for
	attributed bool  // callers start runs with attributes
	unfit      bool  // callers send signals that do not fit their type
	listing    int   // runs in one page of a listing; 0: as many as the store gives
	memory     int64 // budget of bytes for live runs; 0: none
	published  bool  // programs are published definitions, in two versions
	flows      bool  // some programs are JSON flows, which are published
	long       int   // events and commands after which a flow continues as new; 0: as many as the engine says
	impatient  bool  // callers do not always repeat a call that was not answered
	stopping   bool  // parents ask children to stop that wait for people
	restless   bool  // runs end soon, and are started again, or reset, as soon
	exact      bool  // nothing fails, all clocks are the same, and no message comes twice
}

func drawSpecials(r *rand.Rand) (s specials) {
	some := func() bool { return r.IntN(5) == 0 }
	s.limited, s.named, s.leaving, s.attributed, s.unfit = some(), some(), some(), some(), some()
	if some() {
		s.listing = 1 + r.IntN(3)
	}
	if some() {
		s.memory = int64(30+r.IntN(100)) << 10
	}
	s.exact = s.limited && r.IntN(3) == 0
	return s
}

// drawFlows says whether a case has flows.
func (s *specials) drawFlows(r *rand.Rand) {
	if s.flows = r.IntN(4) == 0; s.flows && r.IntN(2) == 0 {
		s.long = 4 + r.IntN(20)
	}
}

// drawMore draws cases that came later.
func (s *specials) drawMore(r *rand.Rand) {
	s.impatient, s.stopping, s.restless = r.IntN(5) == 0, r.IntN(8) == 0, r.IntN(8) == 0
}

// adapt changes the limits that a special case needs otherwise.
func (s specials) adapt(l *limits) {
	if (s.named || s.leaving || s.stopping) && l.programs == 1 {
		l.programs = 2
	}
	if s.listing > 0 {
		l.callers = max(l.callers, 3)
	}
	if s.exact {
		l.calm, l.skew = 0, 0
		l.visibility = l.lifetime + time.Minute // nothing comes again while it is handled
	}
}

// mostFamily is how many runs a program and its descendants may be, about, to be given more children.
const mostFamily = 12

// addTo adds special cases to programs that are drawn already.
func (s specials) addTo(programs []*program, r *rand.Rand) {
	families := map[string]int{}
	for i, p := range slices.Backward(programs) {
		if p.Flow != nil {
			families[p.Name] = p.family(families)
			continue
		}
		g := &generator{random: r, prefix: "m", next: 0}
		if s.limited {
			p.each(func(n *node) { limit(n, r) })
		}
		if i < len(programs)-1 && p.Generations < 5 {
			g.child = programs[i+1].Name
			before := p.Body
			if s.named {
				g.nameChildren(p)
			}
			if s.leaving {
				g.leaveChildren(p)
			}
			if s.stopping {
				g.stopChild(p, programs[i+1])
			}
			if p.family(families) > mostFamily {
				p.Body = before
			}
		}
		families[p.Name] = p.family(families)
	}
}

// limit gives an activity limits. None of them ends in the same instant as an attempt.
func limit(n *node, r *rand.Rand) {
	seconds := func(most int) time.Duration {
		return time.Duration(r.IntN(most))*time.Second + 550*time.Millisecond
	}
	if n.Verb != doCall && n.Verb != doStep {
		return
	}
	if n.Fails > 0 {
		n.Fails += r.IntN(4)
	}
	if r.IntN(3) > 0 {
		n.Whole = seconds(20)
	}
	if n.Verb == doCall && r.IntN(2) == 0 {
		n.ToStart = seconds(6)
	}
}

// ownIDs are few, so that they are used again.
var ownIDs = []string{"e0", "e1"}

// nameChildren gives children ids of their own, and adds some that share one.
func (g *generator) nameChildren(p *program) {
	p.each(func(n *node) {
		if n.Verb == doChild && g.random.IntN(3) > 0 {
			n.Own = ownIDs[g.random.IntN(len(ownIDs))]
		}
	})
	for range 1 + g.random.IntN(2) {
		n := g.newChild()
		n.Own = ownIDs[0]
		if g.random.IntN(3) == 0 {
			n = g.left(n)
		}
		p.Body = slices.Insert(slices.Clone(p.Body), g.random.IntN(len(p.Body)+1), n)
	}
}

// stopChild has a program ask a child to stop after a while, and wait for its end. The child waits for
// people, who do not know of it.
func (g *generator) stopChild(p, child *program) {
	if child.Flow != nil {
		return
	}
	child.Body = append([]*node{g.new(doReceive)}, child.Body...)
	stop := g.new(doGiveUp)
	stop.D, stop.Inside = time.Duration(1+g.random.IntN(4))*time.Second, [][]*node{{g.newChild()}}
	p.Body = append([]*node{stop}, p.Body...)
}

// shorten has a program end soon.
func (p *program) shorten() {
	p.OnSignal, p.Generations = nil, 1
	p.Body = p.Body[:min(len(p.Body), 1)]
}

// leaveChildren ends a program with children that are on their way when it ends.
func (g *generator) leaveChildren(p *program) {
	body := slices.Clone(p.Body)
	for range 1 + g.random.IntN(2) {
		body = append(body, g.left(g.newChild()))
		switch g.random.IntN(3) {
		case 0: // the next record closes the run
			body = append(body, g.new(doStep))
		case 1:
			pause := g.new(doSleep)
			pause.D = time.Second
			body = append(body, pause)
		}
	}
	p.Body = body
}

func (g *generator) newChild() *node {
	n := g.new(doChild)
	n.Target, n.Mode = g.child, g.random.IntN(3)
	return n
}

// left is a node that is started, and that nothing waits for.
func (g *generator) left(n *node) *node {
	leave := g.new(doLeave)
	leave.Inside = [][]*node{{n}}
	return leave
}

// name gives a run that a command starts its id, as the contract says.
func childName(parent string, generation int, seq int64, own string) string {
	if own != "" {
		return parent + "." + own
	}
	return fmt.Sprintf("%s.%d.%d", parent, generation, seq)
}
