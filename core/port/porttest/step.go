package porttest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// step does one operation.
func (d *double) step() {
	d.t.Helper()
	run := d.run()
	switch d.random.IntN(23) {
	case 0, 1:
		d.create(run)
	case 2, 3, 4:
		d.file(run)
	case 5, 6:
		d.delete(run, []string{d.item().Key, d.item().Key, "start#1"}[:d.random.IntN(4)])
	case 7, 8, 9, 10:
		d.put(run)
	case 11:
		mark := []string{"a", "b"}[d.random.IntN(2)]
		if d.chance(3) {
			d.both("unblock", func(s *Stores) (string, error) { return "", s.Runs.Unblock(d.t.Context(), run, mark) })
			return
		}
		block := &port.Block{ID: mark, Since: d.time(), Reason: port.ReasonStuck}
		d.both("block", func(s *Stores) (string, error) { return "", s.Runs.Block(d.t.Context(), run, block) })
	case 12, 13, 14:
		d.look(run, d.position(run))
	case 15:
		d.both("summary", func(s *Stores) (string, error) {
			summary, err := s.Runs.Summary(d.t.Context(), run)
			return jsonOf(d.t, summary), err
		})
	case 16:
		from := d.position(run)
		if d.chance(2) {
			d.both("records before", func(s *Stores) (string, error) {
				log, err := d.before(s, run, from.Generation, from.Record)
				return textOf(log), err
			})
			return
		}
		d.both("records", func(s *Stores) (string, error) {
			log, pages, err := d.rest(s, run, from.Generation, from.Record)
			return textOf(log) + fmt.Sprint(pages), err
		})
	case 17:
		d.list(d.query())
	case 18:
		d.due()
	case 19, 20:
		d.task(run)
	case 21:
		d.seldom()
	case 22:
		d.known(run)
	}
}

func (d *double) known(run string) {
	d.t.Helper()
	key := fmt.Sprint("mail#", d.random.IntN(3))
	at := port.Position{Generation: 1 + d.random.IntN(3), Record: 1 + d.random.IntN(4)}
	switch d.random.IntN(4) {
	case 0:
		d.both("note", func(s *Stores) (string, error) {
			if !d.there(run) {
				return "", nil
			}
			return "", s.Runs.Note(d.t.Context(), run, []port.Note{{Key: key, Taken: at}})
		})
	case 1:
		d.both("noted", func(s *Stores) (string, error) {
			noted, err := s.Runs.Noted(d.t.Context(), run, key)
			return fmt.Sprint(noted), err
		})
	case 2:
		key = d.item().Key
		d.both("item", func(s *Stores) (string, error) {
			item, err := s.Runs.Item(d.t.Context(), run, key)
			if item == nil {
				return "", err
			}
			return fmt.Sprint(item.Key, item.Stamp, string(history.EncodeEvent(item.Event))), err
		})
	default:
		d.both("record", func(s *Stores) (string, error) {
			rec, err := s.Runs.Record(d.t.Context(), run, at)
			if rec == nil {
				return "", err
			}
			return textOf([]*history.Record{rec}), err
		})
	}
}

func (d *double) seldom() {
	d.t.Helper()
	switch d.random.IntN(4) {
	case 0:
		d.reopen()
	case 1:
		d.deleteClosed()
		d.compareAll()
	default:
		d.unfinished()
	}
}

// deleteClosed asks for a whole second: a store may keep no more of when a run ended.
func (d *double) deleteClosed() {
	d.t.Helper()
	if d.want.DeleteClosed == nil || d.got.DeleteClosed == nil {
		return
	}
	before := d.time().Truncate(time.Second)
	d.both("delete closed", func(s *Stores) (string, error) {
		n, err := s.DeleteClosed(d.t.Context(), before, 1000)
		return fmt.Sprint(n), err
	})
}

