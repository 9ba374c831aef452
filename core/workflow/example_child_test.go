package workflow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type Parcel struct{ Order, Item string }

var (
	Delivered = workflow.NewSignal[string]("delivered")
	Ship      = workflow.New("ship", ship)
	Fulfil    = workflow.New("fulfil", fulfil)
)

func ship(ctx workflow.Context, parcel Parcel) (string, error) {
	to, err := workflow.AwaitSignal(ctx, Delivered)
	return parcel.Item + " delivered to " + to, err
}

func fulfil(ctx workflow.Context, order string) (string, error) {
	// With an id of our own, the carrier can send its signal to the child directly.
	tracked := Ship.With(workflow.ChildOptions{ID: "parcel-" + order})
	return workflow.ExecuteChild(ctx, tracked, Parcel{order, "a teapot"})
}

func ExampleExecuteChild() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(Ship)
	env.At(48*time.Hour, func() { workflowtest.Signal(env.Child("parcel-o-1"), Delivered, "the neighbour") })

	fmt.Println(workflowtest.Run(env, Fulfil, "o-1"))
	// Output: a teapot delivered to the neighbour <nil>
}

var (
	Survey  = workflow.Declare[string, int]("survey")
	Archive = workflow.Declare[string, None]("archive")
	Retire  = workflow.New("retire", retire)
)

func retire(ctx workflow.Context, product string) (int, error) {
	// It takes weeks, and goes on after this run has closed.
	workflow.StartChild(ctx, Archive.With(workflow.ChildOptions{ParentClosePolicy: workflow.AbandonChild}), product)

	north, south := workflow.StartChild(ctx, Survey, "north"), workflow.StartChild(ctx, Survey, "south")
	scores, err := workflow.All(ctx, north, south)
	if err != nil {
		return 0, err
	}
	return (scores[0] + scores[1]) / 2, nil
}

func ExampleStartChild() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.MockChild(env, Survey, func(_ context.Context, region string) (int, error) {
		return map[string]int{"north": 6, "south": 8}[region], nil
	})
	workflowtest.MockChild(env, Archive, func(ctx context.Context, product string) (None, error) {
		err := workflowtest.Sleep(ctx, 500*time.Hour)
		fmt.Println(product, "archived after", env.Elapsed())
		return None{}, err
	})

	fmt.Println(workflowtest.Run(env, Retire, "teapot"))
	// Output:
	// teapot archived after 500h0m0s
	// 7 <nil>
}
