package workflowtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Ship    = activity.Declare[string, string]("ship").With(activity.Options{StartToClose: 48 * time.Hour})
	Release = workflow.NewSignal[string]("release")
	Deliver = workflow.New("deliver", deliver)
)

func deliver(ctx workflow.Context, order string) (string, error) {
	limited, cancel := workflow.WithTimeout(ctx, 7*24*time.Hour)
	defer cancel()
	by, err := workflow.AwaitSignal(limited, Release)
	if err != nil {
		return "", err
	}
	tracking, err := workflow.Execute(ctx, Ship, order)
	return tracking + ", released by " + by, err
}

// In a test, New is given the *testing.T, and results are held against what is expected.
func Example() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Ship, func(ctx context.Context, order string) (string, error) {
		return "T-" + order, workflowtest.Sleep(ctx, 30*time.Hour)
	})
	env.At(2*time.Hour, func() { workflowtest.Signal(env, Release, "Ada") })

	result, err := workflowtest.Run(env, Deliver, "o-1")
	fmt.Println(result, err, "after", env.Elapsed())
	// Output: T-o-1, released by Ada <nil> after 32h0m0s
}

func ExampleRun_timeout() {
	env := workflowtest.New(workflowtest.Panic)

	_, err := workflowtest.Run(env, Deliver, "o-1") // nobody releases it
	fmt.Println(err)
	// Output: scope timeout of 168h0m0s
}

func ExampleReplayFiles() {
	// In a test:
	//
	//	func TestOldRunsStillFit(t *testing.T) { workflowtest.ReplayFiles(t, "testdata/*.json", shop.Deliver) }
	//
	// The files are histories of real runs.
	workflowtest.ReplayFiles(workflowtest.Panic, "testdata/*.json", Deliver)
	// Output:
}