// payload is short, mostly.
func (d *double) payload() history.Payload {
	if d.Large && d.chance(12) {
		return noise(40_000 + d.random.IntN(3))
	}
	return history.Payload(fmt.Sprintf(`"<%d>"`, d.random.IntN(100)))
}

// noise is a payload of about so many bytes that does not deflate: always the same one for a size.
func noise(size int) history.Payload {
	source := rand.New(rand.NewPCG(uint64(size), 1))
	data := make([]byte, size*3/4)
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return history.Payload(`"` + base64.StdEncoding.EncodeToString(data) + `"`)
}

func (d *double) create(run string) {
	d.t.Helper()
	summary, start := newSummary(run), startItem(1)
	summary.Started, summary.Input = d.started(), d.payload()
	summary.Workflow = fmt.Sprint("w", d.random.IntN(3))
	if d.chance(2) {
		summary.Attributes = d.attributes()
	}
	start.Durable = !d.chance(4)
	d.both("create", func(s *Stores) (string, error) { return "", s.Runs.Create(d.t.Context(), summary, start) })
}

func (d *double) attributes() history.Attributes {
	return history.Attributes{"n": history.Payload(fmt.Sprint(d.random.IntN(3)))}
}

// item is of one of six keys.
func (d *double) item() port.Item {
	seq := int64(d.random.IntN(3))
	item := fired(seq)
	if d.chance(2) {
		event := &history.ActivityResolved{Seq: seq, Result: d.payload(), Number: 1}
		history.File(event, "f-resolved")
		item.Key, item.Event = event.Key(1), event
	}
	item.Stamp, item.Durable = int64(d.random.IntN(5)), d.chance(2)
	return item
}

func (d *double) file(run string) {
	d.t.Helper()
	if !d.Refuses && !d.there(run) {
		return
	}
	item := d.item()
	d.both("file", func(s *Stores) (string, error) {
		stamp, there, err := s.Runs.File(d.t.Context(), run, item)
		return fmt.Sprint(stamp, there), err
	})
}

func (d *double) delete(run string, keys []string) {
	d.t.Helper()
	d.both("delete", func(s *Stores) (string, error) { return "", s.Runs.Delete(d.t.Context(), run, keys) })
}

// put puts a record next to the end of the log, mostly, and sometimes with a summary, or a new generation.
func (d *double) put(run string) {
	d.t.Helper()
	commit := &port.Commit{Run: run, Generation: 1, Record: record(1)}
	if d.there(run) {
		summary, err := d.want.Runs.Summary(d.t.Context(), run)
		require.NoError(d.t, err)
		commit = d.commit(summary)
	} else {
		start := startItem(1)
		if commit.Next = &start; !d.Refuses || d.chance(2) {
			commit.Summary = newSummary(run)
		}
	}
	d.both("put", func(s *Stores) (string, error) { return "", s.Runs.Put(d.t.Context(), commit) })
}

func (d *double) commit(summary *port.Summary) *port.Commit {
	d.t.Helper()
	commit := &port.Commit{Run: summary.Run, Generation: summary.Generation}
	if d.chance(6) {
		commit.Generation = max(1, commit.Generation-1)
	}
	log, _, err := d.rest(d.want, summary.Run, commit.Generation, 0)
	require.NoError(d.t, err)
	if !d.chance(10) {
		commit.Record = d.record(max(1, lastOf(log, 0)+1-d.random.IntN(5)/3))
	}
	if commit.Record == nil || d.chance(3) {
		d.change(commit, summary)
	}
	return commit
}

// record is short, mostly; but it may be longer than what a store holds in one piece, though none of its payloads is.
func (d *double) record(number int) *history.Record {
	rec := recordOf(number, d.payload())
	if d.chance(4) {
		rec.Checkpoint = checkpointWith(d.payload())
	}
	if d.Large && d.chance(15) {
		for i := range 20 {
			rec.Events = append(rec.Events, &history.ActivityResolved{Seq: int64(i), Result: noise(30_000 + i), Number: 1})
		}
	}
	return rec
}

