package main

import (
	"errors"
	"os"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/tests/gauge"
)

// suspended starts very many workflows that wait for a signal. What they hold in memory, how fast a server with them
// starts again, and what they take on disk.
func (b *bench) suspended() (err error) {
	folder, err := os.MkdirTemp(b.data, "reprise-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	add := b.adder(count(b.waiting) + " suspended runs")
	err = b.on(folder, "first", func(c *child) error { return b.suspend(c, add) })
	if err != nil {
		return err
	}
	return b.on(folder, "again", func(c *child) error {
		add("s from process start until ready, restarted", c.ready.Seconds())
		return report(c, add, "restarted")
	})
}

func (b *bench) suspend(c *child, add adder) error {
	if err := b.warmUp(c, "inline"); err != nil {
		return err
	}
	// So many are kept live between activations; beyond, each has to be at rest. Enough to fill all caches.
	const live, cached = 1000, 10_000
	settled := make([]usage, 0, 4)
	started := 0
	for _, upTo := range []int{0, live, cached, b.waiting} {
		if upTo > started {
			if _, err := c.apply(b, load{Workflow: waiter.Name(), Runs: upTo - started, InFlight: b.inFlight, Unawaited: true}, true); err != nil {
				return err
			}
			if err := c.settle(upTo - started); err != nil {
				return err
			}
			started = upTo
		}
		given, err := c.ask(request{Settle: true})
		if err != nil {
			return err
		}
		settled = append(settled, given.Usage)
	}
	const kilobytes, megabytes = 1 << 10, 1 << 20
	before, some, full, all := settled[0], settled[1], settled[2], settled[3]
	add("KB of heap and stack per live run (first 1,000)", float64(some.Heap-before.Heap)/live/kilobytes)
	if b.waiting > cached {
		add("KB of heap and stack per suspended run (beyond 10k)", float64(all.Heap-full.Heap)/float64(b.waiting-cached)/kilobytes)
		add("KB of RSS per suspended run (beyond 10k)", (all.RSS-full.RSS)*megabytes/float64(b.waiting-cached)/kilobytes)
	}
	add("RSS MB, before any", before.RSS)
	add("RSS MB, with 1,000", some.RSS)
	add("RSS MB, with 10k", full.RSS)
	if err := report(c, add, "with all"); err != nil {
		return err
	}
	size, err := gauge.FolderSize(c.folder)
	add("KB on disk per run", float64(size)/float64(b.waiting)/kilobytes)
	return err
}

// settle waits until the code of so many new runs waits, and forgets their marks.
func (c *child) settle(runs int) error {
	if _, err := c.door().seen(runs - 1); err != nil {
		return err
	}
	_, err := c.ask(request{Take: true})
	return err
}

// report adds memory as it is, and once garbage is given back.
func report(c *child, add adder, when string) error {
	now, err := c.ask(request{Usage: true})
	if err != nil {
		return err
	}
	settled, err := c.ask(request{Settle: true})
	if err != nil {
		return err
	}
	add("RSS MB, "+when, now.Usage.RSS)
	add("RSS MB, "+when+", garbage given back", settled.Usage.RSS)
	return nil
}

// concurrent holds 500 queued activities in progress at one time.
func (b *bench) concurrent() error {
	const activities = 500
	return b.with("held", func(c *child) error {
		if err := b.warmUp(c, "queued"); err != nil {
			return err
		}
		begun := make([]*wire.Summary, activities)
		d := c.door()
		err := closedLoop(activities, b.inFlight, func(i int) (err error) {
			begun[i], err = d.begin(b, engine.StartRequest{Workflow: holder.Name(), Input: number(i)})
			return err
		})
		if err != nil {
			return err
		}
		if _, err := d.seen(activities - 1); err != nil {
			return err
		}
		if err := report(c, b.adder("500 activities at once"), "while they run"); err != nil {
			return err
		}
		if _, err := c.ask(request{Open: true}); err != nil {
			return err
		}
		return closedLoop(activities, b.inFlight, func(i int) error {
			_, err := d.wait(b, begun[i].Run)
			return err
		})
	})
}
