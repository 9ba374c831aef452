package workflow_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Reserve = workflow.NewUpdate[int, int]("reserve") // seats wanted, seats left
	Concert = workflow.New("concert", concert)
)

func concert(ctx workflow.Context, seats int) (left int, err error) {
	left = seats
	workflow.HandleUpdate(ctx, Reserve, func(_ workflow.Context, wanted int) (int, error) {
		left -= wanted
		return left, nil
	}, func(wanted int) error { // a validator: what it refuses leaves no trace
		if wanted > left {
			return fmt.Errorf("only %d seats are left", left)
		}
		return nil
	}, func(wanted int) error {
		if wanted < 1 {
			return errors.New("reserve at least one seat")
		}
		return nil
	})
	err = workflow.Sleep(ctx, 30*24*time.Hour)
	return left, err
}

func ExampleHandleUpdate() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(time.Hour, func() {
		for _, wanted := range []int{60, 50, -1} {
			fmt.Println(workflowtest.Update(env, Reserve, wanted).Result())
		}
	})

	fmt.Println(workflowtest.Run(env, Concert, 100))
	// Output:
	// 40 <nil>
	// 0 only 40 seats are left
	// 0 reserve at least one seat
	// 40 <nil>
}