// change adds a new summary to a commit, and maybe a new generation.
func (d *double) change(commit *port.Commit, summary *port.Summary) {
	commit.Summary = summary
	summary.State = d.payload()
	switch d.random.IntN(4) {
	case 0:
		d.end(summary)
	case 1:
		summary.Status, summary.Closed = history.Running, time.Time{}
	case 2:
		summary.Generation, summary.Started = commit.Generation+1, d.started()
		if summary.Status, summary.Closed = history.Running, (time.Time{}); d.chance(4) {
			d.end(summary)
		}
		start := startItem(summary.Generation)
		start.Durable = !d.chance(4)
		commit.Next = &start
	}
}

// end has a run end after it started: stores go by that to find it.
func (d *double) end(summary *port.Summary) {
	summary.Status = []history.Status{history.Completed, history.Failed}[d.random.IntN(2)]
	summary.Closed = summary.Started.Add(time.Duration(1+d.random.IntN(60)) * time.Second)
}

// position is in the current generation or the one before, every other time; else anywhere.
func (d *double) position(run string) port.Position {
	if d.chance(4) {
		return port.Newest
	}
	at := port.Position{Generation: d.random.IntN(5), Record: d.random.IntN(6)}
	if summary, err := d.want.Runs.Summary(d.t.Context(), run); err == nil && d.chance(2) {
		at = port.Position{Generation: max(1, summary.Generation-d.random.IntN(2)),
			Record: d.random.IntN(3)}
	}
	return at
}

func (d *double) look(run string, known port.Position) {
	d.t.Helper()
	d.both("look", func(s *Stores) (string, error) {
		view, err := s.Runs.Look(d.t.Context(), run, known)
		if err != nil {
			return "", err
		}
		var items []string
		for _, item := range view.Inbox {
			items = append(items, fmt.Sprint(item.Key, item.Stamp, item.Durable, string(history.EncodeEvent(item.Event))))
		}
		slices.Sort(items)
		first := ""
		if d.Pages {
			first = fmt.Sprint(len(view.Records), view.More)
		}
		log := view.Records
		switch {
		case view.More && known == port.Newest:
			rest, err := d.before(s, run, view.Summary.Generation, log[0].Number)
			if err != nil {
				return "", err
			}
			log = append(rest, log...)
		case view.More:
			after := 0
			if known.Generation == view.Summary.Generation {
				after = known.Record
			}
			rest, _, err := d.rest(s, run, view.Summary.Generation, lastOf(log, after))
			if err != nil {
				return "", err
			}
			log = append(log, rest...)
		}
		return jsonOf(d.t, view.Summary) + strings.Join(items, "\n") + textOf(log) + first, nil
	})
}

// rest reads a log to its end, and says how long its pages are, where that is compared.
func (d *double) rest(s *Stores, run string, generation, after int) (log []*history.Record, pages []int, err error) {
	for {
		page, err := s.Runs.Records(d.t.Context(), run, generation, after)
		if err != nil || len(page) == 0 {
			return log, pages, err
		}
		log, after = append(log, page...), lastOf(page, after)
		if d.Pages {
			pages = append(pages, len(page))
		}
	}
}

// before reads a log to its beginning. Several stores' pages differ in length.
func (d *double) before(
	s *Stores, run string, generation, before int,
) (log []*history.Record, err error) {
	for {
		page, err := s.Runs.RecordsBefore(d.t.Context(), run, generation, before)
		if err != nil || len(page) == 0 {
			return log, err
		}
		log, before = append(page, log...), page[0].Number
	}
}

// lastOf is the number of a log's last record; after, if it has none.
func lastOf(log []*history.Record, after int) int {
	if len(log) == 0 {
		return after
	}
	return log[len(log)-1].Number
}

