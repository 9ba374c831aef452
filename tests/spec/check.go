package main

import (
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The checker: breadth first over all reachable states of one scenario, a layer at a time, on all processors.
//
// A state is a flat value (bytes only), so it is hashed as it lies in memory; only 64 bits of it and the number of the state
// that it came from are kept. What is checked:
//
//   safety    Bad is set by the protocol where an invariant breaks, and broken() is evaluated on every state;
//   progress  a state that no fault-free step leaves must be a good end, and the fault-free steps form no cycle. Together:
//             once faults stop, every schedule whatever ends well, without any assumption of fairness.
//
// The first violation found is a shortest one, but for cycles; its trace is rebuilt by walking back.

type result struct {
	states, steps, depth int
	bad                  string
	trace                []string // the last line is the state that it leads to
	took                 time.Duration
	whole                bool // every state was visited
}

// search is one exploration.
type search struct {
	m      *Model
	seed   maphash.Seed
	seen   [shards]shard
	count  atomic.Int32
	parent []int32
	edges  []edges // of each worker, fault-free
}

// edges lead from one state to another.
type edges struct{ from, to []int32 }

const shards = 64

// shard is a part of the set of states seen: hash → number.
type shard struct {
	mu      sync.Mutex
	numbers map[uint64]int32
	_       [40]byte // a cache line of its own
}

// found is a state of the next layer.
type found struct {
	state    State
	id, from int32
}

// layer is the states of one depth, in pieces: a worker takes a piece at a time, and states are not moved once they are there.
type layer [][]found

const piece = 64

func (l *layer) add(f found) {
	last := len(*l) - 1
	if last < 0 || len((*l)[last]) == piece {
		*l = append(*l, make([]found, 0, piece))
		last++
	}
	(*l)[last] = append((*l)[last], f)
}

// explore runs the scenario under the rules, until the first violation. No further layer is begun once it knows as many
// states as the limit says.
func explore(scenario Scenario, rules Rules, limit int) (res result) {
	began := time.Now()
	defer func() { res.took = time.Since(began) }()
	x := &search{m: newModel(scenario, rules), seed: maphash.MakeSeed()}
	for i := range x.seen {
		x.seen[i].numbers = map[uint64]int32{}
	}
	workers := runtime.GOMAXPROCS(0)
	x.edges = make([]edges, workers)
	first := x.m.initial()
	x.m.canonical(&first)
	id, _ := x.number(&first)
	states := layer{{found{first, id, -1}}}
	for len(states) > 0 {
		res.states = int(x.count.Load())
		x.parent = append(x.parent, make([]int32, res.states-len(x.parent))...)
		for _, some := range states {
			for i := range some {
				x.parent[some[i].id] = some[i].from
			}
		}
		if res.states > limit {
			return
		}
		res.depth++
		if states = x.visitAll(states, workers, &res); res.bad != "" {
			return
		}
	}
	res.whole = true
	if id := x.cycle(); id >= 0 {
		res.bad = "a cycle without any fault: messages chase each other for ever"
		res.trace = x.retrace(id)
	}
	return
}

// number gives the number of a state, and whether it is new.
func (x *search) number(s *State) (id int32, fresh bool) {
	hash := maphash.Bytes(x.seed, bytesOf(s))
	part := &x.seen[hash%shards]
	part.mu.Lock()
	defer part.mu.Unlock()
	if id, seen := part.numbers[hash]; seen {
		return id, false
	}
	id = x.count.Add(1) - 1
	part.numbers[hash] = id
	return id, true
}

// violation is a state in which something does not hold.
type violation struct {
	id  int32
	why string
}

// visitAll visits the states of one depth and gives those of the next.
func (x *search) visitAll(states layer, workers int, res *result) (next layer) {
	var taken, steps atomic.Int64
	var busy sync.WaitGroup
	parts := make([]layer, workers)
	bad := make([]*violation, workers)
	for w := range workers {
		busy.Go(func() {
			made := 0
			defer func() { steps.Add(int64(made)) }()
			for i := int(taken.Add(1)) - 1; i < len(states); i = int(taken.Add(1)) - 1 {
				for j := range states[i] {
					n, violated := x.visit(&states[i][j], &parts[w], &x.edges[w])
					if made += n; violated != nil {
						bad[w] = violated
						return
					}
				}
				states[i] = nil // its memory is of use for the next
			}
		})
	}
	busy.Wait()
	res.steps += int(steps.Load())
	for w := range workers {
		if bad[w] != nil {
			res.bad, res.trace = bad[w].why, x.retrace(bad[w].id)
			return nil
		}
		next = append(next, parts[w]...)
	}
	return next
}

// visit checks one state and finds those that follow from it.
func (x *search) visit(f *found, next *layer, free *edges) (made int, bad *violation) {
	if why := x.m.broken(&f.state); why != "" {
		return 0, &violation{f.id, why}
	}
	before := len(free.from)
	x.m.next(&f.state, func(t State, fault bool, _ string) {
		made++
		x.m.canonical(&t)
		id, fresh := x.number(&t)
		if fresh {
			next.add(found{t, id, f.id})
		}
		if !fault {
			free.from, free.to = append(free.from, f.id), append(free.to, id)
		}
	})
	if len(free.from) == before {
		if why := x.m.stuck(&f.state); why != "" {
			return made, &violation{f.id, why}
		}
	}
	return made, nil
}

// cycle returns a state on a cycle of fault-free steps, or -1: it takes away what nothing leads to, as long as there is any.
func (x *search) cycle() int32 {
	n := len(x.parent)
	in, start := make([]int32, n), make([]int32, n+1)
	for _, e := range x.edges {
		for i := range e.from {
			in[e.to[i]]++
			start[e.from[i]+1]++
		}
	}
	for i := range n {
		start[i+1] += start[i]
	}
	out, place := make([]int32, start[n]), append([]int32(nil), start[:n]...)
	for _, e := range x.edges {
		for i, from := range e.from {
			out[place[from]] = e.to[i]
			place[from]++
		}
	}
	var todo []int32
	for i := range in {
		if in[i] == 0 {
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n--
		for _, to := range out[start[i]:start[i+1]] {
			if in[to]--; in[to] == 0 {
				todo = append(todo, to)
			}
		}
	}
	if n == 0 {
		return -1
	}
	// What is left lies on a cycle or behind one; going backwards leads onto one.
	before := make([]int32, len(in))
	for i := range in {
		for _, to := range out[start[i]:start[i+1]] {
			if in[i] > 0 && in[to] > 0 {
				before[to] = int32(i)
			}
		}
	}
	at := int32(0)
	for in[at] == 0 {
		at++
	}
	for range n {
		at = before[at]
	}
	return at
}

// retrace tells the steps that lead to a state.
func (x *search) retrace(id int32) (trace []string) {
	var path []int32
	for ; id >= 0; id = x.parent[id] {
		path = append(path, id)
	}
	teller := *x.m
	teller.telling = true
	s := x.m.initial()
	for i := len(path) - 2; i >= 0; i-- {
		line, after, ok := x.step(&teller, &s, path[i])
		if !ok { // visits keep their names as long as that is possible: from here on, they are those of the canonical form
			x.m.canonical(&s)
			line, after, _ = x.step(&teller, &s, path[i])
		}
		trace = append(trace, line)
		s = after
	}
	return append(trace, "= "+teller.describe(&s))
}

// step finds the step that leads from a state to the one of that number.
func (x *search) step(teller *Model, s *State, id int32) (line string, after State, ok bool) {
	teller.next(s, func(t State, fault bool, what string) {
		if ok {
			return
		}
		c := t
		x.m.canonical(&c)
		if number, fresh := x.number(&c); fresh || number != id {
			return
		}
		line, after, ok = "  "+what, t, true
		if fault {
			line = "! " + what
		}
	})
	return
}
