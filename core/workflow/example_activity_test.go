package workflow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type Invoice struct {
	Customer string
	Cents    int
}

var (
	Charge = activity.Declare[Invoice, string]("charge").With(activity.Options{
		StartToClose: 10 * time.Second,
		Retry:        activity.Retry{MaxAttempts: 5, NonRetryable: []string{"card-declined"}},
	})
	Bill = workflow.New("bill", bill)
)

func bill(ctx workflow.Context, in Invoice) (string, error) {
	receipt, err := workflow.Execute(ctx, Charge, in)
	if workflow.FailureType(err) == "card-declined" {
		return "sent by post", nil
	}
	return receipt, err
}

func ExampleExecute() {
	env := workflowtest.New(workflowtest.Panic)
	attempts := 0
	workflowtest.Mock(env, Charge, func(context.Context, Invoice) (string, error) {
		if attempts++; attempts < 3 {
			return "", fmt.Errorf("the bank does not answer")
		}
		return "receipt 1", nil
	})

	receipt, err := workflowtest.Run(env, Bill, Invoice{"Ada", 4200})
	fmt.Println(receipt, err, "after", attempts, "attempts and", env.Elapsed())
	// Output: receipt 1 <nil> after 3 attempts and 3s
}

var (
	Price = activity.Declare[string, int]("price")
	Quote = workflow.New("quote", quote)
)

func quote(ctx workflow.Context, items []string) (total int, err error) {
	var prices []workflow.Future[int]
	for _, item := range items {
		prices = append(prices, workflow.Start(ctx, Price, item)) // all at once
	}
	for _, price := range prices {
		cents, err := price.Await(ctx)
		if err != nil {
			return 0, err
		}
		total += cents
	}
	return total, nil
}

func ExampleStart() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Price, func(ctx context.Context, item string) (int, error) {
		return 100 * len(item), workflowtest.Sleep(ctx, 5*time.Second)
	})

	total, err := workflowtest.Run(env, Quote, []string{"tea", "milk", "sugar"})
	fmt.Println(total, err, "in", env.Elapsed())
	// Output: 1200 <nil> in 5s
}

type Account struct{ ID, Mailbox string }

var SignUp = workflow.New("sign-up", signUp)

func signUp(ctx workflow.Context, name string) (Account, error) {
	id, err := workflow.Step(ctx, "reserve-name", func(context.Context) (string, error) {
		return "user-" + name, nil // something short, such as an insert into a database
	})
	if err != nil {
		return Account{}, err
	}
	mailbox, err := workflow.Step(ctx, "create-mailbox", func(context.Context) (string, error) {
		return id + "@example.com", nil
	})
	return Account{id, mailbox}, err
}

func ExampleStep() {
	env := workflowtest.New(workflowtest.Panic)

	fmt.Println(workflowtest.Run(env, SignUp, "ada"))
	// Output: {user-ada user-ada@example.com} <nil>
}

var Profile = workflow.New("profile", profile)

func profile(ctx workflow.Context, user string) ([]string, error) {
	once := activity.Options{StartToClose: 2 * time.Second, Retry: activity.Retry{MaxAttempts: 1}}
	avatar := workflow.StartStep(ctx, "avatar", once, func(context.Context) (string, error) { return user + ".png", nil })
	motto := workflow.StartStep(ctx, "motto", once, func(context.Context) (string, error) { return "onwards", nil })
	return workflow.All(ctx, avatar, motto)
}

func ExampleStartStep() {
	env := workflowtest.New(workflowtest.Panic)

	fmt.Println(workflowtest.Run(env, Profile, "ada"))
	// Output: [ada.png onwards] <nil>
}
