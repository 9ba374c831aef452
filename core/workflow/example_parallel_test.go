package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	BookFlight = activity.New("book-flight", func(_ context.Context, to string) (string, error) { return "flight to " + to, nil })
	BookHotel  = activity.New("book-hotel", func(_ context.Context, in string) (string, error) { return "hotel in " + in, nil })
	Trip       = workflow.New("trip", trip)
)

func trip(ctx workflow.Context, city string) ([]string, error) {
	return workflow.Parallel(ctx,
		func(ctx workflow.Context) (string, error) { // each branch uses the context that it is given
			return workflow.Execute(ctx, BookFlight, city)
		},
		func(ctx workflow.Context) (string, error) {
			return workflow.Execute(ctx, BookHotel, city)
		},
	)
}

func ExampleParallel() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(BookFlight, BookHotel)

	bookings, err := workflowtest.Run(env, Trip, "Oslo")
	fmt.Println(strings.Join(bookings, ", "), err)
	// Output: flight to Oslo, hotel in Oslo <nil>
}

var (
	Resize  = activity.Declare[string, string]("resize")
	Publish = activity.Declare[string, string]("publish")
	Gallery = workflow.New("gallery", gallery)
)

func gallery(ctx workflow.Context, pictures []string) ([]string, error) {
	links, err := workflow.Map(ctx, pictures, func(ctx workflow.Context, picture string) (string, error) {
		small, err := workflow.Execute(ctx, Resize, picture)
		if err != nil {
			return "", err
		}
		return workflow.Execute(ctx, Publish, small)
	})
	if broken := (*workflow.BranchError)(nil); errors.As(err, &broken) {
		workflow.Log(ctx, "a picture is left out", "picture", pictures[broken.Branch], "error", broken.Err)
		err = nil
	}
	return links, err
}

func ExampleMap() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Resize, func(_ context.Context, picture string) (string, error) {
		if picture == "b.png" {
			return "", activity.NonRetryable(errors.New("not a picture"))
		}
		return "small-" + picture, nil
	})
	workflowtest.Mock(env, Publish, func(_ context.Context, picture string) (string, error) { return "/img/" + picture, nil })

	links, err := workflowtest.Run(env, Gallery, []string{"a.png", "b.png", "c.png"})
	fmt.Printf("%q %v\n", links, err)
	// Output: ["/img/small-a.png" "" "/img/small-c.png"] <nil>
}

var Relay = workflow.New("relay", relay)

func relay(ctx workflow.Context, _ None) ([]string, error) {
	var log []string
	helper := workflow.Go(ctx, func(ctx workflow.Context) (int, error) {
		log = append(log, "the branch runs when its parent waits") // no lock: one unit runs at a time
		return 7, nil
	})
	log = append(log, "the parent goes on")
	n, err := helper.Await(ctx)
	return append(log, fmt.Sprint("the branch gave ", n)), err
}

func ExampleGo() {
	env := workflowtest.New(workflowtest.Panic)

	log, err := workflowtest.Run(env, Relay, None{})
	fmt.Println(strings.Join(log, "\n"), err)
	// Output:
	// the parent goes on
	// the branch runs when its parent waits
	// the branch gave 7 <nil>
}
