package activity_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type Order struct {
	ID    string
	Cents int
}

// The name is what runs remember; types come from the function.
var Total = activity.New("total", total)

func total(_ context.Context, orders []Order) (cents int, err error) {
	for _, o := range orders {
		cents += o.Cents
	}
	return cents, nil
}

func ExampleNew() {
	env := workflowtest.New(workflowtest.Panic)

	fmt.Println(workflowtest.RunActivity(env, Total, []Order{{"o-1", 300}, {"o-2", 450}}))
	// Output: 750 <nil>
}

// Charge is declared where workflows see it: they need its name and its types, not the payment service.
var Charge = activity.Declare[Order, string]("charge")

// Payments is what the program that performs the activity is made of.
type Payments struct{ account string }

func (p *Payments) Charge(ctx context.Context, order Order) (string, error) {
	// The same key on every attempt: a service that knows it charges once, however often it is asked.
	return fmt.Sprintf("%d to %s, key %s", order.Cents, p.account, activity.InfoOf(ctx).IdempotencyKey), nil
}

func ExampleDeclare() {
	payments := &Payments{account: "shop"}
	env := workflowtest.New(workflowtest.Panic)

	fmt.Println(workflowtest.RunActivity(env, Charge.Implement(payments.Charge), Order{"o-1", 300}))
	// Output: 300 to shop, key test/1/0 <nil>
}

func ExampleActivity_Implement() {
	calls := 0
	charge := Charge.Implement(func(context.Context, Order) (string, error) {
		calls++
		return "receipt", nil
	})
	env := workflowtest.New(workflowtest.Panic)

	receipt, err := workflowtest.RunActivity(env, charge, Order{"o-1", 300})
	fmt.Println(receipt, err, calls)
	// Output: receipt <nil> 1
}

var Ping = activity.New("ping", ping).With(activity.Options{
	StartToClose:    2 * time.Second,  // one attempt
	ScheduleToClose: 30 * time.Second, // all of them
	Retry:           activity.Retry{InitialInterval: 100 * time.Millisecond, MaxAttempts: 3},
})

func ping(ctx context.Context, host string) (string, error) {
	return "", fmt.Errorf("%s does not answer (attempt %d)", host, activity.InfoOf(ctx).Attempt)
}

func ExampleActivity_With() {
	env := workflowtest.New(workflowtest.Panic)

	_, err := workflowtest.RunActivity(env, Ping, "example.com")
	fmt.Println(err, "after", env.Elapsed())
	// Output: activity ping: example.com does not answer (attempt 3) after 300ms
}

var Stamp = activity.New("stamp", func(_ context.Context, text string) (string, error) { return "[" + text + "]", nil })

// Letter stamps inline: no message and no queue, one write for each result.
var Letter = workflow.New("letter", func(ctx workflow.Context, text string) (string, error) {
	once, err := workflow.Execute(ctx, Stamp.Inline(), text)
	if err != nil {
		return "", err
	}
	return workflow.Execute(ctx, Stamp.Inline(), once)
})

func ExampleActivity_Inline() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(Stamp)

	fmt.Println(workflowtest.Run(env, Letter, "by air"))
	// Output: [[by air]] <nil>
}

func ExampleRetry() {
	env := workflowtest.New(workflowtest.Panic)
	save := activity.New("save", func(context.Context, None) (None, error) {
		fmt.Println("attempt after", env.Elapsed())
		return None{}, errors.New("disk full")
	}).With(activity.Options{Retry: activity.Retry{InitialInterval: time.Second, BackoffCoefficient: 10, MaxInterval: 30 * time.Second, MaxAttempts: 4}})

	_, err := workflowtest.RunActivity(env, save, None{})
	fmt.Println(err)
	// Output:
	// attempt after 0s
	// attempt after 1s
	// attempt after 11s
	// attempt after 41s
	// activity save: disk full
}
