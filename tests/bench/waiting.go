package main

import (
	"errors"
	"os"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

// timers starts many timers in one run that are due within 8 s. How long after the last of them the run ends.
func (b *bench) timers() error {
	const within = 8 * time.Second
	for _, n := range []int{20_000, 50_000} {
		err := b.with("timers", func(c *child) error {
			began := time.Now()
			input, err := history.Encode(alarms{Timers: n, First: time.Second, Last: within})
			if err != nil {
				return err
			}
			if _, err := c.door().start(b, engine.StartRequest{Workflow: alarmed.Name(), Input: input}); err != nil {
				return err
			}
			b.adder(count(n)+" timers of one run, due within 8 s")("s from start to end", time.Since(began).Seconds())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// restart starts a server again on runs that wait: many with a long log, and one with many long timers.
func (b *bench) restart() error {
	const timers = 50_000
	for _, of := range []struct{ runs, records int }{{1000, 200}, {200, 3000}} {
		err := b.restarted(count(of.runs)+" waiting runs of "+count(of.records)+" records", func(c *child) error {
			waiting := load{Workflow: worked.Name(), Runs: of.runs, Input: of.records, InFlight: b.inFlight, Unawaited: true}
			if _, err := c.apply(b, waiting, true); err != nil {
				return err
			}
			return c.settle(of.runs)
		})
		if err != nil {
			return err
		}
	}
	return b.restarted("a run of "+count(timers)+" long timers", func(c *child) error {
		input, err := history.Encode(alarms{Timers: timers, First: time.Hour, Last: 2 * time.Hour})
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := c.door().begin(b, engine.StartRequest{Workflow: alarmed.Name(), Input: input}); err != nil {
			return err
		}
		err = c.settle(1)
		b.adder("a run of "+count(timers)+" long timers")("s to begin them", time.Since(began).Seconds())
		return err
	})
}

// restarted has a first server fill a folder, and asks how soon a second one is ready.
func (b *bench) restarted(what string, fill func(c *child) error) (err error) {
	folder, err := os.MkdirTemp(b.data, "reprise-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := b.on(folder, "first", fill); err != nil {
		return err
	}
	return b.on(folder, "again", func(c *child) error {
		b.adder(what)("s from process start until ready, restarted", c.ready.Seconds())
		return nil
	})
}
