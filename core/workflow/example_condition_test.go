package workflow_test

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Arrive = workflow.NewSignal[string]("arrive")
	Party  = workflow.New("party", party)
)

func party(ctx workflow.Context, guests int) (string, error) {
	arrived := 0
	workflow.HandleSignal(ctx, Arrive, func(workflow.Context, string) error {
		arrived++
		return nil
	})
	all := workflow.Condition(ctx, func() bool { return arrived == guests })
	hungry := workflow.Timer(ctx, time.Hour)
	if _, err := workflow.Race(ctx, all, hungry); err != nil {
		return "", err
	}
	return fmt.Sprintf("dinner for %d", arrived), nil
}

func ExampleCondition() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(10*time.Minute, func() { workflowtest.Signal(env, Arrive, "Ada") })
	env.At(20*time.Minute, func() { workflowtest.Signal(env, Arrive, "Grace") })

	dinner, err := workflowtest.Run(env, Party, 3)
	fmt.Println(dinner, err, "after", env.Elapsed())
	// Output: dinner for 2 <nil> after 1h0m0s
}

var (
	Vote = workflow.NewSignal[bool]("vote")
	Poll = workflow.New("poll", poll)
)

func poll(ctx workflow.Context, quorum int) (bool, error) {
	yes, no := 0, 0
	workflow.HandleSignal(ctx, Vote, func(_ workflow.Context, inFavour bool) error {
		if inFavour {
			yes++
		} else {
			no++
		}
		return nil
	})
	err := workflow.AwaitCondition(ctx, func() bool { return yes+no >= quorum })
	return yes > no, err
}

func ExampleAwaitCondition() {
	env := workflowtest.New(workflowtest.Panic)
	for i, vote := range []bool{true, false, true} {
		env.At(time.Duration(i)*time.Hour, func() { workflowtest.Signal(env, Vote, vote) })
	}

	fmt.Println(workflowtest.Run(env, Poll, 3))
	// Output: true <nil>
}
