package v1

import "github.com/reprise-run/reprise/core/workflow"

// InterpretVersions makes the same workflow of any source. Given 0, it calls itself in version 1 as
// a child and continues in version 2; given 1, it continues in the latest version.
func InterpretVersions(name, _ string) (workflow.Definition, error) {
	var run func(ctx workflow.Context, n int) (int, error)
	run = func(ctx workflow.Context, n int) (int, error) {
		next := workflow.ContinueOptions{Definition: 2}
		switch n {
		case 0:
			child := workflow.Declare[int, int](name).With(workflow.ChildOptions{Definition: 1})
			if _, err := workflow.ExecuteChild(ctx, child, 2); err != nil {
				return 0, err
			}
		case 1:
			next.Definition = workflow.LatestDefinition
		default:
			return n, nil
		}
		return workflow.ContinueAsNewWith(ctx, next, run, n+1)
	}
	return workflow.New(name, run), nil
}
