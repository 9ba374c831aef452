package main

import (
	"context"
	"errors"
	"runtime/metrics"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// What the server runs: every kind of thing that a workflow can do, each with a result that shows what was lost or done twice.

var definitions = []workflow.Definition{number, refuse, carrier, linger, steps, calls, carry, naps, counter, family, generations, stoppable,
	labelled, long, small, awaiting, vitals}

// number gives its input back, after a failure or two for some.
var number = activity.New("number", func(ctx context.Context, i int) (int, error) {
	if info := activity.InfoOf(ctx); info.Attempt <= i%8-5 {
		return 0, errors.New("not yet")
	}
	return i, nil
}).With(activity.Options{Retry: activity.Retry{InitialInterval: 5 * time.Millisecond}})

// refused is the type of failure that no attempt helps.
const refused = "refused"

var refuse = activity.New("refuse", func(context.Context, int) (int, error) { return 0, activity.NonRetryable(activity.Fail(refused, "no")) })

var carrier = activity.New("carrier", func(_ context.Context, text string) (string, error) { return text, nil })

// linger works until it is asked to stop.
var linger = activity.New("linger", func(ctx context.Context, _ int) (int, error) {
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			if err := activity.Heartbeat(ctx, 1); err != nil {
				return 0, err
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}).With(activity.Options{Heartbeat: 10 * time.Second})

func step(ctx workflow.Context, i int) (int, error) {
	return workflow.Step(ctx, "number", func(context.Context) (int, error) { return i, nil })
}

// steps calls so many steps, one after the other, and adds up what they give.
var steps = workflow.New("steps", func(ctx workflow.Context, n int) (sum int, err error) {
	for i := range n {
		got, err := step(ctx, i)
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
})

// calls calls so many activities at once, then one that fails for good.
var calls = workflow.New("calls", func(ctx workflow.Context, n int) (sum int, err error) {
	futures := make([]workflow.Future[int], n)
	for i := range futures {
		futures[i] = workflow.Start(ctx, number, i)
	}
	all, err := workflow.All(ctx, futures...)
	if err != nil {
		return 0, err
	}
	for _, got := range all {
		sum += got
	}
	if _, err := workflow.Execute(ctx, refuse, n); workflow.FailureType(err) != refused {
		return 0, workflow.Fail("not-refused", "%v", err)
	}
	return sum, nil
})

// carry hands a text to an activity and to a step, and gives it back.
var carry = workflow.New("carry", func(ctx workflow.Context, text string) (string, error) {
	carried, err := workflow.Execute(ctx, carrier, text)
	if err != nil {
		return "", err
	}
	return workflow.Step(ctx, "carrier", func(context.Context) (string, error) { return carried, nil })
})

// naps sleeps for so many milliseconds, side by side with shorter sleeps, within limits that it does not come near.
var naps = workflow.New("naps", func(ctx workflow.Context, ms int) (int, error) {
	for _, limit := range []time.Duration{10 * time.Minute, 24 * time.Hour} {
		limited, cancel := workflow.WithTimeout(ctx, limit)
		_, err := workflow.Map(limited, []int{ms, ms / 2, ms / 3}, func(ctx workflow.Context, ms int) (struct{}, error) {
			return struct{}{}, workflow.Sleep(ctx, time.Duration(ms)*time.Millisecond)
		})
		cancel()
		if err != nil {
			return 0, err
		}
	}
	return ms, nil
})

// tally is what a counter has seen.
type tally struct {
	Count int `json:"count"`
	Sum   int `json:"sum"`
	// Here counts what was seen in this generation.
	Here int `json:"here"`
}

func (t *tally) add(n int) {
	t.Count++
	t.Here++
	t.Sum += n
}

var (
	add    = workflow.NewSignal[int]("add")
	finish = workflow.NewSignal[struct{}]("finish")
	addNow = workflow.NewUpdate[int, int]("add-now")
	total  = workflow.NewQuery[struct{}, tally]("total")
)

// generation is how much a counter sees before it goes on in a new one.
const generation = 100

// counter counts and adds up what it is sent, until it is to finish.
var counter = workflow.New("counter", count)

func count(ctx workflow.Context, seen tally) (tally, error) {
	finished, busy := false, 0
	workflow.HandleQuery(ctx, total, func(struct{}) (tally, error) { return seen, nil })
	workflow.HandleUpdate(ctx, addNow, func(ctx workflow.Context, n int) (int, error) {
		busy++
		defer func() { busy-- }()
		got, err := step(ctx, n)
		if err == nil {
			seen.add(got)
		}
		return got, err
	}, func(n int) error {
		if n < 0 {
			return errors.New("negative")
		}
		return nil
	})
	workflow.HandleSignal(ctx, add, func(_ workflow.Context, n int) error {
		seen.add(n)
		return nil
	})
	workflow.HandleSignal(ctx, finish, func(workflow.Context, struct{}) error {
		finished = true
		return nil
	})
	if err := workflow.AwaitCondition(ctx, func() bool { return busy == 0 && (finished || seen.Here >= generation) }); err != nil {
		return seen, err
	}
	if !finished {
		seen.Here = 0
		return workflow.ContinueAsNew(ctx, count, seen)
	}
	return seen, nil
}

// family has so many children, and one that it leaves behind.
var family = workflow.New("family", func(ctx workflow.Context, n int) (sum int, err error) {
	workflow.StartChild(ctx, awaiting, 0) // is cancelled with the family's end
	children := make([]workflow.Future[int], n)
	for i := range children {
		children[i] = workflow.StartChild(ctx, steps, i)
	}
	results, err := workflow.All(ctx, children...)
	for _, result := range results {
		sum += result
	}
	return sum, err
})

// generations goes on so many times, and gives the number of its last generation.
var generations = workflow.New("generations", countDown)

func countDown(ctx workflow.Context, n int) (int, error) {
	if _, err := workflow.Execute(ctx, number, n); err != nil {
		return 0, err
	}
	if n == 0 {
		return workflow.InfoOf(ctx).Generation, nil
	}
	return workflow.ContinueAsNew(ctx, countDown, n-1)
}

// stoppable works until it is cancelled, and then undoes it.
var stoppable = workflow.New("stoppable", func(ctx workflow.Context, n int) (int, error) {
	var undo workflow.Compensations
	undo.Add("undo", func(ctx workflow.Context) error {
		_, err := workflow.Execute(ctx, number, n)
		return err
	})
	_, err := workflow.Execute(ctx, linger, n)
	return n, undo.Run(ctx, err)
})

var label = workflow.NewAttribute[string]("label")

// labelled can be found by its label.
var labelled = workflow.New("labelled", func(ctx workflow.Context, text string) (string, error) {
	workflow.SetAttributes(ctx, label.Is(text))
	_, err := workflow.AwaitSignal(ctx, finish)
	return text, err
})

// long makes a log of thousands of records: steps, and every tenth an activity.
var long = workflow.New("long", func(ctx workflow.Context, n int) (sum int, err error) {
	for i := range n {
		call := step
		if i%10 == 0 {
			call = func(ctx workflow.Context, i int) (int, error) { return workflow.Execute(ctx, number, i) }
		}
		got, err := call(ctx, i)
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, nil
})

// small is a step and an activity: what the probe starts.
var small = workflow.New("small", func(ctx workflow.Context, n int) (int, error) {
	if _, err := step(ctx, n); err != nil {
		return 0, err
	}
	return workflow.Execute(ctx, number, 0)
})

// awaiting ends with the first signal.
var awaiting = workflow.New("awaiting", func(ctx workflow.Context, _ int) (int, error) { return workflow.AwaitSignal(ctx, add) })

// vital are what only the server's process itself can say.
type vital struct {
	Heap       uint64 `json:"heap"` // bytes that were live at the last garbage collection
	Goroutines uint64 `json:"goroutines"`
}

var vitals = workflow.New("vitals", func(ctx workflow.Context, _ struct{}) (vital, error) {
	return workflow.Step(ctx, "read", func(context.Context) (vital, error) {
		read := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/sched/goroutines:goroutines"}}
		metrics.Read(read)
		return vital{Heap: read[0].Value.Uint64(), Goroutines: read[1].Value.Uint64()}, nil
	})
})
