package simulation

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// surface is what a program needs of an implementation: core/workflow is one, naive the other.
type surface interface {
	start(program *program, n *node) future // of what gives a future
	branch(run func(surface) error) future
	await(f future) (int, error)
	race(futures []future) (int, error)
	all(futures []future) ([]int, error)
	any(futures []future) (int, int, error)
	parallel(branches []func(surface) error) error
	condition(holds func() bool) error
	onSignal(name string, handle func(s surface, value int) error)
	onUpdate(name string, handle func(s surface, value int) (int, error), validate func(value int) error)
	phase(d time.Duration, handle func(value, state int) (next int, stop bool), leave func(surface) error) (state int, err error)
	within(d time.Duration) (inner surface, cancel func())
	scope() (inner surface, cancel func())
	shield() surface
	patched(id string) bool
	publish(state int)
	attribute(value int)
	now() time.Time
	random() uint64
	yield()
}

// future belongs to the surface that gave it.
type future any

// code carries out a program on a surface, and notes what it sees. There is one for each life of a run in memory.
type code struct {
	program *program
	// second: the deployment that knows the program's patches.
	second  bool
	seen    []string
	handled int // signals "h"
	taken   int // of those, by doTake
}

func (c *code) see(format string, args ...any) { c.seen = append(c.seen, fmt.Sprintf(format, args...)) }

// checksum of all that was seen: a run's result.
func (c *code) checksum() int {
	sum := fnv.New32a()
	for _, line := range c.seen {
		fmt.Fprintln(sum, line)
	}
	return int(sum.Sum32())
}

// errContinue is what main gives where the run is to go on in a new generation.
var errContinue = errors.New("continue as new")

// main is the workflow function. Its input counts the generations.
func (c *code) main(s surface, input int) (int, error) {
	c.see("input %d", input)
	if c.program.OnSignal != nil {
		s.onSignal("h", func(s surface, value int) error {
			c.see("h %d", value)
			err := c.block(s, c.program.OnSignal)
			c.handled++
			return err
		})
	}
	if c.program.OnUpdate != nil {
		s.onUpdate("u", func(s surface, value int) (int, error) {
			c.see("u %d", value)
			return 2 * value, c.block(s, c.program.OnUpdate)
		}, func(value int) error {
			if value%5 == 0 {
				return workflow.Fail("refused", "a multiple of five")
			}
			return nil
		})
	}
	if err := c.block(s, c.program.Body); err != nil {
		return 0, err
	}
	if input+1 < c.program.Generations {
		return input + 1, errContinue
	}
	return c.checksum(), nil
}

func (c *code) block(s surface, nodes []*node) error {
	for _, n := range nodes {
		if err := c.node(s, n); err != nil {
			return err
		}
	}
	return nil
}

// saw notes how a node ended. Code goes on after a failure, but not in a scope that has ended.
func (c *code) saw(n *node, value int, err error) error {
	kind := kindOf(err)
	if err != nil {
		value = 0
	}
	c.see("%s %d %s", n.ID, value, kind)
	if kind == "cancelled" || kind == "timeout" {
		return err
	}
	return nil
}

// kindOf is what of an error both implementations must agree on.
func kindOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, history.ErrCancelled):
		return "cancelled"
	case errors.Is(err, history.ErrTimeout):
		return "timeout"
	}
	return "failed:" + workflow.FailureType(err)
}

func (c *code) start(s surface, n *node) future {
	if n.Verb == doBranch {
		return s.branch(func(s surface) error { return c.block(s, n.Inside[0]) })
	}
	return s.start(c.program, n)
}

func (c *code) startAll(s surface, nodes []*node) []future {
	futures := make([]future, len(nodes))
	for i, n := range nodes {
		futures[i] = c.start(s, n)
	}
	return futures
}

