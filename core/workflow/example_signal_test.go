package workflow_test

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type Decision struct {
	By       string
	Approved bool
}

var (
	Decide  = workflow.NewSignal[Decision]("decide")
	Expense = workflow.New("expense", expense)
)

func expense(ctx workflow.Context, cents int) (string, error) {
	if cents < 10_000 {
		return "approved", nil
	}
	decision, err := workflow.AwaitSignal(ctx, Decide) // for as long as it takes
	if err != nil {
		return "", err
	}
	if !decision.Approved {
		return "refused by " + decision.By, nil
	}
	return "approved by " + decision.By, nil
}

func ExampleAwaitSignal() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(72*time.Hour, func() { workflowtest.Signal(env, Decide, Decision{By: "Grace", Approved: true}) })

	fmt.Println(workflowtest.Run(env, Expense, 250_000))
	// Output: approved by Grace <nil>
}

var (
	Bid     = workflow.NewSignal[int]("bid")
	Auction = workflow.New("auction", auction)
)

func auction(ctx workflow.Context, reserve int) (int, error) {
	highest := reserve
	closes := workflow.Timer(ctx, time.Hour)
	for {
		bid := workflow.Receive(ctx, Bid)
		first, err := workflow.Race(ctx, closes, bid)
		if err != nil || first == 0 {
			return highest, err
		}
		cents, err := bid.Await(ctx)
		if err != nil {
			return 0, err
		}
		highest = max(highest, cents)
	}
}

func ExampleReceive() {
	env := workflowtest.New(workflowtest.Panic)
	for i, cents := range []int{500, 900, 700} {
		env.At(time.Duration(i)*time.Minute, func() { workflowtest.Signal(env, Bid, cents) })
	}

	fmt.Println(workflowtest.Run(env, Auction, 100))
	// Output: 900 <nil>
}

var (
	Pause  = workflow.NewSignal[bool]("pause")
	Import = workflow.New("import", importPages)
)

func importPages(ctx workflow.Context, pages int) (time.Duration, error) {
	began, paused := workflow.Now(ctx), false
	workflow.HandleSignal(ctx, Pause, func(_ workflow.Context, pause bool) error {
		paused = pause
		return nil
	})
	for range pages {
		if err := workflow.AwaitCondition(ctx, func() bool { return !paused }); err != nil {
			return 0, err
		}
		if err := workflow.Sleep(ctx, time.Minute); err != nil { // stands for the import of one page
			return 0, err
		}
	}
	return workflow.Now(ctx).Sub(began), nil
}

func ExampleHandleSignal() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(90*time.Second, func() { workflowtest.Signal(env, Pause, true) })
	env.At(60*time.Minute, func() { workflowtest.Signal(env, Pause, false) })

	fmt.Println(workflowtest.Run(env, Import, 5))
	// Output: 1h3m0s <nil>
}