func textOf(log []*history.Record) string {
	var text []byte
	for _, rec := range log {
		text = history.AppendRecord(text, rec)
	}
	return string(text)
}

func (d *double) query() port.ListQuery {
	query := port.ListQuery{Limit: d.random.IntN(5), Blocked: d.chance(4)}
	if d.chance(3) {
		query.Status = []history.Status{history.Running, history.Completed, history.Failed}[d.random.IntN(3)]
	}
	if d.chance(3) {
		query.Workflow = fmt.Sprint("w", d.random.IntN(3))
	}
	if d.chance(3) {
		query.Attributes = d.attributes()
	}
	return query
}

func (d *double) list(query port.ListQuery) {
	d.t.Helper()
	d.both("list", func(s *Stores) (string, error) {
		var all []*port.Summary
		var pages []int
		for query := query; ; {
			var page []*port.Summary
			var next string
			_, err := d.insist("list", func() (err error) { // a listing takes many requests: only the page that failed is asked for again
				page, next, err = s.Directory.List(d.t.Context(), query)
				return err
			})
			for _, summary := range page { // a store that keeps a long value elsewhere does not fetch it for a list
				for name, large := range summary.Large { // order-insensitive: each loses its preview
					summary.Large[name] = port.Large{Bytes: large.Bytes}
				}
			}
			if all = append(all, page...); d.Pages {
				pages = append(pages, len(page))
			}
			if err != nil || next == "" {
				return jsonOf(d.t, all) + fmt.Sprint(pages), err
			}
			query.Cursor = next
		}
	})
}

func (d *double) unfinished() {
	d.t.Helper()
	d.both("unfinished", func(s *Stores) (string, error) {
		var all []string
		for cursor := ""; ; {
			runs, next, err := s.Directory.Unfinished(d.t.Context(), cursor)
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
	timer := port.DueTimer{At: d.time(), Run: d.run(), Generation: 1, Seq: int64(d.random.IntN(2))}
	if d.chance(2) {
		d.both("put due", func(s *Stores) (string, error) { return "", s.Due.PutDue(d.t.Context(), timer) })
		return
	}
	before, gone := d.time(), d.random.IntN(3)
	due := map[*Stores][]port.DueTimer{}
	d.both("due", func(s *Stores) (_ string, err error) {
		due[s], err = s.Due.DueBefore(d.t.Context(), before)
		return jsonOf(d.t, due[s]), err
	})
	d.both("delete due", func(s *Stores) (string, error) {
		return "", s.Due.DeleteDue(d.t.Context(), due[s][:min(gone, len(due[s]))])
	})
}

func (d *double) task(run string) {
	d.t.Helper()
	key := port.TaskKey{Run: run, Generation: 1 + d.random.IntN(2), Seq: int64(d.random.IntN(3))}
	switch d.random.IntN(6) {
	case 0, 4, 5:
		if !d.Refuses && !d.there(run) {
			return
		}
		state := &port.TaskState{TaskKey: key, Attempt: d.random.IntN(9), Pending: d.chance(4),
			Beat: d.time(), Details: d.payload()}
		if d.chance(5) {
			d.both("cancel task", func(s *Stores) (string, error) { return "", s.Tasks.CancelTask(d.t.Context(), key) })
			return
		}
		d.both("save", func(s *Stores) (string, error) { return "", s.Tasks.SaveTask(d.t.Context(), state) })
	case 1:
		d.both("delete task", func(s *Stores) (string, error) { return "", s.Tasks.DeleteTask(d.t.Context(), key) })
	case 2:
		d.both("load", func(s *Stores) (string, error) {
			state, err := s.Tasks.LoadTask(d.t.Context(), key)
			return jsonOf(d.t, state), err
		})
	case 3:
		d.both("tasks", func(s *Stores) (string, error) {
			states, err := s.Tasks.TasksOf(d.t.Context(), run)
			return jsonOf(d.t, states), err
		})
	}
}
