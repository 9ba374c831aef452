package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/tests/cloud"
)

var (
	counted = workflow.NewQuery[struct{}, int]("counted")
	// steps runs inline steps, then waits, so that it can be asked.
	steps = workflow.New("steps", func(ctx workflow.Context, many int) (n int, err error) {
		workflow.HandleQuery(ctx, counted, func(struct{}) (int, error) { return n, nil })
		for range many {
			if n, err = workflow.Execute(ctx, work.Inline(), n); err != nil {
				return 0, err
			}
		}
		_, err = workflow.AwaitSignal(ctx, workflow.NewSignal[string]("go"))
		return n, err
	})
)

// longRun shows that a log has no cap, and what it costs to come back to its end.
func longRun(ctx context.Context, database *cloud.Database, many int, out io.Writer) error {
	table, err := database.Table(ctx)
	if err != nil {
		return err
	}
	c, err := database.OpenTable(ctx, table, nil, steps, work)
	if err != nil {
		return err
	}
	defer c.Close()
	input, err := history.Encode(many)
	if err != nil {
		return err
	}
	begun := time.Now()
	if _, _, err := c.Engine.Start(ctx, engine.StartRequest{Run: "long", Workflow: "steps", Input: input}); err != nil {
		return err
	}
	if err := recorded(ctx, c, many); err != nil {
		return err
	}
	took := time.Since(begun)
	cold, err := database.OpenTable(ctx, table, nil, steps, work)
	if err != nil {
		return err
	}
	defer cold.Close()
	begun = time.Now()
	got, err := cold.Engine.Query(ctx, "long", "counted", nil)
	if err != nil {
		return err
	}
	used := cold.Meter.Total("", "")
	fmt.Fprintf(out, "%d inline steps: %s, %.2f ms each; a function that does not know the run replays it in %s with %d requests, %.0f read units; it says %s\n",
		many, took.Round(time.Second), float64(took.Microseconds())/1000/float64(many), time.Since(begun).Round(10*time.Millisecond), used.Requests, used.Reads, got)
	return nil
}

// recorded waits until the log has more than so many records, looking seldom.
func recorded(ctx context.Context, c *cloud.Cloud, many int) error {
	for {
		summary, err := c.Engine.Get(ctx, "long")
		if err != nil {
			return err
		}
		if summary.Blocked != nil {
			return fmt.Errorf("blocked: %s", summary.Blocked.Message)
		}
		records, err := c.Engine.History(ctx, "long", 1, many)
		if err != nil || len(records) > 0 {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
