package main

import "github.com/reprise-run/reprise/tests/gauge"

// fanOut runs workflows that start 100 activities at once and wait for all, one workflow at a time.
func (b *bench) fanOut() error {
	const width, runs = 100, 20
	for _, kind := range []string{"inline", "queued"} {
		err := b.with(kind, func(c *child) error {
			if err := b.warmUp(c, "fan-"+kind); err != nil {
				return err
			}
			took, err := c.apply(b, load{Workflow: "fan-" + kind, Input: width, Result: sumTo(width), Runs: runs, InFlight: 1}, false)
			if err != nil {
				return err
			}
			add := b.adder("fan-out of 100, " + kind)
			add("activities/s", runs*width/took.All.Seconds())
			add("ms per workflow, p50", ms(gauge.Quantile(took.Each, 0.5)))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
