package simulation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

var (
	updateU = workflow.NewUpdate[int, int]("u")
	keyed   = workflow.NewAttribute[int]("k")
	given   = workflow.NewAttribute[int]("g")
	work    = activity.Declare[errand, int](workName)
)

const workName = "work"

// lenient code takes a signal that does not fit the type of strict code.
type lenient int

// UnmarshalJSON implements json.Unmarshaler.
func (l *lenient) UnmarshalJSON(text []byte) error {
	value, err := strconv.Atoi(strings.Trim(string(text), `"x`))
	*l = lenient(value)
	return err
}

// errand is the input of an activity: which node of which program it belongs to.
type errand struct{ Program, Node string }

// onWorkflow is the surface of core/workflow, where all values are of type N: int or lenient.
type onWorkflow[N ~int] struct {
	ctx workflow.Context
	// step runs a step's function.
	step func(ctx context.Context, e errand) (int, error)
}

// realFuture is an int that comes later, or only an end.
type realFuture[N ~int] struct {
	awaitable workflow.Awaitable
	value     workflow.Future[N] // empty: only its end can be awaited
	await     func(workflow.Context) (int, error)
}

func valued[N ~int](f workflow.Future[N]) realFuture[N] {
	return realFuture[N]{awaitable: f, value: f, await: func(ctx workflow.Context) (int, error) {
		value, err := f.Await(ctx)
		return int(value), err
	}}
}

// ofFlow is the end of a child that is a flow: its parent does not read the result.
func ofFlow[N ~int](f workflow.Future[history.Payload]) realFuture[N] {
	return realFuture[N]{awaitable: f, await: func(ctx workflow.Context) (int, error) {
		_, err := f.Await(ctx)
		return 0, err
	}}
}

func (s onWorkflow[N]) start(p *program, n *node) future {
	e := errand{p.Name, n.ID}
	switch n.Verb {
	case doCall:
		return valued(workflow.Start(s.ctx, activity.Declare[errand, N](workName).With(options(n)), e))
	case doStep:
		return valued(workflow.StartStep(s.ctx, n.ID, options(n), func(ctx context.Context) (N, error) {
			value, err := s.step(ctx, e)
			return N(value), err
		}))
	case doReceive:
		return valued(workflow.Receive(s.ctx, workflow.NewSignal[N]("s")))
	case doChild:
		options := workflow.ChildOptions{ParentClosePolicy: workflow.ParentClosePolicy(n.Mode)}
		if n.Own != "" {
			options.ID = workflow.InfoOf(s.ctx).RunID + "." + n.Own
		}
		if n.Flow {
			return ofFlow[N](workflow.StartChild(s.ctx, workflow.Declare[history.Payload, history.Payload](n.Target).With(options), history.Payload(inputOfFlows)))
		}
		child := workflow.Declare[int, N](n.Target).With(options)
		return valued(workflow.StartChild(s.ctx, child, 0))
	}
	f := workflow.Timer(s.ctx, n.D)
	return realFuture[N]{awaitable: f, await: func(ctx workflow.Context) (int, error) {
		_, err := f.Await(ctx)
		return 0, err
	}}
}

// options of an activity or a step.
func options(n *node) activity.Options {
	o := activity.Options{ID: n.ID, OnCancel: activity.Cancellation(n.Mode), ScheduleToClose: n.Whole, ScheduleToStart: n.ToStart}
	if n.Hangs || n.Later > 0 {
		o.StartToClose = n.D
	}
	if n.Beats > 0 {
		o.Heartbeat = 30 * time.Second
	}
	return o
}

func (s onWorkflow[N]) branch(run func(surface) error) future {
	return valued(workflow.Go(s.ctx, func(ctx workflow.Context) (N, error) { return 0, run(onWorkflow[N]{ctx, s.step}) }))
}

func (s onWorkflow[N]) await(f future) (int, error) { return f.(realFuture[N]).await(s.ctx) }

func (s onWorkflow[N]) race(futures []future) (int, error) {
	all := make([]workflow.Awaitable, len(futures))
	for i, f := range futures {
		all[i] = f.(realFuture[N]).awaitable
	}
	return workflow.Race(s.ctx, all...)
}

