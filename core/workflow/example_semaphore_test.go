package workflow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Transcode = activity.Declare[string, string]("transcode")
	Library   = workflow.New("library", library)
)

// library transcodes all films, two at a time.
func library(ctx workflow.Context, films []string) ([]string, error) {
	machines := workflow.NewSemaphore(2)
	return workflow.Map(ctx, films, func(ctx workflow.Context, film string) (string, error) {
		if err := machines.Acquire(ctx, 1); err != nil {
			return "", err
		}
		defer machines.Release(1)
		return workflow.Execute(ctx, Transcode, film)
	})
}

func ExampleSemaphore() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Transcode, func(ctx context.Context, film string) (string, error) {
		return film + ".mp4", workflowtest.Sleep(ctx, 30*time.Second)
	})

	fmt.Println(workflowtest.Run(env, Library, []string{"alien", "brazil", "casablanca"}))
	fmt.Println("after", env.Elapsed())
	// Output:
	// [alien.mp4 brazil.mp4 casablanca.mp4] <nil>
	// after 1m0s
}
