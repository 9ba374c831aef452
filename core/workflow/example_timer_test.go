package workflow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type None = struct{}

const day = 24 * time.Hour

var (
	SendMail = activity.Declare[string, None]("send-mail")
	Remind   = workflow.New("remind", remind)
)

func remind(ctx workflow.Context, user string) (None, error) {
	for _, text := range []string{"welcome", "your trial ends in a week", "your trial has ended"} {
		if _, err := workflow.Execute(ctx, SendMail, user+": "+text); err != nil {
			return None{}, err
		}
		if err := workflow.Sleep(ctx, 7*day); err != nil { // nothing runs, and nothing is paid for, meanwhile
			return None{}, err
		}
	}
	return None{}, nil
}

func ExampleSleep() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, SendMail, func(_ context.Context, text string) (None, error) {
		fmt.Println(env.Now().Format(time.DateOnly), text)
		return None{}, nil
	})

	_, err := workflowtest.Run(env, Remind, "ada")
	fmt.Println(err)
	// Output:
	// 2026-01-01 ada: welcome
	// 2026-01-08 ada: your trial ends in a week
	// 2026-01-15 ada: your trial has ended
	// <nil>
}

var (
	Compute = activity.Declare[int, int]("compute").With(activity.Options{StartToClose: activity.Unlimited})
	Answer  = workflow.New("answer", answer)
)

func answer(ctx workflow.Context, question int) (string, error) {
	result := workflow.Start(ctx, Compute, question)
	limit := workflow.Timer(ctx, time.Hour)
	first, err := workflow.Race(ctx, result, limit)
	if err != nil {
		return "", err
	}
	if first == 1 {
		return "we will call you back", nil
	}
	value, err := result.Await(ctx) // it is there: this does not wait
	return fmt.Sprint("it is ", value), err
}

func ExampleTimer() {
	for _, takes := range []time.Duration{time.Minute, 7 * day} {
		env := workflowtest.New(workflowtest.Panic)
		workflowtest.Mock(env, Compute, func(ctx context.Context, question int) (int, error) {
			return question * 7, workflowtest.Sleep(ctx, takes)
		})
		fmt.Println(workflowtest.Run(env, Answer, 6))
	}
	// Output:
	// it is 42 <nil>
	// we will call you back <nil>
}
