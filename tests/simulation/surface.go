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

// real is the surface of core/workflow.
type real struct {
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

func (s real) start(p *program, n *node) future {
	e := errand{p.Name, n.ID}
	switch n.Verb {
	case doCall:
		return valued(workflow.Start(s.ctx, work.With(options(n)), e))
	case doStep:
		return valued(workflow.StartStep(s.ctx, n.ID, options(n), func(ctx context.Context) (int, error) { return s.step(ctx, e) }))
	case doReceive:
		return valued(workflow.Receive(s.ctx, signalS))
	case doChild:
		child := workflow.Declare[int, int](n.Target).With(workflow.ChildOptions{OnClose: workflow.OnClose(n.Mode)})
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
	if n.Hangs {
		o.StartToClose = n.D
	}
	if n.Beats > 0 {
		o.Heartbeat = 30 * time.Second
	}
	return o
}

func (s real) branch(run func(surface) error) future {
	return valued(workflow.Go(s.ctx, func(ctx workflow.Context) (int, error) { return 0, run(real{ctx, s.step}) }))
}

func (s real) await(f future) (int, error) { return f.(realFuture).await(s.ctx) }

func (s real) race(futures []future) (int, error) {
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

func (s real) all(futures []future) ([]int, error) { return workflow.All(s.ctx, values(futures)...) }

func (s real) any(futures []future) (int, int, error) {
	return workflow.Any(s.ctx, values(futures)...)
}

func (s real) parallel(branches []func(surface) error) error {
	all := make([]func(workflow.Context) (struct{}, error), len(branches))
	for i, run := range branches {
		all[i] = func(ctx workflow.Context) (struct{}, error) { return struct{}{}, run(real{ctx, s.step}) }
	}
	_, err := workflow.Parallel(s.ctx, all...)
	return err
}

func (s real) condition(holds func() bool) error { return workflow.AwaitCondition(s.ctx, holds) }

func (s real) onSignal(name string, handle func(surface, int) error) {
	if name != signalH.Name() {
		panic("no handler for signal " + name)
	}
	workflow.HandleSignal(s.ctx, signalH, func(ctx workflow.Context, value int) error { return handle(real{ctx, s.step}, value) })
}

func (s real) onUpdate(name string, handle func(surface, int) (int, error), validate func(int) error) {
	if name != updateU.Name() {
		panic("no handler for update " + name)
	}
	workflow.HandleUpdate(s.ctx, updateU, func(ctx workflow.Context, value int) (int, error) {
		return handle(real{ctx, s.step}, value)
	}, validate)
}

func (s real) phase(d time.Duration, handle func(value, state int) (int, bool), leave func(surface) error) (int, error) {
	p := workflow.NewPhase(0).Within(d)
	workflow.OnSignal(p, signalP, func(_ workflow.Context, value, state int) workflow.Next[int] {
		next, stop := handle(value, state)
		switch {
		case stop:
			return workflow.Stop(next)
		case leave != nil:
			return workflow.Leave(next, func(ctx workflow.Context) error { return leave(real{ctx, s.step}) })
		}
		return workflow.Stay(next)
	})
	return p.Run(s.ctx)
}

func (s real) within(d time.Duration) (surface, func()) {
	inner, cancel := workflow.WithTimeout(s.ctx, d)
	return real{inner, s.step}, cancel
}

func (s real) scope() (surface, func()) {
	inner, cancel := workflow.WithCancel(s.ctx)
	return real{inner, s.step}, cancel
}

func (s real) shield() surface        { return real{workflow.Shield(s.ctx), s.step} }
func (s real) patched(id string) bool { return workflow.Patched(s.ctx, id) }
func (s real) publish(state int)      { workflow.PublishState(s.ctx, state) }
func (s real) attribute(value int)    { workflow.SetAttributes(s.ctx, keyed.Is(value)) }
func (s real) now() time.Time         { return workflow.Now(s.ctx) }
func (s real) random() uint64         { return workflow.Random(s.ctx).Uint64() }
func (s real) yield()                 { workflow.Yield(s.ctx) }

// definition makes a workflow of a program. Each life of a run in memory is announced, with the code that it has.
func definition(p *program, second bool, announce func(run string, generation int, c *code), step func(context.Context, errand) (int, error)) workflow.Definition {
	var self func(ctx workflow.Context, input int) (int, error)
	self = func(ctx workflow.Context, input int) (int, error) {
		c := &code{program: p, second: second}
		info := workflow.InfoOf(ctx)
		announce(info.Run, info.Generation, c)
		result, err := c.main(real{ctx, step}, input)
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
