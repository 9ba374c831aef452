package workflow_test

import (
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

var (
	Done    = workflow.NewQuery[string, bool]("done")
	Checkup = workflow.New("checkup", checkup)
)

func checkup(ctx workflow.Context, stations []string) (None, error) {
	done := map[string]bool{}
	workflow.HandleQuery(ctx, Done, func(station string) (bool, error) { return done[station], nil })
	for _, station := range stations {
		if err := workflow.Sleep(ctx, time.Hour); err != nil {
			return None{}, err
		}
		done[station] = true
	}
	return None{}, nil
}

func ExampleHandleQuery() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(90*time.Minute, func() {
		fmt.Println(workflowtest.Query(env, Done, "eyes"))
		fmt.Println(workflowtest.Query(env, Done, "ears"))
	})

	_, err := workflowtest.Run(env, Checkup, []string{"eyes", "ears"})
	fmt.Println(err)
	fmt.Println(workflowtest.Query(env, Done, "ears")) // a closed run answers, too
	// Output:
	// true <nil>
	// false <nil>
	// <nil>
	// true <nil>
}

type Progress struct {
	Stage   string
	Percent int
}

var Migrate = workflow.New("migrate", migrate)

func migrate(ctx workflow.Context, stages []string) (None, error) {
	for i, stage := range stages {
		workflow.PublishState(ctx, Progress{stage, 100 * i / len(stages)}) // seen by everybody, without asking the run
		if err := workflow.Sleep(ctx, time.Hour); err != nil {
			return None{}, err
		}
	}
	workflow.PublishState(ctx, Progress{"done", 100})
	return None{}, nil
}

func ExamplePublishState() {
	env := workflowtest.New(workflowtest.Panic)
	env.At(90*time.Minute, func() { fmt.Println(workflowtest.State[Progress](env)) })

	_, err := workflowtest.Run(env, Migrate, []string{"copy", "verify", "switch", "clean"})
	fmt.Println(workflowtest.State[Progress](env), err)
	// Output:
	// {verify 25}
	// {done 100} <nil>
}
