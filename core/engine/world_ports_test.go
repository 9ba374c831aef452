package engine_test

import (
	"context"
	"math"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
)

// ports are what one process sees of the world.
func (w *world) ports(p *process) port.Ports {
	seen := &sight{w.store, w, p}
	return port.Ports{Runs: seen, Directory: seen, Due: seen, Tasks: seen, Queue: seen,
		Catalog: seen, Workers: seen, Clock: &p.clock, Authors: p,
		NewID:    w.newID,
		Together: w.together}.Intercept(func(ctx context.Context, call port.Call, do func() error) error {
		if call.Operation == port.OpSize { // it is no call that could fail
			return do()
		}
		return w.call(ctx, p, call, do)
	})
}

// sight is the store as one process sees it, where this differs from what is there.
type sight struct {
	*memory.Store
	w *world
	p *process
}

func (s *sight) Look(ctx context.Context, run string, known port.Position) (*port.View, error) {
	view, err := s.w.look(ctx, run, known)
	if view != nil {
		s.w.reads(view.Records)
	}
	return view, err
}

// reads counts records that were read.
func (w *world) reads(records []*history.Record) { w.locked(func() { w.read += len(records) }) }

func (s *sight) Records(
	ctx context.Context, run string, generation, after int,
) ([]*history.Record, error) {
	page, err := s.Store.Records(ctx, run, generation, after)
	s.w.reads(page)
	return page, err
}

func (s *sight) RecordsBefore(
	ctx context.Context, run string, generation, before int,
) ([]*history.Record, error) {
	page, err := s.Store.RecordsBefore(ctx, run, generation, before)
	s.w.reads(page)
	return page, err
}

// tear has the next look wait between the summary and the rest, so that others can write: DynamoDB's queries see each item as
// it is when they come to it.
func (w *world) tear() (release func()) {
	gate := make(chan struct{})
	w.locked(func() { w.torn = gate })
	return func() { close(gate) }
}

// tearLog has the next look wait between the inbox and the log.
func (w *world) tearLog() (release func()) {
	w.locked(func() { w.tornLate = true })
	return w.tear()
}

func (w *world) look(ctx context.Context, run string, known port.Position) (*port.View, error) {
	var gate chan struct{}
	var late bool
	w.locked(func() { gate, w.torn, late, w.tornLate = w.torn, nil, w.tornLate, false })
	before, err := w.store.Look(ctx, run, known)
	if err != nil || gate == nil {
		return before, err
	}
	select {
	case <-gate:
	case <-ctx.Done():
	}
	view, err := w.store.Look(ctx, run, port.Position{})
	if err != nil {
		return nil, err
	}
	summary := before.Summary
	if known != port.Newest && known.Generation != summary.Generation {
		known.Record = 0
	}
	if view.Summary = summary; late {
		view.Inbox = before.Inbox
	}
	if known == port.Newest {
		view.Records, err = w.store.RecordsBefore(ctx, run, summary.Generation, math.MaxInt)
		return view, err
	}
	view.Records, err = w.store.Records(ctx, run, summary.Generation, known.Record)
	return view, err
}

// Size knows what a run has without a call that could fail.
func (s *sight) Size(ctx context.Context, run string) (size int64, err error) {
	view, err := s.Store.Look(ctx, run, port.Position{})
	if err != nil {
		return 0, err
	}
	size = int64(view.Summary.Bytes())
	for _, item := range view.Inbox {
		size += int64(history.EventBytes(item.Event))
	}
	for _, rec := range view.Records {
		size += int64(rec.Bytes())
	}
	return size, nil
}

func (s *sight) SizeOfSummary(context.Context, string) (int64, error) { return 0, nil }

func (s *sight) SizeOfNewest(ctx context.Context, run string) (int64,
	error) {
	return s.Size(ctx, run)
}

func (s *sight) SizeOfRecords(context.Context, string, int, int) (int64, error) { return 0, nil }

func (s *sight) PutDue(ctx context.Context, timers ...port.DueTimer) error {
	for _, timer := range timers {
		if left := timer.At.Sub(s.p.clock.Now()); left <= 15*time.Minute {
			s.w.locked(func() {
				s.w.violation("a timer that is due in %s goes into a bucket", left)
			})
		}
	}
	return s.Store.PutDue(ctx, timers...)
}

func (s *sight) SendResumes(_ context.Context, messages ...port.Resume) error {
	for _, m := range messages {
		s.w.post(&letter{resume: &m, ready: time.Now().Add(m.Delay)})
	}
	return nil
}

func (s *sight) SendTasks(_ context.Context, messages ...port.Task) error {
	for _, m := range messages {
		s.w.locked(func() { s.w.longest = max(s.w.longest, m.Delay) })
		s.w.post(&letter{task: &m, ready: time.Now().Add(m.Delay)})
	}
	return nil
}
