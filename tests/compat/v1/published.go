package v1

import "github.com/reprise-run/reprise/core/workflow"

// Interpret makes the same workflow of any source: it waits for a signal, and returns its input.
func Interpret(name, _ string) (workflow.Definition, error) {
	return workflow.New(name, func(ctx workflow.Context, n int) (int, error) {
		_, err := workflow.AwaitSignal(ctx, published)
		return n, err
	}), nil
}

var published = workflow.NewSignal[string]("published")
