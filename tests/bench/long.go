package main

import (
	"fmt"
	"slices"
)

// long runs single workflows of many sequential activities, alone: what one costs, and whether the last ones cost as
// much as the first.
func (b *bench) long() error {
	for _, kind := range []string{"inline", "queued"} {
		for _, calls := range slices.Compact([]int{1000, b.longest}) {
			if err := b.with(fmt.Sprint(kind, "-", calls), func(c *child) error { return b.longOn(c, kind, calls) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) longOn(c *child, kind string, calls int) error {
	if err := b.warmUp(c, kind); err != nil {
		return err
	}
	took, err := c.apply(b, load{Workflow: kind, Input: calls, Result: sumTo(calls), Runs: 1, InFlight: 1}, false)
	if err != nil {
		return err
	}
	given, err := c.ask(request{Take: true})
	if err != nil {
		return err
	}
	const part = 100
	if len(given.Marks) < 2*part {
		return fmt.Errorf("%d activities were seen", len(given.Marks))
	}
	first, last := given.Marks[:part+1], given.Marks[len(given.Marks)-part-1:]
	add := b.adder(fmt.Sprintf("one run of %s, %s", count(calls), kind))
	add("ms per activity", ms(float64(took.All))/float64(calls))
	early, late := ms(float64(first[part]-first[0]))/part, ms(float64(last[part]-last[0]))/part
	add("ms per activity, first hundred", early)
	add("ms per activity, last hundred", late)
	add("last hundred / first hundred", late/early)
	return nil
}
