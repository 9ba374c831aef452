package workflowtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/reprise-run/reprise/core/history"
)

// child is what a run has started: another run, or a mock of one.
type child struct {
	seq    int64
	policy history.ParentClosePolicy
	run    *run
	mock   *work
	// cancelled: the mock was asked to stop.
	cancelled bool
}

// startChild starts another run, or its mock.
func (r *run) startChild(command *history.StartChild) {
	env, generation := r.env, r.generation
	id := command.Run
	if id == "" {
		id = fmt.Sprintf("%s.%d.%d", r.id, generation, command.Seq())
	}
	if mock := env.mocks.children[command.Workflow]; mock != nil {
		c := &child{seq: command.Seq(), policy: command.ParentClosePolicy, mock: env.perform(nil, mock, command.Input)}
		c.mock.done = func() { r.resolve(generation, mocked(c)) }
		r.children = append(r.children, c)
		env.after(0, nil, c.mock.resume)
		return
	}
	if other := env.runs[id]; other != nil {
		r.resolve(generation, &history.ChildResolved{Seq: command.Seq(), Failure: &history.Failure{FailureKind: history.Application,
			Type: "run-id-in-use", NonRetryable: true,
			Message: fmt.Sprintf("a run with the id %q exists (workflow %s): give the child another id, or none", id, other.workflow)}})
		return
	}
	by := &parent{run: r, generation: generation, seq: command.Seq()}
	seed := rand.NewPCG(r.live.Started().Seed, uint64(command.Seq())).Uint64()
	started := history.NewStarted(1, command.Workflow, command.Input, seed)
	started.Attributes = command.Attributes
	started.Parent = &history.Parent{Run: r.id, Generation: generation, Seq: command.Seq()}
	r.children = append(r.children, &child{seq: command.Seq(), policy: command.ParentClosePolicy, run: env.begin(id, command.Workflow, started, by)})
}

// mocked is how a mocked child ended.
func mocked(c *child) *history.ChildResolved {
	end := &history.ChildResolved{Seq: c.seq, Result: c.mock.result}
	if c.mock.err != nil {
		end.Result, end.Failure = nil, history.FailureOf(c.mock.err)
		if c.cancelled && errors.Is(c.mock.err, context.Canceled) {
			end.Failure = history.CancelFailure("")
		}
	}
	return end
}

func (r *run) cancelChild(seq int64) {
	for _, c := range r.children {
		if c.seq == seq {
			c.cancel("its parent cancelled it")
		}
	}
}

func (c *child) cancel(reason string) {
	switch {
	case c.mock != nil:
		c.cancelled = true
		c.mock.cancel()
	case c.run.closed == nil:
		c.run.inbox = append(c.run.inbox, history.NewCancel(c.run.env.newID("cancel"), reason))
	}
}

// parentClosed does with an open child what its options say.
func (c *child) parentClosed() {
	switch c.policy {
	case history.AbandonChildren:
	case history.TerminateChildren:
		if c.mock != nil {
			c.mock.cancel()
		} else if c.run.closed == nil {
			c.run.inbox = append(c.run.inbox, history.NewTerminate(c.run.env.newID("terminate"), "its parent closed"))
		}
	case history.CancelChildren:
		c.cancel("its parent closed")
	}
}
