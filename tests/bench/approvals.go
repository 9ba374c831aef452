package main

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
)

// evictAfter is how long the server keeps runs in memory that wait. It is shorter than that of
// reprise dev, so that a benchmark sees it.
const evictAfter = time.Second

// watched is how long the server is watched while all flows wait.
const watched = 10 * time.Second

const approval = `{"start": "ask", "nodes": {"ask": {"kind": "approval",
	"params": {"approval_key": "$shared.approved", "timeout_ms": 864000000}}}}`

// approvals has very many flows wait for an approval, and then approves all of them.
func (b *bench) approvals() error {
	return b.with("approvals", func(c *child) error {
		if err := b.warmUp(c, "inline"); err != nil {
			return err
		}
		if err := c.publish(b, map[string]string{"approval": approval}); err != nil {
			return err
		}
		before, err := c.atRest()
		if err != nil {
			return err
		}
		l := load{Workflow: "approval", Runs: b.approvalsOpen, InFlight: b.inFlight, Numbered: asParams, Unawaited: true}
		took, err := c.apply(b, l, false)
		if err != nil {
			return err
		}
		add := b.adder(count(b.approvalsOpen) + " flows in approval")
		add("s to start them", took.All.Seconds())
		if err := b.idle(c, add, before.Usage); err != nil {
			return err
		}
		return b.approve(c, add)
	})
}

// atRest waits until the server does nothing, and has forgotten the runs that wait.
func (c *child) atRest() (answer, error) {
	if _, err := c.ask(request{Rest: true}); err != nil {
		return answer{}, err
	}
	time.Sleep(3 * evictAfter)
	return c.ask(request{Settle: true})
}

// idle measures the server while all flows wait.
func (b *bench) idle(c *child, add adder, before usage) error {
	waiting, err := c.atRest()
	if err != nil {
		return err
	}
	time.Sleep(watched)
	after, err := c.ask(request{Usage: true})
	if err != nil {
		return err
	}
	runs := float64(b.approvalsOpen)
	add("runs in memory while they wait", float64(after.Usage.Live))
	add("CPU ms per second while they wait", (after.Usage.CPU-waiting.Usage.CPU)/watched.Seconds())
	add("writes while they wait", float64(after.Usage.Commits-waiting.Usage.Commits))
	add("KB of heap and stack per flow that waits", float64(waiting.Usage.Heap-before.Heap)/runs/1024)
	add("RSS MB, before any", before.RSS)
	add("RSS MB, while they wait", waiting.Usage.RSS)
	return nil
}

// approve approves all flows, and waits until all have ended.
func (b *bench) approve(c *child, add adder) error {
	begun := time.Now()
	value, err := history.Encode(flow.Message{Key: "approved", Value: []byte("true")})
	if err != nil {
		return err
	}
	before, err := c.ask(request{Usage: true})
	if err != nil {
		return err
	}
	err = closedLoop(b.approvalsOpen, b.inFlight, func(i int) error {
		return c.signal(b, fmt.Sprint("flow-", i), flow.Set.Name(), value)
	})
	if err == nil {
		_, err = c.ask(request{Rest: true})
	}
	took := time.Since(begun)
	if err != nil {
		return err
	}
	after, err := c.ask(request{Usage: true})
	if err != nil {
		return err
	}
	add("s to approve all, and to end", took.Seconds())
	add("CPU ms per approval", (after.Usage.CPU-before.Usage.CPU)/float64(b.approvalsOpen))
	return closedLoop(b.approvalsOpen, b.inFlight, func(i int) error {
		summary, err := c.client.Get(b, fmt.Sprint("flow-", i))
		if err == nil && summary.Status != history.Completed {
			err = fmt.Errorf("run %s is %s", summary.Run, summary.Status)
		}
		return err
	})
}
