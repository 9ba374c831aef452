//go:build dynamodb

package dynamo_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/infra/aws/dynamo"
	"github.com/reprise-run/reprise/infra/local/memory"
)

const (
	oracleSteps = 700
	oracleRuns  = 8
)

// TestSameAsMemory does the same random operations on this store and on the one in memory, and compares every answer; with a
// DynamoDB that does what it is told, and with one that fails before or after it has done so, and does half of a batch.
func TestSameAsMemory(t *testing.T) {
	for name, faults := range map[string]bool{"sound": false, "with faults": true} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			d := &double{random: rand.New(rand.NewPCG(seed, 1)), t: t, faults: faults, want: memory.New()}
			w := &wire{Client: client}
			if faults {
				f := &faulty{random: rand.New(rand.NewPCG(seed, 2))}
				w.around, w.halve = f.around, f.chance
			}
			d.got, d.config = open(t, dynamo.Config{Client: w})
			d.prepare()
			for range oracleSteps {
				d.step()
			}
			d.reopen()
			d.compareAll()
		})
	}
}

// faulty fails one write in eight: before it is done, after it was done, or by a reason that passes. Of queries, a page of a
// listing needs dozens: it fails fewer.
type faulty struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (f *faulty) draw(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

func (f *faulty) chance() bool { return f.draw(4) == 0 }

func (f *faulty) around(operation string, do func() error) error {
	share := 24
	if operation == "Query" {
		share = 300
	}
	switch f.draw(share) {
	case 0:
		return &types.ProvisionedThroughputExceededException{Message: aws.String("too much")}
	case 1:
		if operation == "TransactWriteItems" {
			return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("None")}, {Code: aws.String("TransactionConflict")}}}
		}
		return &types.TransactionConflictException{}
	case 2:
		if err := do(); err != nil {
			return err
		}
		return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: operation, Err: errors.New("connection reset by peer")}
	}
	return do()
}

// double drives two stores.
type double struct {
	t      *testing.T
	random *rand.Rand
	faults bool
	want   *memory.Store
	got    *dynamo.Store
	config dynamo.Config
	hours  int
	starts int
}

func (d *double) prepare() {
	d.got.Hurry()
	// Each reading of the clock is an hour later: what an interrupted deletion left can be taken over at once.
	var mu sync.Mutex
	d.got.At(func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		d.hours++
		return began.AddDate(1, 0, 0).Add(time.Duration(d.hours) * time.Hour)
	})
}

// both does one thing to both stores, and compares what they answer. What failed for a passing reason is done again. Then a
// write may meet what it has itself written before its answer was lost: if the other store disagrees with what there is, the
// next look will tell.
func (d *double) both(name string, do func(p ports) (string, error)) {
	d.t.Helper()
	got, gotErr := do(d.got)
	again := false
	for errors.Is(gotErr, engine.ErrUnavailable) {
		require.True(d.t, d.faults, "%s: %v", name, gotErr)
		again = true
		got, gotErr = do(d.got)
	}
	want, wantErr := do(d.want)
	if again {
		if wantErr == nil && errors.Is(gotErr, engine.ErrTaken) {
			gotErr = nil
		}
		if name == "file" && want == "false" || name == "delete closed" {
			got = want
		}
	}
	require.Equal(d.t, kind(wantErr), kind(gotErr), "%s: %v, %v", name, wantErr, gotErr)
	require.Equal(d.t, brief(want), brief(got), name)
}

// brief is a long answer's beginning and hash: megabytes make no message.
func brief(answer string) string {
	if len(answer) < 10_000 {
		return answer
	}
	return fmt.Sprintf("%s… %x", answer[:2000], sha256.Sum256([]byte(answer)))
}

