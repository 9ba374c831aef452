package main

import (
	"context"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// What the server runs. Activities do nothing, so that what is measured is the engine. Wall clocks in workflow code are
// for measuring alone; nothing is decided by them.

var definitions = []workflow.Definition{noop, held, inline, queued, fanInline, fanQueued, sleeper, listener, answerer, waiter, holder, worked, alarmed, node, goNodes, goCalls}

// marks are the times at which activities and signals were seen by code, in order.
var marks collector

var noop = activity.New("noop", func(_ context.Context, i int) (int, error) {
	marks.add(time.Now().UnixNano())
	return i, nil
})

// inline calls so many steps, one after the other.
var inline = workflow.New("inline", func(ctx workflow.Context, n int) (sum int, err error) {
	for i := range n {
		got, err := workflow.Step(ctx, "noop", func(ctx context.Context) (int, error) { return step(ctx, i) })
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
})

// queued calls so many activities, one after the other.
var queued = workflow.New("queued", func(ctx workflow.Context, n int) (sum int, err error) {
	for i := range n {
		got, err := workflow.Execute(ctx, noop, i)
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
})

func step(_ context.Context, i int) (int, error) {
	marks.add(time.Now().UnixNano())
	return i, nil
}

var fanInline = workflow.New("fan-inline", func(ctx workflow.Context, n int) (int, error) {
	futures := make([]workflow.Future[int], n)
	for i := range futures {
		futures[i] = workflow.StartStep(ctx, "noop", activity.Options{}, func(ctx context.Context) (int, error) { return step(ctx, i) })
	}
	return sum(workflow.All(ctx, futures...))
})

var fanQueued = workflow.New("fan-queued", func(ctx workflow.Context, n int) (int, error) {
	futures := make([]workflow.Future[int], n)
	for i := range futures {
		futures[i] = workflow.Start(ctx, noop, i)
	}
	return sum(workflow.All(ctx, futures...))
})

func sum(values []int, err error) (total int, _ error) {
	for _, v := range values {
		total += v
	}
	return total, err
}

// sleeper gives how much too late a timer of so many milliseconds was, in microseconds.
var sleeper = workflow.New("sleeper", func(ctx workflow.Context, ms int) (int, error) {
	d := time.Duration(ms) * time.Millisecond
	begun := time.Now()
	err := workflow.Sleep(ctx, d)
	return int((time.Since(begun) - d).Microseconds()), err
})

var ping = workflow.NewSignal[int]("ping")

// listener sees so many signals.
var listener = workflow.New("listener", func(ctx workflow.Context, n int) (int, error) {
	for range n {
		if _, err := workflow.AwaitSignal(ctx, ping); err != nil {
			return 0, err
		}
		marks.add(time.Now().UnixNano())
	}
	return n, nil
})

var echo = workflow.NewUpdate[int, int]("echo")

// answerer answers updates until it has answered so many.
var answerer = workflow.New("answerer", func(ctx workflow.Context, n int) (int, error) {
	answered := 0
	workflow.HandleUpdate(ctx, echo, func(_ workflow.Context, i int) (int, error) {
		answered++
		return i, nil
	})
	return n, workflow.AwaitCondition(ctx, func() bool { return answered == n })
})

// waiter waits for a signal that does not come.
var waiter = workflow.New("waiter", func(ctx workflow.Context, _ int) (int, error) {
	marks.add(time.Now().UnixNano())
	return workflow.AwaitSignal(ctx, ping)
})

// worked takes so many steps, and then waits for a signal that does not come.
var worked = workflow.New("worked", func(ctx workflow.Context, n int) (int, error) {
	for i := range n {
		_, err := workflow.Step(ctx, "noop", func(context.Context) (int, error) { return i, nil })
		if err != nil {
			return 0, err
		}
	}
	marks.add(time.Now().UnixNano())
	return workflow.AwaitSignal(ctx, ping)
})

// alarms are timers of one run: the first is due after First, the last after Last.
type alarms struct {
	Timers      int
	First, Last time.Duration
}

// alarmed waits for all of its timers.
var alarmed = workflow.New("alarmed", func(ctx workflow.Context, a alarms) (int, error) {
	fired := make([]workflow.Future[struct{}], a.Timers)
	for i := range fired {
		fired[i] = workflow.Timer(ctx, a.First+(a.Last-a.First)*time.Duration(i)/time.Duration(a.Timers))
	}
	if _, err := workflow.Step(ctx, "noop", func(ctx context.Context) (int, error) { return step(ctx, 0) }); err != nil { // once they are stored
		return 0, err
	}
	_, err := workflow.All(ctx, fired...)
	return len(fired), err
})

// gate holds activities back until it is opened.
var gate = make(chan struct{})

var held = activity.New("held", func(ctx context.Context, i int) (int, error) {
	marks.add(time.Now().UnixNano())
	select {
	case <-gate:
		return i, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
})

var holder = workflow.New("holder", func(ctx workflow.Context, i int) (int, error) { return workflow.Execute(ctx, held, i) })
