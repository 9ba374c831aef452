package engine_test

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// calls is what one process sees of the world.
type calls struct {
	w *world
	p *process
}

func (p *calls) call(ctx context.Context, op, subject, detail string, do func() error) error {
	return p.w.call(ctx, p.p, op, subject, detail, do)
}

// got makes a call that gives something.
func got[T any](ctx context.Context, p *calls, op, subject, detail string, do func() (T, error)) (value T, err error) {
	err = p.call(ctx, op, subject, detail, func() (err error) {
		value, err = do()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

func (p *calls) Look(ctx context.Context, run string, known port.Position) (*port.View, error) {
	return got(ctx, p, "look", run, "", func() (*port.View, error) {
		view, err := p.w.look(ctx, run, known)
		if view != nil {
			p.w.reads(view.Records)
		}
		return view, err
	})
}

// reads counts records that were read.
func (w *world) reads(records []*history.Record) { w.locked(func() { w.read += len(records) }) }

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
func (p *calls) Size(ctx context.Context, run string) (size int64, err error) {
	view, err := p.w.store.Look(ctx, run, port.Position{})
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

func (p *calls) SizeOfSummary(context.Context, string) (int64, error) { return 0, nil }

func (p *calls) SizeOfNewest(ctx context.Context, run string) (int64, error) { return p.Size(ctx, run) }

func (p *calls) SizeOfRecords(context.Context, string, int, int) (int64, error) { return 0, nil }

func (p *calls) Records(ctx context.Context, run string, generation, after int) ([]*history.Record, error) {
	return got(ctx, p, "records", run, "", func() ([]*history.Record, error) {
		page, err := p.w.store.Records(ctx, run, generation, after)
		p.w.reads(page)
		return page, err
	})
}

func (p *calls) RecordsBefore(ctx context.Context, run string, generation, before int) ([]*history.Record, error) {
	return got(ctx, p, "records", run, "", func() ([]*history.Record, error) {
		page, err := p.w.store.RecordsBefore(ctx, run, generation, before)
		p.w.reads(page)
		return page, err
	})
}

func (p *calls) Summary(ctx context.Context, run string) (*port.Summary, error) {
	return got(ctx, p, "summary", run, "", func() (*port.Summary, error) { return p.w.store.Summary(ctx, run) })
}

func (p *calls) Create(ctx context.Context, summary *port.Summary, start port.Item) error {
	return p.call(ctx, "create", summary.Run, "", func() error { return p.w.store.Create(ctx, summary, start) })
}

func (p *calls) File(ctx context.Context, run string, item port.Item) (stamp int64, there bool, err error) {
	err = p.call(ctx, "file", run, item.Key, func() (err error) {
		stamp, there, err = p.w.store.File(ctx, run, item)
		return err
	})
	return stamp, there, err
}

func (p *calls) Put(ctx context.Context, commit *port.Commit) error {
	number := 0
	if commit.Record != nil {
		number = commit.Record.Number
	}
	return p.call(ctx, "put", commit.Run, fmt.Sprintf("log#%d#%d", commit.Generation, number), func() error { return p.w.store.Put(ctx, commit) })
}

func (p *calls) DeleteLog(ctx context.Context, run string, generation int) error {
	return p.call(ctx, "delete-log", run, fmt.Sprint(generation), func() error { return p.w.store.DeleteLog(ctx, run, generation) })
}

func (p *calls) Delete(ctx context.Context, run string, keys []string) error {
	return p.call(ctx, "delete", run, fmt.Sprint(keys), func() error { return p.w.store.Delete(ctx, run, keys) })
}

func (p *calls) Note(ctx context.Context, run string, notes []port.Note) error {
	return p.call(ctx, "note", run, fmt.Sprint(notes), func() error { return p.w.store.Note(ctx, run, notes) })
}

func (p *calls) Noted(ctx context.Context, run, key string) (port.Position, error) {
	return got(ctx, p, "noted", run, key, func() (port.Position, error) { return p.w.store.Noted(ctx, run, key) })
}

func (p *calls) Item(ctx context.Context, run, key string) (*port.Item, error) {
	return got(ctx, p, "item", run, key, func() (*port.Item, error) { return p.w.store.Item(ctx, run, key) })
}

func (p *calls) Record(ctx context.Context, run string, at port.Position) (*history.Record, error) {
	return got(ctx, p, "record", run, fmt.Sprint(at), func() (*history.Record, error) { return p.w.store.Record(ctx, run, at) })
}

func (p *calls) Discard(ctx context.Context, run string, generation int, keys []string) error {
	return p.call(ctx, "discard", run, fmt.Sprint(keys), func() error { return p.w.store.Discard(ctx, run, generation, keys) })
}

func (p *calls) Block(ctx context.Context, run string, block *port.Block) error {
	return p.call(ctx, "block", run, "", func() error { return p.w.store.Block(ctx, run, block) })
}

func (p *calls) Unblock(ctx context.Context, run, mark string) error {
	return p.call(ctx, "unblock", run, "", func() error { return p.w.store.Unblock(ctx, run, mark) })
}

func (p *calls) List(ctx context.Context, query port.ListQuery) (page []*port.Summary, next string, err error) {
	err = p.call(ctx, "list", "", "", func() (err error) {
		page, next, err = p.w.store.List(ctx, query)
		return err
	})
	return page, next, err
}

func (p *calls) Unfinished(ctx context.Context, cursor string) (runs []string, next string, err error) {
	err = p.call(ctx, "unfinished", "", "", func() (err error) {
		runs, next, err = p.w.store.Unfinished(ctx, cursor)
		return err
	})
	return runs, next, err
}

func (p *calls) PutDue(ctx context.Context, timers ...port.DueTimer) error {
	for _, timer := range timers {
		if left := timer.At.Sub(p.p.clock.Now()); left <= 15*time.Minute {
			p.w.locked(func() { p.w.violation("a timer that is due in %s goes into a bucket", left) })
		}
	}
	return p.call(ctx, "put-due", timers[0].Run, "", func() error { return p.w.store.PutDue(ctx, timers...) })
}

func (p *calls) DueBefore(ctx context.Context, before time.Time) ([]port.DueTimer, error) {
	return got(ctx, p, "due-before", "", "", func() ([]port.DueTimer, error) { return p.w.store.DueBefore(ctx, before) })
}

func (p *calls) DeleteDue(ctx context.Context, timers []port.DueTimer) error {
	return p.call(ctx, "delete-due", timers[0].Run, "", func() error { return p.w.store.DeleteDue(ctx, timers) })
}

func (p *calls) SaveTask(ctx context.Context, state *port.TaskState) error {
	return p.call(ctx, "save-task", state.Run, "", func() error { return p.w.store.SaveTask(ctx, state) })
}

func (p *calls) CancelTask(ctx context.Context, key port.TaskKey) error {
	return p.call(ctx, "cancel-task", key.Run, "", func() error { return p.w.store.CancelTask(ctx, key) })
}

func (p *calls) LoadTask(ctx context.Context, key port.TaskKey) (*port.TaskState, error) {
	return got(ctx, p, "load-task", key.Run, "", func() (*port.TaskState, error) { return p.w.store.LoadTask(ctx, key) })
}

func (p *calls) TasksOf(ctx context.Context, run string) ([]*port.TaskState, error) {
	return got(ctx, p, "tasks-of", run, "", func() ([]*port.TaskState, error) { return p.w.store.TasksOf(ctx, run) })
}

func (p *calls) DeleteTask(ctx context.Context, key port.TaskKey) error {
	return p.call(ctx, "delete-task", key.Run, "", func() error { return p.w.store.DeleteTask(ctx, key) })
}

func (p *calls) SendResumes(ctx context.Context, messages ...port.Resume) error {
	return p.call(ctx, "send-resumes", messages[0].Run, "", func() error {
		for _, m := range messages {
			p.w.post(&letter{resume: &m, ready: time.Now().Add(m.Delay)})
		}
		return nil
	})
}

func (p *calls) SendTasks(ctx context.Context, messages ...port.Task) error {
	return p.call(ctx, "send-tasks", messages[0].Run, "", func() error {
		for _, m := range messages {
			p.w.locked(func() { p.w.longest = max(p.w.longest, m.Delay) })
			p.w.post(&letter{task: &m, ready: time.Now().Add(m.Delay)})
		}
		return nil
	})
}