func values[N ~int](futures []future) []workflow.Future[N] {
	all := make([]workflow.Future[N], len(futures))
	for i, f := range futures {
		all[i] = f.(realFuture[N]).value
	}
	return all
}

func (s onWorkflow[N]) all(futures []future) ([]int, error) {
	all, err := workflow.All(s.ctx, values[N](futures)...)
	plain := make([]int, len(all))
	for i, value := range all {
		plain[i] = int(value)
	}
	return plain, err
}

func (s onWorkflow[N]) any(futures []future) (int, int, error) {
	first, value, err := workflow.Any(s.ctx, values[N](futures)...)
	return first, int(value), err
}

func (s onWorkflow[N]) parallel(branches []func(surface) error) error {
	all := make([]func(workflow.Context) (struct{}, error), len(branches))
	for i, run := range branches {
		all[i] = func(ctx workflow.Context) (struct{}, error) { return struct{}{}, run(onWorkflow[N]{ctx, s.step}) }
	}
	_, err := workflow.Parallel(s.ctx, all...)
	return err
}

func (s onWorkflow[N]) condition(holds func() bool) error {
	return workflow.AwaitCondition(s.ctx, holds)
}

func (s onWorkflow[N]) onSignal(name string, handle func(surface, int) error) {
	workflow.HandleSignal(s.ctx, workflow.NewSignal[N](name), func(ctx workflow.Context, value N) error {
		return handle(onWorkflow[N]{ctx, s.step}, int(value))
	})
}

func (s onWorkflow[N]) onUpdate(name string, handle func(surface, int) (int, error), validate func(int) error) {
	if name != updateU.Name() {
		panic("no handler for update " + name)
	}
	workflow.HandleUpdate(s.ctx, updateU, func(ctx workflow.Context, value int) (int, error) {
		return handle(onWorkflow[N]{ctx, s.step}, value)
	}, validate)
}

func (s onWorkflow[N]) phase(d time.Duration, handle func(value, state int) (int, bool), leave func(surface) error) (int, error) {
	p := workflow.NewPhase(0).Within(d)
	workflow.OnSignal(p, workflow.NewSignal[N]("p"), func(_ workflow.Context, value N, state int) workflow.Next[int] {
		next, stop := handle(int(value), state)
		switch {
		case stop:
			return workflow.Finish(next)
		case leave != nil:
			return workflow.ContinueAsync(next, func(ctx workflow.Context) error { return leave(onWorkflow[N]{ctx, s.step}) })
		}
		return workflow.Continue(next)
	})
	return p.Run(s.ctx)
}

func (s onWorkflow[N]) within(d time.Duration) (surface, func()) {
	inner, cancel := workflow.WithTimeout(s.ctx, d)
	return onWorkflow[N]{inner, s.step}, cancel
}

func (s onWorkflow[N]) scope() (surface, func()) {
	inner, cancel := workflow.WithCancel(s.ctx)
	return onWorkflow[N]{inner, s.step}, cancel
}

func (s onWorkflow[N]) shield() surface        { return onWorkflow[N]{workflow.Shield(s.ctx), s.step} }
func (s onWorkflow[N]) patched(id string) bool { return workflow.Patched(s.ctx, id) }
func (s onWorkflow[N]) publish(state int)      { workflow.PublishState(s.ctx, state) }
func (s onWorkflow[N]) attribute(value int)    { workflow.SetAttributes(s.ctx, keyed.Is(value)) }
func (s onWorkflow[N]) now() time.Time         { return workflow.Now(s.ctx) }
func (s onWorkflow[N]) random() uint64         { return workflow.Random(s.ctx).Uint64() }
func (s onWorkflow[N]) yield()                 { workflow.Yield(s.ctx) }

// definition makes a workflow of a program. Each life of a run in memory is announced, with the code that it has.
func definition[N ~int](p *program, second bool, announce func(run string, generation int, c *code), step func(context.Context, errand) (int, error)) workflow.Definition {
	var self func(ctx workflow.Context, input int) (int, error)
	self = func(ctx workflow.Context, input int) (int, error) {
		c := &code{program: p, second: second}
		info := workflow.InfoOf(ctx)
		announce(info.RunID, info.Generation, c)
		result, err := c.main(onWorkflow[N]{ctx, step}, input)
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
