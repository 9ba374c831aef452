package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// program is a workflow as data: [code] carries it out on core/workflow, and a second time on [naive]. Other front-ends can
// be given the same programs.
type program struct {
	Name string
	// OnSignal and OnUpdate run for each signal "h" and each update "u".
	OnSignal, OnUpdate []*node
	Body               []*node
	// Generations that it goes through by continuing as new.
	Generations int
	// Flow is the program instead, if it is a JSON flow.
	Flow *flowDef `json:",omitempty"`
}

// verb is what a node does.
type verb string

const (
	doCall      verb = "call"      // an activity by task
	doStep      verb = "step"      // an inline step
	doSleep     verb = "sleep"     // a timer of D
	doReceive   verb = "receive"   // the next signal "s"
	doChild     verb = "child"     // a run of another program
	doBranch    verb = "branch"    // Inside[0] as a branch
	doLeave     verb = "leave"     // Inside[0] is started, and nobody waits for it
	doParallel  verb = "parallel"  // all of Inside, side by side
	doRace      verb = "race"      // the first of Inside[0] that settles
	doAll       verb = "all"       // all of Inside[0]
	doAny       verb = "any"       // the first of Inside[0] that succeeds
	doPatch     verb = "patch"     // Inside[0] where patched, else Inside[1]
	doCondition verb = "condition" // N signals "h" were handled
	doTake      verb = "take"      // a signal "h" was handled that no other node has taken
	doWithin    verb = "within"    // Inside[0], for D at most
	doGiveUp    verb = "give-up"   // Inside[0] as a branch, cancelled after D
	doShield    verb = "shield"    // Inside[0], which no cancellation reaches
	doRepeat    verb = "repeat"    // Inside[0], N times
	doPhase     verb = "phase"     // N signals "p", for D at most; each leaves Inside[0] running
	doPublish   verb = "publish"   // the state N
	doAttribute verb = "attribute" // "k" is N
	doNow       verb = "now"
	doRandom    verb = "random"
	doYield     verb = "yield"
	doFail      verb = "fail" // the run fails
)

// node is one statement of a program.
type node struct {
	Verb   verb
	ID     string        // unique in its program
	N      int           `json:",omitempty"`
	D      time.Duration `json:",omitempty"`
	Target string        `json:",omitempty"` // a child's program
	Flow   bool          `json:",omitempty"` // the child is a flow
	// Fails is how many attempts of an activity fail before one succeeds; Dies is the type of a failure that is final.
	Fails int    `json:",omitempty"`
	Dies  string `json:",omitempty"`
	// Hangs: the first attempt goes on until its time is over, which is D.
	Hangs bool `json:",omitempty"`
	// Later: the first attempt leaves its answer to others, who give it this long after; its time is over after D.
	Later time.Duration `json:",omitempty"`
	// Whole and ToStart are an activity's schedule-to-close and schedule-to-start.
	Whole   time.Duration `json:",omitempty"`
	ToStart time.Duration `json:",omitempty"`
	// Own ends the id of a child that has one of its own; empty: the engine makes it.
	Own string `json:",omitempty"`
	// Beats is how often an attempt heartbeats.
	Beats int `json:",omitempty"`
	// Mode is the activity.Cancellation of an activity, or the workflow.ParentClosePolicy of a child.
	Mode   int       `json:",omitempty"`
	Inside [][]*node `json:",omitempty"`
}

// value is what an activity gives when it succeeds.
func (n *node) value(program string) int {
	sum := 0
	for _, c := range program + n.ID {
		sum = sum*31 + int(c)
	}
	return sum & 0xffff
}

// generator draws programs.
type generator struct {
	random *rand.Rand
	prefix string // of the nodes' ids
	next   int
	budget int    // nodes that may still be drawn for this program
	child  string // a program to start as a child; empty: there is none
	patch  bool   // the case deploys a second version
}

// generate draws programs, the first of which may start the later ones as children.
func generate(random *rand.Rand, count int, patch bool) []*program {
	programs, families := make([]*program, count), map[string]int{}
	for i := count - 1; i >= 0; i-- {
		size := 4 + random.IntN(26)
		g := &generator{random: random, prefix: "n", budget: size, patch: patch}
		if i < count-1 {
			g.child = programs[i+1].Name
		}
		p := &program{Name: fmt.Sprintf("p%d", i), Generations: 1}
		if random.IntN(4) == 0 {
			p.Generations += 1 + random.IntN(2)
		}
		if random.IntN(3) == 0 {
			p.OnSignal = g.block(1, 2)
		}
		if random.IntN(3) == 0 {
			p.OnUpdate = g.block(1, 2)
		}
		p.Body = g.block(7, 0)
		families[p.Name] = p.family(families)
		if i == 0 && p.Generations > 1 && size < 16 && families[p.Name] <= 3*p.Generations { // a small one goes on for so long that logs are deleted
			pause := g.new(doSleep)
			pause.D = 45 * time.Second
			p.Body, p.Generations = append(p.Body, pause), p.Generations+10
		}
		programs[i] = p
	}
	return programs
}

// block draws some nodes. Depth 0 is the workflow function itself.
func (g *generator) block(most, depth int) (nodes []*node) {
	for range 1 + g.random.IntN(most) {
		if g.budget <= 0 {
			break
		}
		nodes = append(nodes, g.node(depth))
	}
	return nodes
}

var waiting = []verb{doCall, doCall, doCall, doStep, doStep, doStep, doSleep, doReceive, doChild}

var nesting = []verb{doParallel, doParallel, doRace, doAll, doAny, doWithin, doGiveUp, doShield, doRepeat, doPatch}

