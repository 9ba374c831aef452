package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/tests/cloud"
)

// workload is what is counted: so many runs at a time, each of so many activities.
type workload struct {
	name       string
	workflow   *workflow.Workflow[int, int] // nil: a flow of so many nodes
	atOnce     int
	activities int
}

// named is the workflow that has so many activities, and its input.
func (w workload) named(activities int) (name string, input history.Payload) {
	if w.workflow == nil {
		return chain(activities).Name(), history.Payload("{}")
	}
	return w.workflow.Name(), history.Payload(strconv.Itoa(activities))
}

// chain is a flow of so many nodes, one after the other. Each calls the activity, and writes a
// member of the shared state.
func chain(nodes int) *flow.Payloads {
	var all, edges []string
	for i := range nodes {
		all = append(all, fmt.Sprintf(`"n%d": {"kind": "executor", "service": "go:work", `+
			`"params": {"n": %d}, "prep": {"input_key": "$params.n"}, "post": {"output_key": "r%d"}}`,
			i, i, i))
		if i > 0 {
			edges = append(edges, fmt.Sprintf(`{"from": "n%d", "to": "n%d"}`, i-1, i))
		}
	}
	source := fmt.Sprintf(`{"start": "n0", "nodes": {%s}, "edges": [%s]}`,
		strings.Join(all, ", "), strings.Join(edges, ", "))
	return flow.MustWorkflow(fmt.Sprint("flow-", nodes), []byte(source))
}

const length = 10 // activities of a workflow

var workloads = []workload{
	{name: "inline, 1 run", workflow: inline, atOnce: 1, activities: length},
	{name: "inline, 100 runs at once", workflow: inline, atOnce: 100, activities: length},
	{name: "queued, 1 run", workflow: queued, atOnce: 1, activities: length},
	{name: "queued, 100 runs at once", workflow: queued, atOnce: 100, activities: length},
	{name: "queued, 1 run of 100 at once", workflow: fan, atOnce: 1, activities: 100},
	{name: "flow, 1 run", atOnce: 1, activities: length},
	{name: "flow, 100 runs at once", atOnce: 100, activities: length},
	{name: "inline, 1 run of 100 at once", workflow: burst, atOnce: 1, activities: 100},
}

