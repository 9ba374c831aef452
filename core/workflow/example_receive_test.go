package workflow_test

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Line     = workflow.NewSignal[string]("line")
	Dictated = workflow.New("dictated", dictated)
)

// dictated takes lines until none has come for a minute.
func dictated(ctx workflow.Context, _ None) (lines []string, err error) {
	for {
		line, received, err := workflow.ReceiveWithin(ctx, Line, time.Minute)
		if err != nil || !received {
			return lines, err
		}
		lines = append(lines, line)
	}
}

func ExampleReceiveWithin() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(10*time.Second, func() { workflowtest.Signal(env, Line, "Dear Ada,") })
	env.At(40*time.Second, func() { workflowtest.Signal(env, Line, "it works.") })

	lines, err := workflowtest.Run(env, Dictated, None{})
	fmt.Printf("%q %v after %s\n", lines, err, env.Elapsed())
	// Output: ["Dear Ada," "it works."] <nil> after 1m40s
}

var Sorted = workflow.New("sorted", func(ctx workflow.Context, _ None) (waiting []string, err error) {
	if err := workflow.Sleep(ctx, time.Hour); err != nil {
		return nil, err
	}
	for {
		line, received, err := workflow.TryReceive(ctx, Line)
		if err != nil || !received {
			return waiting, err
		}
		waiting = append(waiting, line)
	}
})

func ExampleTryReceive() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Signal(env, Line, "first")
	env.At(time.Minute, func() { workflowtest.Signal(env, Line, "second") })

	fmt.Println(workflowtest.Run(env, Sorted, None{}))
	// Output: [first second] <nil>
}
