package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

var (
	signalS = workflow.NewSignal[int]("s")
	signalH = workflow.NewSignal[int]("h")
	signalP = workflow.NewSignal[int]("p")
	updateU = workflow.NewUpdate[int, int]("u")
	keyed   = workflow.NewAttribute[int]("k")
	work    = activity.Declare[errand, int]("work")
)

// errand is the input of an activity: which node of which program it belongs to.
type errand struct{ Program, Node string }

// onWorkflow is the surface of core/workflow.
type onWorkflow struct {
	ctx workflow.Context
	// step runs a step's function.
	step func(ctx context.Context, e errand) (int, error)
}

// realFuture is an int that comes later, or only an end.
type realFuture struct {
	awaitable workflow.Awaitable
	value     workflow.Future[int] // empty: only its end can be awaited
	await     func(workflow.Context) (int, error)
}

func valued(f workflow.Future[int]) realFuture {
	return realFuture{awaitable: f, value: f, await: f.Await}
}

func (s onWorkflow) start(p *program, n *node) future {
	e := errand{p.Name, n.ID}
	switch n.Verb {
	case doCall:
		return valued(workflow.Start(s.ctx, work.With(options(n)), e))
	case doStep:
		return valued(workflow.StartStep(s.ctx, n.ID, options(n), func(ctx context.Context) (int, error) { return s.step(ctx, e) }))
	case doReceive:
		return valued(workflow.Receive(s.ctx, signalS))
	case doChild:
		child := workflow.Declare[int, int](n.Target).With(workflow.ChildOptions{ParentClosePolicy: workflow.ParentClosePolicy(n.Mode)})
		return valued(workflow.StartChild(s.ctx, child, 0))
	}
	f := workflow.Timer(s.ctx, n.D)
	return realFuture{awaitable: f, await: func(ctx workflow.Context) (int, error) {
		_, err := f.Await(ctx)
		return 0, err
	}}
}

// options of an activity or a step.
func options(n *node) activity.Options {
	o := activity.Options{ID: n.ID, OnCancel: activity.Cancellation(n.Mode)}
	if n.Hangs || n.Later > 0 {
		o.StartToClose = n.D
	}
	if n.Beats > 0 {
		o.Heartbeat = 30 * time.Second
	}
	return o
}

func (s onWorkflow) branch(run func(surface) error) future {
	return valued(workflow.Go(s.ctx, func(ctx workflow.Context) (int, error) { return 0, run(onWorkflow{ctx, s.step}) }))
}

func (s onWorkflow) await(f future) (int, error) { return f.(realFuture).await(s.ctx) }

func (s onWorkflow) race(futures []future) (int, error) {
	all := make([]workflow.Awaitable, len(futures))
	for i, f := range futures {
		all[i] = f.(realFuture).awaitable
	}
	return workflow.Race(s.ctx, all...)
}

func values(futures []future) []workflow.Future[int] {
	all := make([]workflow.Future[int], len(futures))
	for i, f := range futures {
		all[i] = f.(realFuture).value
	}
	return all
}

func (s onWorkflow) all(futures []future) ([]int, error) {
	return workflow.All(s.ctx, values(futures)...)
}

func (s onWorkflow) any(futures []future) (int, int, error) {
	return workflow.Any(s.ctx, values(futures)...)
}

func (s onWorkflow) parallel(branches []func(surface) error) error {
	all := make([]func(workflow.Context) (struct{}, error), len(branches))
	for i, run := range branches {
		all[i] = func(ctx workflow.Context) (struct{}, error) { return struct{}{}, run(onWorkflow{ctx, s.step}) }
	}
	_, err := workflow.Parallel(s.ctx, all...)
	return err
}

func (s onWorkflow) condition(holds func() bool) error { return workflow.AwaitCondition(s.ctx, holds) }

func (s onWorkflow) onSignal(name string, handle func(surface, int) error) {
	if name != signalH.Name() {
		panic("no handler for signal " + name)
	}
	workflow.HandleSignal(s.ctx, signalH, func(ctx workflow.Context, value int) error { return handle(onWorkflow{ctx, s.step}, value) })
}

func (s onWorkflow) onUpdate(name string, handle func(surface, int) (int, error), validate func(int) error) {
	if name != updateU.Name() {
		panic("no handler for update " + name)
	}
	workflow.HandleUpdate(s.ctx, updateU, func(ctx workflow.Context, value int) (int, error) {
		return handle(onWorkflow{ctx, s.step}, value)
	}, validate)
}

func (s onWorkflow) phase(d time.Duration, handle func(value, state int) (int, bool), leave func(surface) error) (int, error) {
	p := workflow.NewPhase(0).Within(d)
	workflow.OnSignal(p, signalP, func(_ workflow.Context, value, state int) workflow.Next[int] {
		next, stop := handle(value, state)
		switch {
		case stop:
			return workflow.Finish(next)
		case leave != nil:
			return workflow.ContinueAsync(next, func(ctx workflow.Context) error { return leave(onWorkflow{ctx, s.step}) })
		}
		return workflow.Continue(next)
	})
	return p.Run(s.ctx)
}

func (s onWorkflow) within(d time.Duration) (surface, func()) {
	inner, cancel := workflow.WithTimeout(s.ctx, d)
	return onWorkflow{inner, s.step}, cancel
}

func (s onWorkflow) scope() (surface, func()) {
	inner, cancel := workflow.WithCancel(s.ctx)
	return onWorkflow{inner, s.step}, cancel
}

func (s onWorkflow) shield() surface        { return onWorkflow{workflow.Shield(s.ctx), s.step} }
func (s onWorkflow) patched(id string) bool { return workflow.Patched(s.ctx, id) }
func (s onWorkflow) publish(state int)      { workflow.PublishState(s.ctx, state) }
func (s onWorkflow) attribute(value int)    { workflow.SetAttributes(s.ctx, keyed.Is(value)) }
func (s onWorkflow) now() time.Time         { return workflow.Now(s.ctx) }
func (s onWorkflow) random() uint64         { return workflow.Random(s.ctx).Uint64() }
func (s onWorkflow) yield()                 { workflow.Yield(s.ctx) }

// definition makes a workflow of a program. Each life of a run in memory is announced, with the code that it has.
func definition(p *program, second bool, announce func(run string, generation int, c *code), step func(context.Context, errand) (int, error)) workflow.Definition {
	var self func(ctx workflow.Context, input int) (int, error)
	self = func(ctx workflow.Context, input int) (int, error) {
		c := &code{program: p, second: second}
		info := workflow.InfoOf(ctx)
		announce(info.RunID, info.Generation, c)
		result, err := c.main(onWorkflow{ctx, step}, input)
		if errors.Is(err, errContinue) {
			return workflow.ContinueAsNew(ctx, self, result)
		}
		if err != nil {
			return 0, fmt.Errorf("program %s: %w", p.Name, err)
		}
		return result, nil
	}
	return workflow.New(p.Name, self)
}
