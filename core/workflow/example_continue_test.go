package workflow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

type Cursor struct{ Page, Seen int }

var (
	ReadPage = activity.Declare[int, int]("read-page") // gives how many entries it has
	Crawl    = workflow.New("crawl", crawl)
)

// crawl reads page after page. Each ten pages, it goes on with an empty log.
func crawl(ctx workflow.Context, cursor Cursor) (int, error) {
	for range 10 {
		entries, err := workflow.Execute(ctx, ReadPage, cursor.Page)
		if err != nil || entries == 0 {
			return cursor.Seen, err
		}
		cursor = Cursor{cursor.Page + 1, cursor.Seen + entries}
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return 0, err
		}
	}
	return workflow.ContinueAsNew(ctx, crawl, cursor)
}

func ExampleContinueAsNew() {
	env := workflowtest.New(workflowtest.Panic)
	generations := 0
	workflowtest.Mock(env, ReadPage, func(ctx context.Context, page int) (int, error) {
		generations = activity.InfoOf(ctx).Generation
		return min(3, 25-page), nil
	})

	seen, err := workflowtest.Run(env, Crawl, Cursor{})
	fmt.Println(seen, err, "in", generations, "generations")
	// Output: 72 <nil> in 3 generations
}
