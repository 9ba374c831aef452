package workflow_test

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Offer = workflow.NewSignal[int]("offer")
	Sale  = workflow.New("sale", sale)
)

// sale takes the highest offer of an hour.
func sale(ctx workflow.Context, lowest int) (best int, err error) {
	best = lowest
	over := false
	s := workflow.NewSelector()
	workflow.AddReceive(s, Offer, func(offer int) { best = max(best, offer) })
	workflow.AddFuture(s, workflow.Timer(ctx, time.Hour), func(None, error) { over = true })
	for !over {
		if err := s.Select(ctx); err != nil {
			return 0, err
		}
	}
	return best, nil
}

func ExampleSelector() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(10*time.Minute, func() { workflowtest.Signal(env, Offer, 250) })
	env.At(20*time.Minute, func() { workflowtest.Signal(env, Offer, 200) })

	fmt.Println(workflowtest.Run(env, Sale, 100))
	// Output: 250 <nil>
}