func kind(err error) error {
	for _, known := range []error{engine.ErrTaken, engine.ErrNoRun, engine.ErrUnavailable} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

func (d *double) run() string       { return fmt.Sprint("r", d.random.IntN(oracleRuns)) }
func (d *double) chance(n int) bool { return d.random.IntN(n) == 0 }
func (d *double) time() time.Time   { return began.Add(time.Duration(d.random.IntN(200)) * time.Second) }

// started is a time that no other run has: among those that start at one time, the stores need not agree on an order.
func (d *double) started() time.Time {
	d.starts++
	return d.time().Add(time.Duration(d.starts) * time.Nanosecond)
}

// there says whether there is a run: this store does not find out before it files.
func (d *double) there(run string) bool {
	_, err := d.want.Summary(d.t.Context(), run)
	return err == nil
}

func (d *double) step() {
	d.t.Helper()
	run := d.run()
	switch d.random.IntN(21) {
	case 0, 1:
		d.create(run)
	case 2, 3, 4:
		d.file(run)
	case 5, 6:
		keys := []string{d.item().Key, d.item().Key, "start#1"}[:d.random.IntN(4)]
		d.both("delete", func(p ports) (string, error) { return "", p.Delete(d.t.Context(), run, keys) })
	case 7, 8, 9, 10:
		d.put(run)
	case 11:
		var block *engine.Block
		if !d.chance(3) {
			block = &engine.Block{Since: d.time(), Reason: engine.ReasonStuck}
		}
		d.both("block", func(p ports) (string, error) { return "", p.Block(d.t.Context(), run, block) })
	case 12, 13, 14:
		d.look(run, engine.Position{Generation: d.random.IntN(4), Record: d.random.IntN(6)})
	case 15:
		generation, after := d.random.IntN(5), d.random.IntN(4)
		d.both("records", func(p ports) (string, error) {
			log, err := d.rest(p, run, generation, after)
			return showLog(log), err
		})
	case 16:
		d.list()
	case 17:
		d.due()
	case 18, 19:
		d.task(run)
	case 20:
		d.seldom()
	}
}

func (d *double) seldom() {
	d.t.Helper()
	switch d.random.IntN(4) {
	case 0:
		d.reopen()
	case 1:
		before := d.time()
		d.both("delete closed", func(p ports) (string, error) {
			n, err := p.DeleteClosed(d.t.Context(), before, 1000)
			return fmt.Sprint(n), err
		})
		d.compareAll()
	default:
		d.unfinished()
	}
}

// payload is short, mostly.
func (d *double) payload() history.Payload {
	if d.chance(12) {
		return random(40_000 + d.random.IntN(3))
	}
	return history.Payload(fmt.Sprintf(`"<%d>"`, d.random.IntN(100)))
}

func (d *double) create(run string) {
	summary, start := newRun(run)
	summary.Started, summary.Input = d.started(), d.payload()
	summary.Workflow = fmt.Sprint("w", d.random.IntN(3))
	if d.chance(2) {
		summary.Attributes = history.Attributes{"n": history.Payload(fmt.Sprint(d.random.IntN(3)))}
	}
	start.Durable = !d.chance(4)
	d.both("create", func(p ports) (string, error) { return "", p.Create(d.t.Context(), summary, start) })
}

func (d *double) item() engine.Item {
	item := newResult(int64(d.random.IntN(5)), d.payload())
	item.Durable = d.chance(2)
	return item
}

func (d *double) file(run string) {
	if !d.there(run) {
		return
	}
	item := d.item()
	d.both("file", func(p ports) (string, error) {
		there, err := p.File(d.t.Context(), run, item)
		return fmt.Sprint(there), err
	})
}

// record is short, mostly; but it may be over what an item holds, though each of its payloads is not.
func (d *double) record(number int) *history.Record {
	rec := newRecord(number, d.payload())
	if d.chance(15) {
		for i := range 20 {
			rec.Events = append(rec.Events, &history.ActivityResolved{Seq: int64(i), Result: random(30_000 + i), Number: 1})
		}
	}
	return rec
}

// put puts a record next to the end of the log, mostly, and sometimes with a summary, or a new generation.
func (d *double) put(run string) {
	view, err := d.want.Look(d.t.Context(), run, engine.Position{})
	if err != nil {
		summary, start := newRun(run)
		d.both("put", func(p ports) (string, error) {
			return "", p.Put(d.t.Context(), &engine.Commit{Run: run, Generation: 1, Record: newRecord(1, nil), Summary: summary, Next: &start})
		})
		return
	}
	commit := &engine.Commit{Run: run, Generation: view.Summary.Generation}
	if d.chance(6) {
		commit.Generation = max(1, commit.Generation-1)
	}
	log, err := d.rest(d.want, run, commit.Generation, 0)
	require.NoError(d.t, err)
	last := 0
	if len(log) > 0 {
		last = log[len(log)-1].Number
	}
	if !d.chance(10) {
		commit.Record = d.record(max(1, last+1-d.random.IntN(5)/3))
	}
	if commit.Record == nil || d.chance(3) {
		d.summary(commit, view.Summary)
	}
	d.both("put", func(p ports) (string, error) { return "", p.Put(d.t.Context(), commit) })
}

func (d *double) summary(commit *engine.Commit, summary *engine.Summary) {
	commit.Summary = summary
	summary.State = d.payload()
	commit.Unblocks = d.chance(4)
	switch d.random.IntN(4) {
	case 0:
		summary.Status, summary.Closed = history.Completed, summary.Started.Truncate(time.Second).Add(time.Duration(1+d.random.IntN(60))*time.Second)
	case 1:
		summary.Status, summary.Closed = history.Running, time.Time{}
	case 2:
		summary.Generation, summary.Started = commit.Generation+1, d.started()
		summary.Status, summary.Closed = history.Running, time.Time{}
		start := newStart(summary)
		start.Durable = !d.chance(4)
		commit.Next = &start
	}
}

// look compares logs to their end: the stores differ in how much one page holds.
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
		log := view.Records
		if view.More {
			rest, err := d.rest(p, run, view.Summary.Generation, log[len(log)-1].Number)
			if err != nil {
				return "", err
			}
			log = append(log, rest...)
		}
		return show(view.Summary) + strings.Join(items, "\n") + showLog(log), nil
	})
}

