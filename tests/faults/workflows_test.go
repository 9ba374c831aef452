//go:build faults

package faults

import (
	"context"
	"os"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// open names the environment variable under which gates are open: a server without it leaves what is behind them waiting.
const open = "FAULTS_GATES_OPEN"

var definitions = []workflow.Definition{write, pass, beat, collected, gated, napping, slow, beating, holding}

var (
	goOn    = workflow.NewSignal[int]("go-on")
	written = workflow.NewQuery[struct{}, int]("written")

	write = activity.New("write", func(_ context.Context, i int) (int, error) { return i, nil })
	// pass waits behind the gate.
	pass = activity.New("pass", func(ctx context.Context, _ struct{}) (bool, error) {
		if os.Getenv(open) == "" {
			<-ctx.Done()
		}
		return true, ctx.Err()
	}).With(activity.Options{StartToClose: -1})
	// beat takes a second and a half, and says each tenth of one that it is alive.
	beat = activity.New("beat", func(ctx context.Context, _ struct{}) (bool, error) {
		for range 15 {
			if err := wait(ctx, time.Second/10); err != nil {
				return false, err
			}
			if err := activity.Heartbeat(ctx, nil); err != nil {
				return false, err
			}
		}
		return true, nil
	}).With(activity.Options{StartToClose: 3 * time.Second, Heartbeat: time.Second,
		Retry: activity.Retry{InitialInterval: 10 * time.Millisecond, MaxInterval: 100 * time.Millisecond}})
)

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// collected takes so many signals, each with its number, and gives what came, in order.
var collected = workflow.New("collected", func(ctx workflow.Context, n int) (came []int, err error) {
	for range n {
		i, err := workflow.AwaitSignal(ctx, goOn)
		if err != nil {
			return nil, err
		}
		if _, err := workflow.Execute(ctx, write, i); err != nil {
			return nil, err
		}
		came = append(came, i)
	}
	return came, nil
})

// gated writes so many records, then waits behind the gate.
var gated = workflow.New("gated", func(ctx workflow.Context, n int) (int, error) {
	done := 0
	workflow.HandleQuery(ctx, written, func(struct{}) (int, error) { return done, nil })
	for i := range n {
		if _, err := workflow.Step(ctx, "write", func(context.Context) (int, error) { return i, nil }); err != nil {
			return 0, err
		}
		done++
	}
	workflow.PublishState(ctx, done)
	_, err := workflow.Execute(ctx, pass, struct{}{})
	return done, err
})

// napping sleeps for each of these many milliseconds, one after the other.
var napping = workflow.New("napping", func(ctx workflow.Context, naps []int) (int, error) {
	for _, nap := range naps {
		if err := workflow.Sleep(ctx, time.Duration(nap)*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return len(naps), nil
})

// slow keeps its turn for longer than it should, but for less than it may, again and again.
var slow = workflow.New("slow", func(ctx workflow.Context, turns int) (int, error) {
	for range turns {
		<-time.After(3 * time.Second)
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	return turns, nil
})

var beating = workflow.New("beating", func(ctx workflow.Context, times int) (int, error) {
	for range times {
		if _, err := workflow.Execute(ctx, beat, struct{}{}); err != nil {
			return 0, err
		}
	}
	return times, nil
})

// holding holds its input until it is told to go on, and gives its length.
var holding = workflow.New("holding", func(ctx workflow.Context, value string) (int, error) {
	_, err := workflow.AwaitSignal(ctx, goOn)
	return len(value), err
})
