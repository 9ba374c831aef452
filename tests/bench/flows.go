package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/worker"
	"github.com/reprise-run/reprise/tests/gauge"
)

// Flows beside Go workflows that do the same: ten calls, one after the other. Each call is told the
// number of its run, so that the time from one call of a run to the next can be taken.

// between gathers the times from one call of a run to its next one.
type between struct {
	mu   sync.Mutex
	last map[int]time.Time
	all  collector
}

// call notes a call of a run.
func (b *between) call(run int) {
	now := time.Now()
	b.mu.Lock()
	last, known := b.last[run]
	b.last[run] = now
	b.mu.Unlock()
	if known {
		b.all.add(int64(now.Sub(last)))
	}
}

// take gives all times, and forgets the runs.
func (b *between) take() []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = map[int]time.Time{}
	return b.all.take()
}

// called are the calls in this process: the server's of Go activities, its parent's of HTTP workers.
var called = between{last: map[int]time.Time{}}

// node is what each node calls. It does nothing.
var node = activity.New("node", func(_ context.Context, run int) (int, error) {
	called.call(run)
	return run, nil
})

// goNodes calls the Go activity, and goCalls the service of that name.
var (
	goNodes = workflow.New("go-nodes", func(ctx workflow.Context, run int) (sum int, err error) {
		for range sequence {
			got, err := workflow.Execute(ctx, node, run)
			if err != nil {
				return 0, err
			}
			sum += got
		}
		return sum, nil
	})
	goCalls = workflow.New("go-calls", func(ctx workflow.Context, run int) (sum int, err error) {
		service := activity.Declare[flow.Call, flow.Answer](flow.HTTP + node.Name())
		for range sequence {
			answer, err := workflow.Execute(ctx, service, flow.Call{Input: []byte(number(run))})
			if err != nil {
				return 0, err
			}
			got, err := history.Decode[int](history.Payload(answer.Result))
			if err != nil {
				return 0, err
			}
			sum += got
		}
		return sum, nil
	})
)

// chain is the source of a flow of ten nodes, whose results are ten members of its shared state.
func chain(service string) string {
	var nodes, edges []string
	for i := range sequence {
		nodes = append(nodes, fmt.Sprintf(`"n%d": {"kind": "executor", "service": %q, `+
			`"prep": {"input_key": "$params.n"}, "post": {"output_key": "r%d"}}`, i, service, i))
		if i > 0 {
			edges = append(edges, fmt.Sprintf(`{"from": "n%d", "to": "n%d"}`, i-1, i))
		}
	}
	return fmt.Sprintf(`{"start": "n0", "nodes": {%s}, "edges": [%s]}`,
		strings.Join(nodes, ", "), strings.Join(edges, ", "))
}

// flows runs the same work in four ways.
func (b *bench) flows() error {
	for _, way := range []struct {
		name, workflow string
		numbered       numbered
		http           bool
	}{
		{"Go workflow, Go activities", goNodes.Name(), asNumber, false},
		{"Go workflow, HTTP workers", goCalls.Name(), asNumber, true},
		{"flow, Go activities", "flow-go", asParams, false},
		{"flow, HTTP workers", "flow-http", asParams, true},
	} {
		err := b.with(way.workflow, func(c *child) error {
			l := load{Workflow: way.workflow, Result: -1, Numbered: way.numbered, InFlight: b.inFlight}
			return b.flowsOn(c, l, way.name, way.http)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) flowsOn(c *child, l load, name string, http bool) (err error) {
	if err := c.publish(b, map[string]string{"flow-go": chain(flow.Go + "node"), "flow-http": chain("node")}); err != nil {
		return err
	}
	stop, err := c.work(b)
	if err != nil {
		return err
	}
	defer stop()
	warm := l
	warm.Runs, warm.Workflow, warm.Numbered = 100, goCalls.Name(), asNumber
	if _, err := c.apply(b, warm, false); err != nil {
		return err
	}
	called.take()
	if _, err := c.ask(request{Calls: true}); err != nil {
		return err
	}
	before, err := c.ask(request{Usage: true})
	if err != nil {
		return err
	}
	l.Runs = b.tasks
	took, err := c.apply(b, l, false)
	if err != nil {
		return err
	}
	after, err := c.ask(request{Usage: true})
	if err != nil {
		return err
	}
	given, err := c.ask(request{Calls: true})
	if err != nil {
		return err
	}
	if http {
		given.Between = called.take()
	}
	nodes := float64(b.tasks * sequence)
	if want := b.tasks * (sequence - 1); len(given.Between) != want {
		return fmt.Errorf("%s: %d times between calls were taken, not %d", name, len(given.Between), want)
	}
	add := b.adder("10 nodes: " + name)
	add("nodes/s", nodes/took.All.Seconds())
	add("ms per node, p50", ms(gauge.Quantile(given.Between, 0.5)))
	add("ms per node, p99", ms(gauge.Quantile(given.Between, 0.99)))
	add("CPU ms per node", (after.Usage.CPU-before.Usage.CPU)/nodes)
	add("writes per node", float64(after.Usage.Commits-before.Usage.Commits)/nodes)
	size, err := gauge.FolderSize(c.folder)
	add("KB on disk per node", float64(size)/nodes/1024)
	return err
}

// publish publishes flows.
func (c *child) publish(ctx context.Context, sources map[string]string) error {
	for name, source := range sources {
		_, err := c.client.Publish(ctx, wire.PublishBody{Name: name, Kind: frontend.Flow, Source: source})
		if err != nil {
			return err
		}
	}
	return nil
}

// work has two HTTP workers of this process serve the server, until stop.
func (c *child) work(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	stop = func() {
		cancel()
		workers.Wait()
	}
	const many = 2
	for range many {
		w := worker.New(worker.Config{Registry: c.client.Address()})
		worker.Handle(w, node.Name(), func(_ context.Context, run int, _ any) (int, error) {
			called.call(run)
			return run, nil
		})
		workers.Go(func() { _ = w.Run(ctx) })
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if online, err := c.client.Workers(ctx, node.Name(), true); err != nil || len(online) == many {
			return stop, err
		}
	}
	stop()
	return nil, errors.New("the workers did not register")
}