var passing = []verb{doPublish, doAttribute, doNow, doRandom, doYield, doCondition, doTake, doFail}

func (g *generator) node(depth int) *node {
	switch choice := g.random.IntN(20); {
	case choice < 11 || depth > 3:
		return g.startable(depth)
	case choice < 16:
		return g.nested(depth)
	case choice == 16 && depth == 0:
		n := g.new(doPhase)
		n.N, n.D = 1+g.random.IntN(2), g.duration()
		if g.random.IntN(2) == 0 {
			n.Inside = [][]*node{g.block(1, depth+2)}
		}
		return n
	}
	if g.random.IntN(3) == 0 {
		n := g.new(doLeave)
		n.Inside = [][]*node{{g.startable(depth + 1)}}
		return n
	}
	n := g.new(passing[g.random.IntN(len(passing))])
	if n.N = 1 + g.random.IntN(2); n.Verb == doFail && g.random.IntN(3) > 0 {
		n.Verb = doYield
	}
	return n
}

func (g *generator) new(v verb) *node {
	g.next++
	g.budget--
	return &node{Verb: v, ID: fmt.Sprintf("%s%d", g.prefix, g.next)}
}

// duration of timers: most within a queue's delay, some beyond.
func (g *generator) duration() time.Duration {
	if g.random.IntN(5) == 0 {
		return time.Duration(15+g.random.IntN(40)) * time.Minute
	}
	return time.Duration(1+g.random.IntN(200)) * time.Second
}

// startable draws something that gives a future.
func (g *generator) startable(depth int) *node {
	n := g.new(waiting[g.random.IntN(len(waiting))])
	switch n.Verb {
	case doSleep:
		n.D = g.duration()
	case doChild:
		if g.child == "" {
			n.Verb = doStep
			break
		}
		n.Target, n.Mode = g.child, g.random.IntN(3)
	case doCall, doStep:
		g.behaviour(n)
	case doReceive:
		if depth > 0 && g.random.IntN(2) == 0 {
			n.Verb = doBranch
			n.Inside = [][]*node{g.block(2, depth+1)}
		}
	}
	return n
}

func (g *generator) behaviour(n *node) {
	n.Mode = g.random.IntN(3)
	switch g.random.IntN(9) {
	case 0:
		n.Fails = 1 + g.random.IntN(2)
	case 1:
		n.Dies = "broken"
	case 2:
		n.Hangs, n.D = true, time.Duration(5+g.random.IntN(20))*time.Second
	case 3:
		n.Beats = 1 + g.random.IntN(2)
	case 4:
		if n.Verb == doStep {
			break
		}
		n.Later, n.D = time.Duration(g.random.IntN(30))*time.Second, time.Duration(5+g.random.IntN(20))*time.Second
		if n.Beats = g.random.IntN(2); g.random.IntN(3) == 0 {
			n.Dies = "broken"
		}
	}
}

func (g *generator) nested(depth int) *node {
	n := g.new(nesting[g.random.IntN(len(nesting))])
	inner := func() []*node { return g.block(2, depth+1) }
	switch n.Verb {
	case doParallel:
		for range 2 + g.random.IntN(2) {
			n.Inside = append(n.Inside, inner())
		}
	case doRace, doAll, doAny:
		var some []*node
		for range 2 + g.random.IntN(2) {
			if s := g.startable(depth + 1); n.Verb == doRace || s.Verb != doSleep { // only a race takes futures of all types
				some = append(some, s)
			}
		}
		if len(some) == 0 {
			some = append(some, g.new(doStep))
		}
		n.Inside = [][]*node{some}
	case doPatch:
		if !g.patch {
			n.Verb, n.Inside = doShield, [][]*node{inner()}
			break
		}
		n.Inside = [][]*node{inner(), inner()}
	case doRepeat:
		n.N, n.Inside = 2, [][]*node{inner()}
	default:
		n.D, n.Inside = g.duration(), [][]*node{inner()}
	}
	return n
}

// family is how many generations there are of a run of the program and of its descendants, about; it is known of its children.
func (p *program) family(known map[string]int) int {
	each := 1
	p.each(func(n *node) { each += known[n.Target] })
	if p.Flow != nil {
		p.Flow.each(func(n *flowNode) { each += known[n.Workflow] })
	}
	return p.Generations * each
}

// each goes through all nodes of a program.
func (p *program) each(do func(*node)) {
	var walk func([]*node)
	walk = func(nodes []*node) {
		for _, n := range nodes {
			do(n)
			for _, inside := range n.Inside {
				walk(inside)
			}
		}
	}
	walk(p.OnSignal)
	walk(p.OnUpdate)
	walk(p.Body)
}

// without takes nodes out, by id: a smaller program that may fail in the same way.
func (p *program) without(ids map[string]bool) {
	if p.Flow != nil {
		p.Flow.without(p.Name, ids)
		return
	}
	var cut func([]*node) []*node
	cut = func(nodes []*node) (kept []*node) {
		for _, n := range nodes {
			if ids[p.Name+"."+n.ID] {
				continue
			}
			for i := range n.Inside {
				n.Inside[i] = cut(n.Inside[i])
			}
			if starts := n.Verb == doRace || n.Verb == doAll || n.Verb == doAny || n.Verb == doLeave; starts && len(n.Inside[0]) == 0 {
				continue // a race of nothing is an error, not a smaller race
			}
			kept = append(kept, n)
		}
		return kept
	}
	p.OnSignal, p.OnUpdate, p.Body = cut(p.OnSignal), cut(p.OnUpdate), cut(p.Body)
}
