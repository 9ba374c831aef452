package main

import (
	"errors"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/tests/gauge"
)

// timer starts workflows that sleep for a second, one every 50 ms, and asks how late they woke.
func (b *bench) timer() error {
	const runs, pace, sleep = 200, 50 * time.Millisecond, time.Second
	return b.with("paced", func(c *child) error {
		if err := b.warmUp(c, "inline"); err != nil {
			return err
		}
		var late collector
		var failed error
		var mu sync.Mutex
		var asleep sync.WaitGroup
		d, tick := c.door(), time.NewTicker(pace)
		defer tick.Stop()
		for range runs {
			asleep.Go(func() {
				microseconds, err := slept(b, d, sleep)
				late.add(int64(microseconds) * int64(time.Microsecond))
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			})
			<-tick.C
		}
		asleep.Wait()
		values := late.take()
		add := b.adder("timer of 1 s")
		add("ms late, p50", ms(gauge.Quantile(values, 0.5)))
		add("ms late, p99", ms(gauge.Quantile(values, 0.99)))
		return failed
	})
}

// slept gives how late one workflow woke, in microseconds.
func slept(b *bench, d door, sleep time.Duration) (int, error) {
	summary, err := d.start(b, engine.StartRequest{Workflow: sleeper.Name(), Input: number(int(sleep.Milliseconds()))})
	if err != nil {
		return 0, err
	}
	return history.Decode[int](summary.Result)
}
