package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/local/memory"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// ports is what both stores are.
type ports interface {
	engine.Runs
	engine.Directory
	engine.Due
	engine.Tasks
}

// TestSameAsMemory does the same random operations on this store and on the one in memory, and compares every answer. Few
// runs are hot, so that most are read from disk now and then; and it is closed and opened again.
func TestSameAsMemory(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := &double{random: rand.New(rand.NewPCG(seed, 1)), t: t, options: sqlite.Options{HotRuns: 3}, want: memory.New()}
	d.got = open(t, t.TempDir(), d.options)
	for range 4000 {
		d.step()
	}
	d.reopen()
	d.compareAll()
}

// double drives two stores.
type double struct {
	t       *testing.T
	random  *rand.Rand
	options sqlite.Options
	want    *memory.Store
	got     *sqlite.Store
}

// both does one thing to both stores, and compares what they answer.
func (d *double) both(name string, do func(p ports) (string, error)) {
	d.t.Helper()
	want, wantErr := do(d.want)
	got, gotErr := do(d.got)
	require.Equal(d.t, kind(wantErr), kind(gotErr), "%s: %v, %v", name, wantErr, gotErr)
	require.Equal(d.t, want, got, name)
}

func kind(err error) error {
	for _, known := range []error{engine.ErrTaken, engine.ErrNoRun, engine.ErrUnavailable} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

func (d *double) run() string       { return fmt.Sprint("r", d.random.IntN(12)) }
func (d *double) chance(n int) bool { return d.random.IntN(n) == 0 }
func (d *double) time() time.Time   { return began.Add(time.Duration(d.random.IntN(200)) * time.Second) }

func (d *double) step() {
	d.t.Helper()
	run := d.run()
	switch d.random.IntN(20) {
	case 0:
		d.create(run)
	case 1, 2, 3:
		d.file(run)
	case 4, 5:
		keys := []string{d.item().Key, d.item().Key, "start#1"}[:d.random.IntN(4)]
		d.both("delete", func(p ports) (string, error) { return "", p.Delete(d.t.Context(), run, keys) })
	case 6, 7, 8, 9:
		d.put(run)
	case 10:
		var block *engine.Block
		if !d.chance(3) {
			block = &engine.Block{Since: d.time(), Reason: engine.ReasonStuck}
		}
		d.both("block", func(p ports) (string, error) { return "", p.Block(d.t.Context(), run, block) })
	case 11, 12, 13:
		d.look(run, engine.Position{Generation: d.random.IntN(4), Record: d.random.IntN(6)})
	case 14:
		generation, after := d.random.IntN(5), d.random.IntN(4)
		d.both("records", func(p ports) (string, error) {
			records, err := p.Records(d.t.Context(), run, generation, after)
			return showLog(records), err
		})
	case 15:
		d.list()
	case 16:
		d.due()
	case 17, 18:
		d.task(run)
	case 19:
		if d.chance(20) {
			d.reopen()
		}
		d.unfinished()
	}
}

func (d *double) create(run string) {
	summary, start := newRun(run)
	summary.Started = d.time()
	summary.Workflow = fmt.Sprint("w", d.random.IntN(3))
	if d.chance(2) {
		summary.Attributes = history.Attributes{"n": history.Payload(fmt.Sprint(d.random.IntN(3)))}
	}
	start.Durable = !d.chance(4)
	d.both("create", func(p ports) (string, error) { return "", p.Create(d.t.Context(), summary, start) })
}

func (d *double) item() engine.Item {
	item := volatile(int64(d.random.IntN(5)))
	item.Durable = d.chance(2)
	return item
}

func (d *double) file(run string) {
	item := d.item()
	d.both("file", func(p ports) (string, error) {
		there, err := p.File(d.t.Context(), run, item)
		return fmt.Sprint(there), err
	})
}

// put puts a record next to the end of the log, mostly, and sometimes with a summary, or a new generation.
func (d *double) put(run string) {
	view, err := d.want.Look(d.t.Context(), run, engine.Position{})
	if err != nil {
		_, start := newRun(run)
		d.both("put", func(p ports) (string, error) {
			return "", p.Put(d.t.Context(), &engine.Commit{Run: run, Generation: 1, Record: newRecord(1), Next: &start})
		})
		return
	}
	commit := &engine.Commit{Run: run, Generation: view.Summary.Generation}
	if d.chance(6) {
		commit.Generation = max(1, commit.Generation-1)
	}
	log, err := d.want.Records(d.t.Context(), run, commit.Generation, 0)
	require.NoError(d.t, err)
	if !d.chance(10) {
		commit.Record = newRecord(max(1, len(log)+1-d.random.IntN(5)/3))
	}
	if commit.Record == nil || d.chance(3) {
		commit.Summary = view.Summary
		commit.Summary.State = history.Payload(fmt.Sprint(d.random.IntN(100)))
		switch d.random.IntN(4) {
		case 0:
			commit.Summary.Status, commit.Summary.Closed = history.Completed, d.time()
		case 1:
			commit.Summary.Status, commit.Summary.Closed = history.Running, time.Time{}
		case 2:
			commit.Summary.Generation = commit.Generation + 1
			commit.Summary.Started = d.time()
			start := history.Started{Generation: commit.Summary.Generation, Workflow: commit.Summary.Workflow}
			commit.Next = &engine.Item{Key: start.Key(commit.Summary.Generation), Event: &start, Durable: !d.chance(4)}
		}
	}
	d.both("put", func(p ports) (string, error) { return "", p.Put(d.t.Context(), commit) })
}

func (d *double) look(run string, known engine.Position) {
	d.t.Helper()
	d.both("look", func(p ports) (string, error) {
		view, err := p.Look(d.t.Context(), run, known)
		if err != nil {
			return "", err
		}
		var items []string
		for _, item := range view.Inbox {
			items = append(items, fmt.Sprint(item.Key, item.Stamp, item.Durable, string(history.EncodeEvent(item.Event))))
		}
		slices.Sort(items)
		return show(view.Summary) + strings.Join(items, "\n") + showLog(view.Records) + fmt.Sprint(view.More), nil
	})
}

func (d *double) list() {
	d.t.Helper()
	query := engine.ListQuery{Limit: d.random.IntN(5), Blocked: d.chance(4)}
	if d.chance(3) {
		query.Status = []history.Status{history.Running, history.Completed}[d.random.IntN(2)]
	}
	if d.chance(3) {
		query.Workflow = fmt.Sprint("w", d.random.IntN(3))
	}
	if d.chance(3) {
		query.Attributes = history.Attributes{"n": history.Payload(fmt.Sprint(d.random.IntN(3)))}
	}
	d.both("list", func(p ports) (all string, err error) {
		for query := query; ; {
			page, next, err := p.List(d.t.Context(), query)
			if err != nil || next == "" {
				return all + show(page), err
			}
			all, query.Cursor = all+show(page), next
		}
	})
}

func (d *double) unfinished() {
	d.t.Helper()
	d.both("unfinished", func(p ports) (string, error) {
		var all []string
		for cursor := ""; ; {
			runs, next, err := p.Unfinished(d.t.Context(), cursor)
			if all = append(all, runs...); err != nil || next == "" {
				slices.Sort(all)
				return strings.Join(all, " "), err
			}
			cursor = next
		}
	})
}

func (d *double) due() {
	d.t.Helper()
	timer := engine.DueTimer{At: d.time(), Run: d.run(), Generation: 1, Seq: int64(d.random.IntN(2))}
	if d.chance(2) {
		d.both("put due", func(p ports) (string, error) { return "", p.PutDue(d.t.Context(), timer) })
		return
	}
	before, gone := d.time(), d.random.IntN(3)
	d.both("due", func(p ports) (string, error) {
		timers, err := p.DueBefore(d.t.Context(), before)
		if err == nil {
			err = p.DeleteDue(d.t.Context(), timers[:min(gone, len(timers))])
		}
		return show(timers), err
	})
}

func (d *double) task(run string) {
	d.t.Helper()
	key := engine.TaskKey{Run: run, Generation: 1 + d.random.IntN(2), Seq: int64(d.random.IntN(3))}
	switch d.random.IntN(4) {
	case 0:
		state := &engine.TaskState{TaskKey: key, Attempt: d.random.IntN(9), Pending: d.chance(4), Beat: d.time()}
		d.both("save", func(p ports) (string, error) { return "", p.SaveTask(d.t.Context(), state) })
	case 1:
		d.both("delete task", func(p ports) (string, error) { return "", p.DeleteTask(d.t.Context(), key) })
	case 2:
		d.both("load", func(p ports) (string, error) {
			state, err := p.LoadTask(d.t.Context(), key)
			return show(state), err
		})
	case 3:
		d.both("tasks", func(p ports) (string, error) {
			states, err := p.TasksOf(d.t.Context(), run)
			return show(states), err
		})
	}
}

// reopen closes and opens the store on disk. What is in memory only goes with it: it is deleted on both sides first.
func (d *double) reopen() {
	d.t.Helper()
	for i := range 12 {
		run := fmt.Sprint("r", i)
		view, err := d.want.Look(d.t.Context(), run, engine.Position{})
		if err != nil {
			continue
		}
		var keys []string
		for _, item := range view.Inbox {
			if !item.Durable {
				keys = append(keys, item.Key)
			}
		}
		d.both("delete", func(p ports) (string, error) { return "", p.Delete(d.t.Context(), run, keys) })
	}
	require.NoError(d.t, d.got.Close())
	d.got = open(d.t, d.got.Path(), d.options)
}

func (d *double) compareAll() {
	d.t.Helper()
	for i := range 12 {
		d.look(fmt.Sprint("r", i), engine.Position{})
	}
	d.list()
	d.unfinished()
}

func showLog(records []*history.Record) string {
	var text []byte
	for _, rec := range records {
		text = history.AppendRecord(text, rec)
	}
	return string(text)
}

func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