var (
	work = activity.New("work", func(_ context.Context, n int) (int, error) { return n + 1, nil })

	inline = workflow.New("inline", func(ctx workflow.Context, activities int) (n int, err error) {
		for range activities {
			if n, err = workflow.Execute(ctx, work.Inline(), n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	queued = workflow.New("queued", func(ctx workflow.Context, activities int) (n int, err error) {
		for range activities {
			if n, err = workflow.Execute(ctx, work, n); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	fan   = workflow.New("fan", func(ctx workflow.Context, activities int) (int, error) { return spread(ctx, activities, work) })
	burst = workflow.New("burst", func(ctx workflow.Context, activities int) (int, error) { return spread(ctx, activities, work.Inline()) })
)

// spread calls an activity so many times at once.
func spread(ctx workflow.Context, times int, call *activity.Activity[int, int]) (int, error) {
	all, err := workflow.Map(ctx, make([]int, times), func(ctx workflow.Context, n int) (int, error) { return workflow.Execute(ctx, call, n) })
	return len(all), err
}

// cost of a workload.
type cost struct {
	workload
	run         life // of a run, without its activities
	perActivity life // what each activity adds to that
}

// life is what was used from a run's start to its deletion.
type life struct {
	whole     usage
	retention usage // the deletion alone: a part of the whole
}

func (l life) minus(o life) life { return life{l.whole.minus(o.whole), l.retention.minus(o.retention)} }

func (l life) over(n float64) life { return life{l.whole.over(n), l.retention.over(n)} }

// usage of services.
type usage struct {
	puts, queries, deletes, otherRequests float64 // of DynamoDB
	writes, reads                         float64 // units
	messages, queueRequests               float64
	invocations                           float64
}

// measure counts runs of so many activities, and of twice as many: the difference is what activities add.
func measure(ctx context.Context, database *cloud.Database, w workload) (cost, error) {
	short, err := count(ctx, database, w, w.activities)
	if err != nil {
		return cost{}, err
	}
	long, err := count(ctx, database, w, 2*w.activities)
	if err != nil {
		return cost{}, err
	}
	added := long.minus(short)
	return cost{w, short.minus(added), added.over(float64(w.activities))}, nil
}

// count gives what one run uses, of so many at once on a fresh table, until retention has deleted it.
func count(ctx context.Context, database *cloud.Database, w workload, activities int) (life, error) {
	c, err := database.Open(ctx, nil, inline, queued, fan, burst, work, chain(length), chain(2*length))
	if err != nil {
		return life{}, err
	}
	defer c.Close()
	before := used(c)
	var runs errgroup.Group
	name, input := w.named(activities)
	for i := range w.atOnce {
		runs.Go(func() error { return finish(ctx, c, name, fmt.Sprint("run-", i), input) })
	}
	if err := runs.Wait(); err != nil {
		return life{}, err
	}
	if err := c.Quiet(ctx); err != nil {
		return life{}, err
	}
	ended := used(c)
	deleted, err := c.Store.DeleteClosed(ctx, time.Now().Add(time.Hour), math.MaxInt)
	if err == nil && deleted != w.atOnce {
		err = fmt.Errorf("%d of %d runs were deleted", deleted, w.atOnce)
	}
	if err != nil {
		return life{}, err
	}
	end := used(c)
	return life{end.minus(before), end.minus(ended)}.over(float64(w.atOnce)), nil
}

// finish starts a run and waits for its end without asking for it all the time, which would count.
func finish(
	ctx context.Context, c *cloud.Cloud, workflow, id string, input history.Payload,
) error {
	if _, _, err := c.Engine.Start(ctx, engine.StartRequest{Run: id, Workflow: workflow, Input: input}); err != nil {
		return err
	}
	return c.Ended(ctx, id)
}

// used is all that was used so far.
func used(c *cloud.Cloud) usage {
	all := func(operations ...string) (total aws.Usage) {
		for _, operation := range operations {
			more := c.Meter.Total("", operation)
			total.Requests, total.Reads, total.Writes = total.Requests+more.Requests, total.Reads+more.Reads, total.Writes+more.Writes
		}
		return total
	}
	whole := all("")
	// AWS takes two units for each of a transaction's. DynamoDB Local reports one.
	whole.Writes += all("TransactWriteItems").Writes
	ofResumes, ofTasks := c.Usage()
	u := usage{
		puts: float64(all("PutItem", "TransactWriteItems").Requests), queries: float64(all("Query").Requests),
		deletes: float64(all("DeleteItem", "BatchWriteItem").Requests),
		writes:  whole.Writes, reads: whole.Reads,
		messages: float64(ofResumes.Messages + ofTasks.Messages),
		queueRequests: float64(ofResumes.Sends + ofResumes.Receives + ofResumes.Deletes + ofTasks.Sends + ofTasks.Receives + ofTasks.Deletes +
			ofResumes.Changes + ofTasks.Changes),
		invocations: float64(ofResumes.Receives + ofTasks.Receives),
	}
	u.otherRequests = float64(all("GetItem", "UpdateItem", "Scan", "BatchGetItem").Requests)
	return u
}

func (u usage) minus(o usage) usage {
	return usage{u.puts - o.puts, u.queries - o.queries, u.deletes - o.deletes, u.otherRequests - o.otherRequests, u.writes - o.writes, u.reads - o.reads,
		u.messages - o.messages, u.queueRequests - o.queueRequests, u.invocations - o.invocations}
}

func (u usage) over(n float64) usage {
	return usage{u.puts / n, u.queries / n, u.deletes / n, u.otherRequests / n, u.writes / n, u.reads / n, u.messages / n, u.queueRequests / n, u.invocations / n}
}
