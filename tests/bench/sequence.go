package main

import "github.com/reprise-run/reprise/tests/gauge"

// sequence is how many activities one workflow calls, one after the other.
const sequence = 10

// sequences runs many such workflows, many at a time.
func (b *bench) sequences(workflow string) error {
	for _, inside := range []bool{false, true} {
		if err := b.with(way(inside), func(c *child) error { return b.sequencesOn(c, workflow, inside) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) sequencesOn(c *child, workflow string, inside bool) error {
	if err := b.warmUp(c, workflow); err != nil {
		return err
	}
	before, err := c.ask(request{Usage: true})
	if err != nil {
		return err
	}
	took, err := c.apply(b, load{Workflow: workflow, Input: sequence, Result: sumTo(sequence), Runs: b.workflows, InFlight: b.inFlight}, inside)
	if err != nil {
		return err
	}
	after, err := c.ask(request{Usage: true})
	if err != nil {
		return err
	}
	size, err := gauge.FolderSize(c.folder)
	if err != nil {
		return err
	}
	add := b.adder(workflow + ", " + way(inside))
	runs, calls := float64(b.workflows), float64(b.workflows*sequence)
	add("activities/s", calls/took.All.Seconds())
	add("workflows/s", runs/took.All.Seconds())
	add("ms per workflow, p50", ms(gauge.Quantile(took.Each, 0.5)))
	add("ms per workflow, p99", ms(gauge.Quantile(took.Each, 0.99)))
	add("CPU ms per activity", (after.Usage.CPU-before.Usage.CPU)/calls)
	add("flushes per activity", float64(after.Usage.Flushes-before.Usage.Flushes)/calls)
	add("writes per flush", float64(after.Usage.Commits-before.Usage.Commits)/float64(max(1, after.Usage.Flushes-before.Usage.Flushes)))
	add("RSS MB", after.Usage.RSS)
	add("RSS MB, peak", after.Usage.Peak)
	add("KB on disk per workflow", float64(size)/runs/1024)
	return nil
}

// warmUp has the server run a few workflows first, and forgets their marks.
func (b *bench) warmUp(c *child, workflow string) error {
	const runs, calls, inFlight = 100, 4, 25
	if _, err := (load{Workflow: workflow, Input: calls, Result: sumTo(calls), Runs: runs, InFlight: inFlight}).through(b, c.door()); err != nil {
		return err
	}
	_, err := c.ask(request{Take: true})
	return err
}

// sumTo is what workflows of n activities give: activity i gives i.
func sumTo(n int) int { return n * (n - 1) / 2 }

func ms(nanoseconds float64) float64 { return nanoseconds / 1e6 }
