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
	Ring     = activity.Declare[string, string]("ring").With(activity.Options{StartToClose: time.Hour})
	OnDuty   = workflow.New("on-duty", onDuty)
	OpenDoor = activity.Declare[string, None]("open-door")
	Unlock   = activity.Declare[string, None]("unlock")
)

// onDuty rings everybody; once one picks up, the others are left alone.
func onDuty(ctx workflow.Context, people []string) (string, error) {
	calls, hangUp := workflow.WithCancel(ctx)
	var rings []workflow.Future[string]
	for _, person := range people {
		rings = append(rings, workflow.Start(calls, Ring, person))
	}
	_, who, err := workflow.Any(ctx, rings...)
	hangUp()
	return who, err
}

func ExampleWithCancel() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Ring, func(ctx context.Context, person string) (string, error) {
		patience := map[string]time.Duration{"Ada": 20 * time.Second, "Grace": 5 * time.Second}[person]
		if err := workflowtest.Sleep(ctx, patience); err != nil {
			fmt.Println(person, "is no longer rung:", err)
			return "", err
		}
		return person, nil
	})

	fmt.Println(workflowtest.Run(env, OnDuty, []string{"Ada", "Grace"}))
	// Output:
	// Ada is no longer rung: context canceled
	// Grace <nil>
}

var (
	PIN   = workflow.NewSignal[string]("pin")
	Enter = workflow.New("enter", enter)
)

func enter(ctx workflow.Context, door string) (string, error) {
	limited, cancel := workflow.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	pin, err := workflow.AwaitSignal(limited, PIN)
	if errors.Is(err, workflow.ErrTimeout) {
		return "the door stays closed", nil
	}
	if err != nil {
		return "", err
	}
	_, err = workflow.Execute(ctx, OpenDoor, door)
	return "opened with " + pin, err
}

func ExampleWithTimeout() {
	for _, after := range []time.Duration{10 * time.Second, time.Minute} {
		env := workflowtest.New(workflowtest.Panic)
		workflowtest.Mock(env, OpenDoor, func(context.Context, string) (None, error) { return None{}, nil })
		if after < 30*time.Second {
			env.At(after, func() { workflowtest.Signal(env, PIN, "1234") })
		}
		fmt.Println(workflowtest.Run(env, Enter, "front"))
	}
	// Output:
	// opened with 1234 <nil>
	// the door stays closed <nil>
}

var Maintain = workflow.New("maintain", maintain)

func maintain(ctx workflow.Context, machine string) (string, error) {
	err := workflow.Sleep(ctx, 8*time.Hour) // until the work is done, or called off
	if _, err := workflow.Execute(workflow.Shield(ctx), Unlock, machine); err != nil {
		return "", err
	}
	return machine + " is in service again", err
}

func ExampleShield() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Unlock, func(_ context.Context, machine string) (None, error) {
		fmt.Println("unlock", machine, "after", env.Elapsed())
		return None{}, nil
	})
	env.At(time.Hour, func() { workflowtest.Cancel(env, "spare part is missing") })

	_, err := workflowtest.Run(env, Maintain, "press 7")
	fmt.Println(errors.Is(err, workflow.ErrCancelled), err)
	// Output:
	// unlock press 7 after 1h0m0s
	// true canceled: spare part is missing
}
