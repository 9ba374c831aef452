package workflow_test

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var Nightly = workflow.New("nightly", nightly)

func nightly(ctx workflow.Context, _ None) (string, error) {
	now := workflow.Now(ctx) // never time.Now: the run's time is the same on replay
	night := now.Truncate(24 * time.Hour).Add(26 * time.Hour)
	err := workflow.Sleep(ctx, night.Sub(now))
	return workflow.Now(ctx).Format(time.DateTime), err
}

func ExampleNow() {
	env := workflowtest.New(workflowtest.Panic)
	env.Start = time.Date(2026, time.March, 3, 16, 45, 0, 0, time.UTC)

	fmt.Println(workflowtest.Run(env, Nightly, None{}))
	// Output: 2026-03-04 02:00:00 <nil>
}

var Raffle = workflow.New("raffle", raffle)

func raffle(ctx workflow.Context, people []string) (string, error) {
	winner := people[workflow.Random(ctx).IntN(len(people))]
	err := workflow.Sleep(ctx, time.Hour) // whoever won before the wait has won after it
	return winner, err
}

func ExampleRandom() {
	env := workflowtest.New(workflowtest.Panic)
	env.Seed = 4 // another seed, another winner

	fmt.Println(workflowtest.Run(env, Raffle, []string{"Ada", "Grace", "Barbara"}))
	// Output: Ada <nil>
}

var Ticket = workflow.New("ticket", func(ctx workflow.Context, _ None) (string, error) {
	return workflow.UUID(ctx), nil
})

func ExampleUUID() {
	env := workflowtest.New(workflowtest.Panic)

	id, err := workflowtest.Run(env, Ticket, None{})
	fmt.Println(len(id), id[14:15], err)
	// Output: 36 4 <nil>
}
