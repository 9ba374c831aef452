package workflow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Withdraw = activity.Declare[string, None]("withdraw")
	Refund   = activity.Declare[string, None]("refund")
	Deposit  = activity.Declare[string, None]("deposit")
	Transfer = workflow.New("transfer", transfer)
)

func transfer(ctx workflow.Context, amount string) (_ None, err error) {
	var undo workflow.Compensations
	defer func() { err = undo.Run(ctx, err) }()

	undo.Add("refund", func(ctx workflow.Context) error {
		_, err := workflow.Execute(ctx, Refund, amount)
		return err
	})
	if _, err := workflow.Execute(ctx, Withdraw, amount); err != nil {
		return None{}, err
	}
	_, err = workflow.Execute(ctx, Deposit, amount)
	return None{}, err
}

func ExampleCompensations() {
	env := workflowtest.New(workflowtest.Panic)
	for _, a := range []*activity.Activity[string, None]{Withdraw, Refund} {
		workflowtest.Mock(env, a, func(_ context.Context, amount string) (None, error) {
			fmt.Println(a.Name(), amount)
			return None{}, nil
		})
	}
	workflowtest.Mock(env, Deposit, func(context.Context, string) (None, error) {
		return None{}, activity.NonRetryable(errors.New("account closed"))
	})

	_, err := workflowtest.Run(env, Transfer, "12.50")
	fmt.Println(err)
	// Output:
	// withdraw 12.50
	// refund 12.50
	// activity deposit: account closed
}
