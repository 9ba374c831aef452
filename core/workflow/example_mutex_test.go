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
	Assign  = workflow.NewUpdate[string, int]("assign")
	Prepare = activity.Declare[int, None]("prepare")
	Cluster = workflow.New("cluster", cluster)
)

// cluster gives each job a node of its own. The lock keeps a second job from reading the free nodes
// while the first one prepares the node that it chose.
func cluster(ctx workflow.Context, free []int) (map[string]int, error) {
	var choice workflow.Mutex
	nodes := map[string]int{}
	workflow.HandleUpdate(ctx, Assign, func(ctx workflow.Context, job string) (int, error) {
		if err := choice.Lock(ctx); err != nil {
			return 0, err
		}
		defer choice.Unlock()
		node := free[0]
		if _, err := workflow.Execute(ctx, Prepare, node); err != nil {
			return 0, err
		}
		nodes[job], free = node, free[1:]
		return node, nil
	})
	err := workflow.Sleep(ctx, time.Hour)
	return nodes, err
}

func ExampleMutex() {
	env := workflowtest.New(workflowtest.Panic)
	workflowtest.Mock(env, Prepare, func(ctx context.Context, _ int) (None, error) {
		return None{}, workflowtest.Sleep(ctx, time.Second)
	})
	env.At(0, func() {
		workflowtest.Update(env, Assign, "index")
		workflowtest.Update(env, Assign, "train")
	})

	fmt.Println(workflowtest.Run(env, Cluster, []int{7, 8}))
	// Output: map[index:7 train:8] <nil>
}
