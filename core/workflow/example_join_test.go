package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	CheckStock  = activity.New("check-stock", func(context.Context, string) (bool, error) { return true, nil })
	CheckCredit = activity.New("check-credit", func(context.Context, string) (bool, error) { return false, nil })
	Approvable  = workflow.New("approvable", approvable)
)

func approvable(ctx workflow.Context, order string) (bool, error) {
	stock, credit := workflow.Start(ctx, CheckStock, order), workflow.Start(ctx, CheckCredit, order)
	checks, err := workflow.All(ctx, stock, credit)
	if err != nil {
		return false, err // of the first that failed
	}
	return checks[0] && checks[1], nil
}

func ExampleAll() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(CheckStock, CheckCredit)

	fmt.Println(workflowtest.Run(env, Approvable, "o-1"))
	// Output: false <nil>
}

var (
	Fetch    = activity.Declare[string, string]("fetch").With(activity.Options{Retry: activity.Retry{MaxAttempts: 1}})
	Download = workflow.New("download", download)
)

func download(ctx workflow.Context, mirrors []string) (string, error) {
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel() // the slower ones are asked to stop
	var attempts []workflow.Future[string]
	for _, mirror := range mirrors {
		attempts = append(attempts, workflow.Start(ctx, Fetch, mirror))
	}
	_, content, err := workflow.Any(ctx, attempts...)
	return content, err
}

func ExampleAny() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Fetch, func(ctx context.Context, mirror string) (string, error) {
		switch mirror {
		case "broken":
			return "", errors.New("no such host")
		case "slow":
			err := workflowtest.Sleep(ctx, time.Hour)
			fmt.Println("slow:", err)
			return "", err
		}
		return "from " + mirror, workflowtest.Sleep(ctx, time.Second)
	})

	fmt.Println(workflowtest.Run(env, Download, []string{"broken", "slow", "fast"}))
	// Output:
	// slow: context canceled
	// from fast <nil>
}

var (
	Paid    = workflow.NewSignal[int]("paid")
	Dunning = workflow.New("dunning", dunning)
)

func dunning(ctx workflow.Context, cents int) (string, error) {
	paid := workflow.Receive(ctx, Paid)
	due := workflow.Timer(ctx, 30*24*time.Hour)

	first, err := workflow.Race(ctx, paid, due) // futures of whatever type
	if err != nil {
		return "", err
	}
	switch first {
	case 0:
		amount, err := paid.Await(ctx)
		return fmt.Sprintf("%d of %d paid", amount, cents), err
	default:
		return "send a reminder", nil
	}
}

func ExampleRace() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(48*time.Hour, func() { workflowtest.Signal(env, Paid, 990) })
	fmt.Println(workflowtest.Run(env, Dunning, 990))

	fmt.Println(workflowtest.Run(workflowtest.New(workflowtest.Panic), Dunning, 990))
	// Output:
	// 990 of 990 paid <nil>
	// send a reminder <nil>
}
