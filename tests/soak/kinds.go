package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
)

// kind is one sort of thing that clients do, each again and again, waiting for the end of one before the next.
type kind struct {
	name    string
	clients int
	// pause between two things. Where the disk would be the limit, or where most of a thing is waiting anyway.
	pause time.Duration
	do    func(ctx context.Context, l *load, run string, i int) error
}

// kinds in the proportion in which the server meets them. Together they take all of two cores.
var kinds = []kind{
	{name: "steps", clients: 10, do: doSteps},
	{name: "calls", clients: 8, do: doCalls},
	{name: "carry", clients: 3, pause: 100 * time.Millisecond, do: doCarry},
	{name: "naps", clients: 10, do: doNaps},
	{name: "counter", clients: 6, do: doCounter},
	{name: "family", clients: 4, do: doFamily},
	{name: "generations", clients: 3, do: doGenerations},
	{name: "stoppable", clients: 3, do: doStoppable},
	{name: "labelled", clients: 2, pause: 20 * time.Millisecond, do: doLabelled},
	{name: "hang-ups", clients: 4, do: doHangUp},
	{name: "long", clients: 1, do: doLong},
	{name: "residents", clients: 2, pause: 20 * time.Millisecond, do: driveResident},
}

// sumTo is the sum of the numbers below n.
func sumTo(n int) int { return n * (n - 1) / 2 }

func doSteps(ctx context.Context, l *load, run string, _ int) error {
	return execute(ctx, l, steps, run, 10, sumTo(10))
}

func doCalls(ctx context.Context, l *load, run string, _ int) error {
	return execute(ctx, l, calls, run, 8, sumTo(8))
}

// doCarry has payloads of 100 bytes to 200 KB, as many between 100 and 1,000 as between 10,000 and 100,000.
func doCarry(ctx context.Context, l *load, run string, i int) error {
	size := int(100 * math.Pow(2000, rand.Float64()))
	text := strings.Repeat(fmt.Sprintf("%s, %d; ", run, i), size/10)[:size]
	return execute(ctx, l, carry, run, text, text)
}

func doNaps(ctx context.Context, l *load, run string, i int) error {
	ms := 10 + i%200
	return execute(ctx, l, naps, run, ms, ms)
}

func doFamily(ctx context.Context, l *load, run string, _ int) error {
	const children = 4
	want := 0
	for i := range children {
		want += sumTo(i)
	}
	return execute(ctx, l, family, run, children, want)
}

func doGenerations(ctx context.Context, l *load, run string, _ int) error {
	return execute(ctx, l, generations, run, 4, 5)
}

func doLong(ctx context.Context, l *load, run string, _ int) error {
	const calls = 2000
	return execute(ctx, l, long, run, calls, sumTo(calls))
}

// doCounter drives one run by everything that it takes, also by callers who hang up and ask again.
func doCounter(ctx context.Context, l *load, run string, i int) error {
	if _, err := client.Start(ctx, l.client, counter, run, tally{}); err != nil {
		return err
	}
	sent := tally{}
	for range 1 + i%4 {
		if err := client.Signal(ctx, l.client, run, add, i); err != nil {
			return err
		}
		sent.add(i)
		if got, err := client.Update(ctx, l.client, run, addNow, i); err != nil {
			return err
		} else if got != i {
			return fmt.Errorf("an update of %d gave %d", i, got)
		}
		sent.add(i)
	}
	if _, err := client.Update(ctx, l.client, run, addNow, -1); !errors.Is(err, client.ErrRejected) {
		return fmt.Errorf("an update that is to be rejected: %v", err) //nolint:errorlint // there may be none
	}
	if err := updateTwice(ctx, l, run); err != nil {
		return err
	}
	sent.add(1)
	if got, err := client.Query(ctx, l.client, run, total, struct{}{}); err != nil {
		return err
	} else if got.Count > sent.Count || got.Count < sent.Count-sent.Count/2 { // all updates, and of the signals who knows
		return fmt.Errorf("a query gave %+v, and it was sent %+v", got, sent)
	}
	if err := client.Signal(ctx, l.client, run, finish, struct{}{}); err != nil {
		return err
	}
	summary, err := l.client.Wait(ctx, run)
	if err != nil {
		return err
	}
	return check(l, summary, sent)
}

// updateTwice sends one update, hangs up, and asks for its answer.
func updateTwice(ctx context.Context, l *load, run string) error {
	mail := engine.MessageRequest{Run: run, ID: run + "-twice"}
	hurried, cancel := context.WithTimeout(ctx, time.Duration(rand.Int64N(int64(3*time.Millisecond))))
	defer cancel()
	_, _ = l.client.Update(hurried, mail, addNow.Name(), history.Payload("1")) // whatever came of it: the next call says
	answer, err := l.client.Update(ctx, mail, addNow.Name(), history.Payload("1"))
	if err == nil && string(answer.Result) != "1" {
		err = fmt.Errorf("an update that was sent twice gave %q", answer.Result)
	}
	return err
}

// doStoppable cancels every run but each fourth, which it terminates.
func doStoppable(ctx context.Context, l *load, run string, i int) error {
	if _, err := client.Start(ctx, l.client, stoppable, run, i); err != nil {
		return err
	}
	pause(ctx, time.Duration(rand.Int64N(int64(50*time.Millisecond))))
	stop, want := l.client.Cancel, history.Cancelled
	if i%4 == 3 {
		stop, want = l.client.Terminate, history.Terminated
	}
	if _, err := stop(ctx, engine.MessageRequest{Run: run}, "soak"); err != nil {
		return err
	}
	summary, err := l.client.Wait(ctx, run)
	if err != nil {
		return err
	}
	if summary.Status != want {
		return other(summary, want)
	}
	l.ended.Add(1)
	return nil
}

// doLabelled finds a run by its attribute, while it is open and when it has ended.
func doLabelled(ctx context.Context, l *load, run string, _ int) error {
	input, err := history.Encode(run)
	if err != nil {
		return err
	}
	attributes := history.Attributes{label.Name(): input}
	if _, err := l.client.Start(ctx, engine.StartRequest{Run: run, Workflow: labelled.Name(), Input: input, Attributes: attributes}); err != nil {
		return err
	}
	find := func(status history.Status) error {
		page, err := l.client.List(ctx, port.ListQuery{Workflow: labelled.Name(), Status: status, Attributes: attributes, Limit: 2})
		if err == nil && (len(page.Runs) != 1 || page.Runs[0].Run != run) {
			err = fmt.Errorf("%d runs were found by its label", len(page.Runs))
		}
		return err
	}
	if err := find(history.Running); err != nil {
		return err
	}
	if err := client.Signal(ctx, l.client, run, finish, struct{}{}); err != nil {
		return err
	}
	summary, err := l.client.Wait(ctx, run)
	if err != nil {
		return err
	}
	if err := find(history.Completed); err != nil {
		return err
	}
	return check(l, summary, run)
}

// doHangUp waits for a run, hangs up, and waits again.
func doHangUp(ctx context.Context, l *load, run string, i int) error {
	const ms = 100
	hurried, cancel := context.WithTimeout(ctx, time.Duration(rand.Int64N(int64(150*time.Millisecond))))
	defer cancel()
	start := engine.StartRequest{Run: run, Workflow: naps.Name(), Input: history.Payload(fmt.Sprint(ms))}
	if i%2 == 0 {
		_, _ = l.client.StartAndWait(hurried, start) // whatever came of it: the next call says
	} else if _, err := l.client.Start(ctx, start); err == nil {
		_, _ = l.client.Wait(hurried, run) // likewise
	}
	return execute(ctx, l, naps, run, ms, ms)
}
