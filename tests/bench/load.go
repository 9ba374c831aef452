package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/api/wire"
)

// load is a closed loop: each of InFlight callers starts a run, waits for its end, and starts the next.
type load struct {
	Workflow string `json:"workflow"`
	Input    int    `json:"input"`
	// Result that each must give; negative: any.
	Result   int `json:"result"`
	Runs     int `json:"runs"`
	InFlight int `json:"inFlight"`
	// Numbered runs have their number for input, as {"n": 7} or as 7 alone.
	Numbered numbered `json:"numbered,omitempty"`
	// Unawaited runs are only started.
	Unawaited bool `json:"unawaited,omitempty"`
}

// door is a way to the engine: over HTTP, or inside its process.
type door struct {
	start  func(context.Context, engine.StartRequest) (*wire.Summary, error) // and waits for its end
	begin  func(context.Context, engine.StartRequest) (*wire.Summary, error) // and does not wait
	wait   func(ctx context.Context, run string) (*wire.Summary, error)
	signal func(ctx context.Context, run string, input history.Payload) error
	update func(ctx context.Context, run string, input history.Payload) error
	// seen waits for the mark of this number, and gives its time in nanoseconds since 1970.
	seen func(index int) (int64, error)
}

// took is how long it took: all, and each.
type took struct {
	All  time.Duration `json:"all"`
	Each []int64       `json:"each"` // nanoseconds
}

func (l load) through(ctx context.Context, d door) (took, error) {
	each, begun := collector{}, time.Now()
	err := closedLoop(l.Runs, l.InFlight, func(i int) error {
		begun := time.Now()
		summary, err := l.one(ctx, d, i)
		each.add(int64(time.Since(begun)))
		if err != nil || l.Unawaited {
			return err
		}
		return l.check(summary)
	})
	return took{All: time.Since(begun), Each: each.take()}, err
}

// numbered says how a run's number becomes its input.
type numbered string

const (
	asNumber numbered = "number"
	asParams numbered = "params"
)

func (l load) one(ctx context.Context, d door, i int) (*wire.Summary, error) {
	request := engine.StartRequest{Workflow: l.Workflow, Input: number(l.Input)}
	switch l.Numbered {
	case asNumber:
		request.Input = number(i)
	case asParams:
		request.Input, request.Run = history.Payload(fmt.Sprintf(`{"n":%d}`, i)), fmt.Sprint("flow-", i)
	}
	if l.Unawaited {
		return d.begin(ctx, request)
	}
	return d.start(ctx, request)
}

func (l load) check(summary *wire.Summary) error {
	if summary.Status != history.Completed || l.Result >= 0 && !bytes.Equal(summary.Result, number(l.Result)) {
		return fmt.Errorf("run %s of %s: %s with result %s, not %d", summary.Run, l.Workflow, summary.Status, summary.Result, l.Result)
	}
	return nil
}

func number(n int) history.Payload { return history.Payload(strconv.Itoa(n)) }

// closedLoop has k callers do n things.
func closedLoop(n, k int, do func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var callers sync.WaitGroup
	for range min(k, n) {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	callers.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
