package workflow_test

import (
	"context"
	"fmt"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var Inbox = workflow.New("inbox", inbox)

func inbox(ctx workflow.Context, _ None) (string, error) {
	info := workflow.InfoOf(ctx)
	return fmt.Sprintf("reply to %s+%s@example.com", info.Workflow, info.RunID), nil
}

func ExampleInfoOf() {
	env := workflowtest.New(workflowtest.Panic)
	env.ID = "case-7"

	fmt.Println(workflowtest.Run(env, Inbox, None{}))
	// Output: reply to inbox+case-7@example.com <nil>
}

var Audit = workflow.New("audit", func(ctx workflow.Context, files int) (None, error) {
	workflow.Log(ctx, "audit begins", "files", files) // by the server, once, whatever is replayed
	return None{}, nil
})

// printing prints what the environment logs.
type printing struct{ workflowtest.TB }

func (printing) Logf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func ExampleLog() {
	env := workflowtest.New(printing{workflowtest.Panic})

	_, err := workflowtest.Run(env, Audit, 12)
	fmt.Println(err)
	// Output:
	// 0s test: audit begins files=12
	// <nil>
}

var Merge = workflow.New("merge", merge)

// merge takes turns: without the yields, the first branch would run to its end before the second begins.
func merge(ctx workflow.Context, n int) (order []string, err error) {
	count := func(name string) func(workflow.Context) (None, error) {
		return func(ctx workflow.Context) (None, error) {
			for i := range n {
				order = append(order, fmt.Sprint(name, i))
				workflow.Yield(ctx)
			}
			return None{}, nil
		}
	}
	_, err = workflow.Parallel(ctx, count("a"), count("b"))
	return order, err
}

func ExampleYield() {
	env := workflowtest.New(workflowtest.Panic)

	fmt.Println(workflowtest.Run(env, Merge, 3))
	// Output: [a0 b0 a1 b1 a2 b2] <nil>
}

type Shortage struct{ Missing int }

var (
	Pick   = activity.Declare[int, string]("pick")
	Supply = workflow.New("supply", supply)
)

func supply(ctx workflow.Context, wanted int) (string, error) {
	box, err := workflow.Execute(ctx, Pick, wanted)
	if workflow.FailureType(err) == "out-of-stock" {
		if shortage, ok := workflow.FailureDetails[Shortage](err); ok && shortage.Missing < wanted {
			return workflow.Execute(ctx, Pick, wanted-shortage.Missing)
		}
	}
	return box, err
}

func ExampleFailureDetails() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Pick, func(_ context.Context, wanted int) (string, error) {
		if stock := 8; wanted > stock {
			err := activity.Fail("out-of-stock", "only %d are left", stock)
			return "", activity.NonRetryable(activity.WithDetails(err, Shortage{wanted - stock}))
		}
		return fmt.Sprintf("a box of %d", wanted), nil
	})

	fmt.Println(workflowtest.Run(env, Supply, 10))
	// Output: a box of 8 <nil>
}

var (
	Inspect = workflow.New("inspect", inspect)
	Buy     = workflow.New("buy-car", buyCar)
)

func inspect(_ workflow.Context, mileage int) (None, error) {
	if mileage > 200_000 {
		return None{}, workflow.Fail("worn-out", "it has run %d km", mileage)
	}
	return None{}, nil
}

func buyCar(ctx workflow.Context, mileage int) (string, error) {
	_, err := workflow.ExecuteChild(ctx, Inspect, mileage)
	if workflow.FailureType(err) == "worn-out" {
		return "no deal", nil
	}
	return "bought", err
}

func ExampleFail() {
	env := workflowtest.New(workflowtest.Panic)
	env.Register(Inspect)
	fmt.Println(workflowtest.Run(env, Buy, 250_000))

	_, err := workflowtest.Run(workflowtest.New(workflowtest.Panic), Inspect, 250_000)
	fmt.Println(workflow.FailureType(err)+":", err)
	// Output:
	// no deal <nil>
	// worn-out: it has run 250000 km
}

func ExampleFailureType() {
	env := workflowtest.New(workflowtest.Panic)
	failing := activity.New("fails", func(context.Context, None) (None, error) {
		return None{}, activity.NonRetryable(fmt.Errorf("reading: %w", activity.Fail("no-such-file", "a.txt")))
	})

	_, err := workflowtest.RunActivity(env, failing, None{})
	fmt.Println(workflow.FailureType(err)+":", err)
	// Output: no-such-file: activity fails: reading: a.txt
}
