package main

import (
	"context"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/tests/gauge"
)

// mailLatencies are nanoseconds from the call.
type mailLatencies struct {
	Accepted []int64 `json:"accepted"` // until the signal's sender had its answer
	Seen     []int64 `json:"seen"`     // until the workflow's code had the signal
	Answered []int64 `json:"answered"` // until the update's sender had its result
}

// mail sends one workflow signals, one after the other was seen, and another one updates.
func (b *bench) mail() error {
	const mails = 500
	for _, inside := range []bool{false, true} {
		err := b.with(way(inside), func(c *child) error {
			if err := b.warmUp(c, "inline"); err != nil {
				return err
			}
			var latencies mailLatencies
			var err error
			if inside {
				var given answer
				given, err = c.ask(request{Mail: mails})
				latencies = given.Mail
			} else {
				latencies, err = measureMail(b, c.door(), mails)
			}
			if err != nil {
				return err
			}
			add := b.adder("mail, " + way(inside))
			add("signal ms until seen by code, p50", ms(gauge.Quantile(latencies.Seen, 0.5)))
			add("signal ms until seen by code, p99", ms(gauge.Quantile(latencies.Seen, 0.99)))
			add("signal ms until accepted, p50", ms(gauge.Quantile(latencies.Accepted, 0.5)))
			add("update ms until answered, p50", ms(gauge.Quantile(latencies.Answered, 0.5)))
			add("update ms until answered, p99", ms(gauge.Quantile(latencies.Answered, 0.99)))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func measureMail(ctx context.Context, d door, n int) (l mailLatencies, err error) {
	err = each(ctx, d, listener.Name(), n, func(run string, i int) error {
		begun := time.Now()
		if err := d.signal(ctx, run, number(i)); err != nil {
			return err
		}
		accepted := time.Since(begun)
		at, err := d.seen(i)
		l.Accepted, l.Seen = append(l.Accepted, int64(accepted)), append(l.Seen, at-begun.UnixNano())
		return err
	})
	if err != nil {
		return l, err
	}
	err = each(ctx, d, answerer.Name(), n, func(run string, i int) error {
		begun := time.Now()
		err := d.update(ctx, run, number(i))
		l.Answered = append(l.Answered, int64(time.Since(begun)))
		return err
	})
	return l, err
}

// each starts a workflow that takes n mails, sends them, and waits for its end.
func each(ctx context.Context, d door, workflow string, n int, send func(run string, i int) error) error {
	summary, err := d.begin(ctx, engine.StartRequest{Workflow: workflow, Input: number(n)})
	if err != nil {
		return err
	}
	for i := range n {
		if err := send(summary.Run, i); err != nil {
			return err
		}
	}
	_, err = d.wait(ctx, summary.Run)
	return err
}
