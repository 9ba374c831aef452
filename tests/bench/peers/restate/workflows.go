package main

import (
	"time"

	restate "github.com/restatedev/sdk-go"

	"github.com/reprise-run/reprise/tests/bench/peers/measure"
)

var (
	lateness   measure.Durations
	awakeables = make(chan string, 16)
	woken      = make(chan time.Time, 16)
)

// Activities is the service whose handler is called.
type Activities struct{}

// Noop does nothing.
func (Activities) Noop(_ restate.Context, i int) (int, error) { return i, nil }

// Workflows is the service that stands for workflows.
type Workflows struct{}

// Inline journals so many side effects, one after the other.
func (Workflows) Inline(ctx restate.Context, n int) (sum int, err error) {
	for i := range n {
		got, err := restate.Run(ctx, func(restate.RunContext) (int, error) { return i, nil })
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
}

// Queued calls so many handlers, one after the other.
func (Workflows) Queued(ctx restate.Context, n int) (sum int, err error) {
	for i := range n {
		got, err := restate.Service[int](ctx, "Activities", "Noop").Request(i)
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
}

// FanInline journals so many side effects at once.
func (Workflows) FanInline(ctx restate.Context, n int) (sum int, err error) {
	futures := make([]restate.RunAsyncFuture[int], n)
	for i := range futures {
		futures[i] = restate.RunAsync(ctx, func(restate.RunContext) (int, error) { return i, nil })
	}
	for _, future := range futures {
		got, err := future.Result()
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
}

// FanQueued calls so many handlers at once.
func (Workflows) FanQueued(ctx restate.Context, n int) (sum int, err error) {
	futures := make([]restate.ResponseFuture[int], n)
	for i := range futures {
		futures[i] = restate.Service[int](ctx, "Activities", "Noop").RequestFuture(i)
	}
	for _, future := range futures {
		got, err := future.Response()
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
}

// Sleeper notes how late a timer of so many milliseconds was. The stream to the server stays open for a minute: no replay.
func (Workflows) Sleeper(ctx restate.Context, ms int) (microseconds int, err error) {
	d := time.Duration(ms) * time.Millisecond
	begun := time.Now()
	if err := restate.Sleep(ctx, d); err != nil {
		return 0, err
	}
	late := time.Since(begun) - d
	lateness.Add(late)
	return int(late.Microseconds()), nil
}

// Listener waits for so many awakeables, one after the other.
func (Workflows) Listener(ctx restate.Context, n int) (int, error) {
	for range n {
		awakeable := restate.Awakeable[int](ctx)
		awakeables <- awakeable.Id()
		if _, err := awakeable.Result(); err != nil {
			return 0, err
		}
		woken <- time.Now()
	}
	return n, nil
}
