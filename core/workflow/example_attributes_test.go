package workflow_test

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Customer = workflow.NewAttribute[string]("customer")
	Stage    = workflow.NewAttribute[string]("stage")
	Claim    = workflow.New("claim", claim)
)

func claim(ctx workflow.Context, customer string) (None, error) {
	workflow.SetAttributes(ctx, Customer.Is(customer), Stage.Is("in review"))
	err := workflow.Sleep(ctx, 14*24*time.Hour)
	workflow.SetAttributes(ctx, Stage.None())
	return None{}, err
}

func ExampleSetAttributes() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(time.Hour, func() { fmt.Println(workflowtest.Attribute(env, Stage)) })

	_, err := workflowtest.Run(env, Claim, "Ada")
	fmt.Println(workflowtest.Attribute(env, Customer))
	fmt.Println(workflowtest.Attribute(env, Stage))
	fmt.Println(err)
	// Output:
	// in review true
	// Ada true
	//  false
	// <nil>
}