// rest reads a log to its end.
func (d *double) rest(p ports, run string, generation, after int) (log []*history.Record, err error) {
	for {
		page, err := p.Records(d.t.Context(), run, generation, after)
		if err != nil || len(page) == 0 {
			return log, err
		}
		log, after = append(log, page...), page[len(page)-1].Number
	}
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
	var all []*engine.Summary // of the store in hand; a page that fails is asked for again
	d.both("list", func(p ports) (string, error) {
		all = nil
		for query := query; ; {
			page, next, err := p.List(d.t.Context(), query)
			if errors.Is(err, engine.ErrUnavailable) && d.faults {
				continue
			}
			if all = append(all, page...); err != nil || next == "" {
				return show(all), err
			}
			query.Cursor = next
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
	before := d.time()
	var timers []engine.DueTimer
	d.both("due", func(p ports) (_ string, err error) {
		timers, err = p.DueBefore(d.t.Context(), before)
		return show(timers), err
	})
	timers = timers[:min(d.random.IntN(3), len(timers))]
	d.both("delete due", func(p ports) (string, error) { return "", p.DeleteDue(d.t.Context(), timers) })
}

func (d *double) task(run string) {
	d.t.Helper()
	key := engine.TaskKey{Run: run, Generation: 1 + d.random.IntN(2), Seq: int64(d.random.IntN(3))}
	switch d.random.IntN(4) {
	case 0:
		if d.there(run) {
			state := &engine.TaskState{TaskKey: key, Attempt: d.random.IntN(9), Pending: d.chance(4), Beat: d.time(), Details: d.payload()}
			d.both("save", func(p ports) (string, error) { return "", p.SaveTask(d.t.Context(), state) })
		}
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

// reopen goes on with the table, and without what this process remembers.
func (d *double) reopen() {
	d.t.Helper()
	d.got = dynamo.New(d.config)
	d.prepare()
}

func (d *double) compareAll() {
	d.t.Helper()
	for i := range oracleRuns {
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