func (c *code) node(s surface, n *node) error {
	switch n.Verb {
	case doCall, doStep, doSleep, doReceive, doChild, doBranch:
		value, err := s.await(c.start(s, n))
		return c.saw(n, value, err)
	case doLeave:
		c.start(s, n.Inside[0][0])
		c.see("%s", n.ID)
		return nil
	case doParallel:
		branches := make([]func(surface) error, len(n.Inside))
		for i := range n.Inside {
			branches[i] = func(s surface) error { return c.block(s, n.Inside[i]) }
		}
		return c.saw(n, 0, s.parallel(branches))
	case doRace:
		first, err := s.race(c.startAll(s, n.Inside[0]))
		return c.saw(n, first, err)
	case doAll:
		values, err := s.all(c.startAll(s, n.Inside[0]))
		sum := 0
		for _, value := range values {
			sum += value
		}
		return c.saw(n, sum, err)
	case doAny:
		first, value, err := s.any(c.startAll(s, n.Inside[0]))
		return c.saw(n, 100_000*first+value, err)
	case doCondition:
		return c.saw(n, 0, s.condition(func() bool { return c.handled >= n.N }))
	case doTake:
		err := s.condition(func() bool { return c.handled > c.taken })
		if err == nil {
			c.taken++
		}
		if c.taken > c.handled {
			panic(n.ID + ": the condition holds no longer, and the wait for it has ended")
		}
		return c.saw(n, c.taken, err)
	case doPatch:
		patched := c.second && s.patched(n.ID)
		c.see("%s %t", n.ID, patched)
		if patched {
			return c.block(s, n.Inside[0])
		}
		return c.block(s, n.Inside[1])
	case doWithin, doGiveUp, doShield, doRepeat, doPhase:
		return c.scoped(s, n)
	case doFail:
		return workflow.Fail("given-up", "at %s", n.ID)
	default:
		c.pass(s, n)
		return nil
	}
}

func (c *code) scoped(s surface, n *node) error {
	switch n.Verb {
	case doWithin:
		inner, cancel := s.within(n.D)
		err := c.block(inner, n.Inside[0])
		cancel()
		return c.outcome(n, err)
	case doGiveUp:
		inner, cancel := s.scope()
		f := inner.branch(func(s surface) error { return c.block(s, n.Inside[0]) })
		_, err := s.await(s.start(c.program, &node{Verb: doSleep, D: n.D}))
		cancel()
		if err != nil {
			return c.saw(n, 1, err)
		}
		_, err = s.await(f)
		return c.outcome(n, err)
	case doShield:
		return c.outcome(n, c.block(s.shield(), n.Inside[0]))
	case doRepeat:
		for range n.N {
			if err := c.block(s, n.Inside[0]); err != nil {
				return err
			}
		}
		return nil
	}
	count := 0
	var leave func(surface) error
	if n.Inside != nil {
		leave = func(s surface) error { return c.block(s, n.Inside[0]) }
	}
	state, err := s.phase(n.D, func(value, state int) (int, bool) {
		count++
		c.see("%s takes %d", n.ID, value)
		return state + value, count >= n.N
	}, leave)
	c.see("%s state %d", n.ID, state)
	return c.outcome(n, err)
}

// outcome notes how a scope ended: its end is not that of what is around it.
func (c *code) outcome(n *node, err error) error {
	c.see("%s ends %s", n.ID, kindOf(err))
	if kindOf(err) == "failed:given-up" {
		return err
	}
	return nil
}

// pass carries out what does not wait.
func (c *code) pass(s surface, n *node) {
	switch n.Verb {
	case doPublish:
		s.publish(n.N)
	case doAttribute:
		s.attribute(n.N)
	case doNow:
		c.see("%s %d", n.ID, s.now().UnixNano())
	case doRandom:
		c.see("%s %d", n.ID, s.random())
	case doYield:
		s.yield()
		c.see("%s", n.ID)
	default:
		panic("no such verb: " + n.Verb)
	}
}
