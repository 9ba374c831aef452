package workflow_test

import (
	"context"
	"fmt"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// What has a name is made once, as a package variable: workflows and callers use the same typed value.
var (
	Greet = activity.New("greet", greet)
	Hello = workflow.New("hello", hello)
)

// greet is an activity: it may do anything, and is retried when it fails.
func greet(_ context.Context, name string) (string, error) {
	return "Hello, " + name + "!", nil
}

// hello is a workflow: it decides, and calls activities.
func hello(ctx workflow.Context, name string) (string, error) {
	return workflow.Execute(ctx, Greet, name)
}

func ExampleNew() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(Greet)

	fmt.Println(workflowtest.Run(env, Hello, "Ada"))
	// Output: Hello, Ada! <nil>
}

// Countdown calls itself, so it is declared first, and implemented where the program is put together.
var Countdown = workflow.Declare[int, string]("countdown")

func countdown(ctx workflow.Context, n int) (string, error) {
	if n == 0 {
		return "lift-off", nil
	}
	rest, err := workflow.ExecuteChild(ctx, Countdown, n-1)
	return fmt.Sprint(n, " ", rest), err
}

func ExampleDeclare() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(Countdown.Implement(countdown))

	fmt.Println(workflowtest.Run(env, Countdown, 3))
	// Output: 3 2 1 lift-off <nil>
}
