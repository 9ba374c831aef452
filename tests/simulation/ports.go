package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// call is one call of the engine's that waits for the world to answer.
type call struct {
	p          *process
	invocation *invocation
	operation  string
	subject    string // run
	detail     string
	rebuilds   string // the run that it is made for, where a rebuild works on many
	number     int
	do         func() error
	again      error // what a second try is told, made on the way
	part       func(count int)
	parts      int
	answer     chan error
}

// compareCalls orders what waits at one time by what it is: goroutines come in any order.
func compareCalls(a, b *call) int {
	return cmp.Or(cmp.Compare(a.p.name, b.p.name), cmp.Compare(a.subject, b.subject), cmp.Compare(a.operation, b.operation),
		cmp.Compare(a.detail, b.detail), cmp.Compare(a.invocation.begun(), b.invocation.begun()),
		cmp.Compare(a.rebuilds, b.rebuilds), cmp.Compare(a.number, b.number))
}

// park has a call wait for its answer.
func (s *simulation) park(ctx context.Context, c *call) error {
	c.answer = make(chan error, 1)
	c.invocation, _ = ctx.Value(invocationKey{}).(*invocation)
	c.rebuilds, _ = pprof.Label(ctx, engine.RebuildLabel)
	s.mu.Lock()
	if c.p.dead || s.over {
		s.mu.Unlock()
		return errDead
	}
	s.begun++
	c.number = s.begun
	s.parked = append(s.parked, c)
	s.mu.Unlock()
	return <-c.answer
}

// perform answers a call, as it should be or not.
func (s *simulation) perform(c *call) {
	s.mu.Lock()
	s.parked = slices.DeleteFunc(s.parked, func(other *call) bool { return other == c })
	s.mu.Unlock()
	if c.invocation != nil && c.operation == look && c.detail != theLog {
		c.invocation.looked[c.subject] = s.events
	}
	var kind fault
	switch {
	case !s.limits.together:
		possible := []fault{failsBefore, throttled, losesAnswer, diesBefore, diesAfter}
		if c.again != nil {
			possible = append(possible, takenByItself)
		}
		if c.parts > 1 {
			possible = append(possible, sentInPart)
		}
		kind = s.faults.draw(c.operation, possible...)
	case slices.Contains(storeCalls, c.operation): // a file says what it did, and memory does not fail
		kind = s.faults.draw(c.operation, failsBefore, diesBefore, diesAfter)
	default:
		kind = s.faults.draw(c.operation, diesBefore, diesAfter)
	}
	if kind == none {
		s.note("%s: %s %s %s", c.p.name, c.operation, c.subject, c.detail)
	} else {
		s.note("%s: %s %s %s: %s (fault %d)", c.p.name, c.operation, c.subject, c.detail, kind, s.faults.count)
	}
	switch kind {
	case failsBefore:
		c.respond(errNoAnswer)
		return
	case throttled:
		c.respond(errThrottled)
		return
	case diesBefore:
		s.kill(c.p)
		c.respond(errDead)
		return
	case sentInPart:
		c.part(1 + s.faults.random.IntN(c.parts-1))
		c.respond(errNoAnswer)
		return
	}
	err := c.do()
	switch {
	case kind == losesAnswer:
		err = errNoAnswer
	case kind == takenByItself && err == nil:
		err = c.again
	case kind == diesAfter:
		s.kill(c.p)
		err = errDead
	case err != nil:
		s.note("    %v", err)
	}
	c.respond(err)
}

// calls is what one process sees of the world.
type calls struct {
	s *simulation
	p *process
}

func (p *calls) call(ctx context.Context, operation, subject, detail string, do func() error) error {
	return p.s.park(ctx, &call{p: p.p, operation: operation, subject: subject, detail: detail, do: do})
}

// got makes a call that gives something.
func got[T any](ctx context.Context, p *calls, operation, subject, detail string, do func() (T, error)) (value T, err error) {
	err = p.call(ctx, operation, subject, detail, func() (err error) {
		value, err = do()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// Look is one read, or three with time between them: the summary, the inbox, the log.
func (p *calls) Look(ctx context.Context, run string, known port.Position) (view *port.View, err error) {
	s, parts := p.s, 1
	err = p.call(ctx, look, run, "", func() error {
		if view, err = s.store.Look(ctx, run, known); err != nil {
			return err
		}
		if s.tears() {
			parts = 3
		}
		s.shuffle(view.Inbox)
		s.shorten(known, view)
		leaves(ctx, view)
		return nil
	})
	if err != nil || parts == 1 {
		return view, err
	}
	err = p.call(ctx, look, run, theInbox, func() error {
		later, err := s.store.Look(ctx, run, known)
		if err == nil {
			view.Inbox = later.Inbox
			s.shuffle(view.Inbox)
			leaves(ctx, view)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = p.call(ctx, look, run, theLog, func() (err error) {
		if known == port.Newest {
			view.Records, err = s.store.RecordsBefore(ctx, run, view.Summary.Generation, math.MaxInt)
			view.More = false
			s.shorten(known, view)
			return err
		}
		after := 0
		if known.Generation == view.Summary.Generation {
			after = known.Record
		}
		view.Records, err = s.store.Records(ctx, run, view.Summary.Generation, after)
		view.More = false
		s.shorten(known, view)
		return err
	})
	if err != nil {
		return nil, err
	}
	return view, nil
}

// leaves notes that whoever sees a blocked run leaves everything in its inbox, though it may yet record the result of its step.
func leaves(ctx context.Context, view *port.View) {
	if i, is := ctx.Value(invocationKey{}).(*invocation); is && view.Summary.Blocked != nil {
		delete(i.looked, view.Summary.Run)
	}
}

// asksToStart notes a start that an invocation asks for.
func (s *simulation) asksToStart(ctx context.Context, start port.Item) {
	if i, is := ctx.Value(invocationKey{}).(*invocation); is {
		s.mu.Lock() // the runs of a batch are visited side by side
		defer s.mu.Unlock()
		i.starts = append(i.starts, start.Event.Filing())
		if i.gives != (attributes{}) {
			s.checks.given[start.Event.Filing()] = i.gives
		}
	}
}

// Parts of a look that is torn.
const (
	theInbox = "its inbox"
	theLog   = "its log"
)

// tears says whether a look is no snapshot: DynamoDB's queries see each item as it is when they come to it.
func (s *simulation) tears() bool {
	if s.limits.together || s.random.IntN(5) > 0 {
		return false
	}
	s.faults.met.add(torn, look)
	return true
}

// shuffle brings an inbox into any order, which is the same for the same case.
func (s *simulation) shuffle(inbox []port.Item) {
	slices.SortFunc(inbox, func(a, b port.Item) int { return cmp.Compare(a.Key, b.Key) })
	s.random.Shuffle(len(inbox), func(i, j int) { inbox[i], inbox[j] = inbox[j], inbox[i] })
}

// shorten gives only a page of a log: the last one, where the newest records were asked for.
func (s *simulation) shorten(known port.Position, view *port.View) {
	if !s.shortens(look, len(view.Records)) {
		return
	}
	if view.More = true; known == port.Newest {
		view.Records = view.Records[len(view.Records)-s.limits.page:]
	} else {
		view.Records = view.Records[:s.limits.page]
	}
}

// shortens says whether a read of so many records gives only a page of them.
func (s *simulation) shortens(operation string, length int) bool {
	if length <= s.limits.page {
		return false
	}
	s.faults.met.add(short, operation)
	return true
}

func (p *calls) Records(ctx context.Context, run string, generation, after int) ([]*history.Record, error) {
	return got(ctx, p, records, run, "", func() ([]*history.Record, error) {
		page, err := p.s.store.Records(ctx, run, generation, after)
		if err == nil && p.s.shortens(records, len(page)) {
			page = page[:p.s.limits.page]
		}
		return page, err
	})
}

func (p *calls) RecordsBefore(ctx context.Context, run string, generation, before int) ([]*history.Record, error) {
	return got(ctx, p, records, run, "", func() ([]*history.Record, error) {
		page, err := p.s.store.RecordsBefore(ctx, run, generation, before)
		if err == nil && p.s.shortens(records, len(page)) {
			page = page[len(page)-p.s.limits.page:]
		}
		return page, err
	})
}

// Size implements engine.Sizer: about as many bytes as the store has. Without a budget, the engine
// does not ask.
func (p *calls) Size(ctx context.Context, run string) (int64, error) {
	return got(ctx, p, sizeOf, run, "", func() (int64, error) {
		view, err := p.s.store.Look(ctx, run, port.Position{})
		if err != nil {
			return 0, err
		}
		return int64(view.Summary.Bytes() + 100*len(view.Inbox) + 300*len(view.Records)), nil
	})
}

var _ port.Sizer = (*calls)(nil)

// SizeOfNewest implements engine.Sizer.
func (p *calls) SizeOfNewest(ctx context.Context, run string) (int64, error) { return p.Size(ctx, run) }

// SizeOfSummary implements engine.Sizer: nothing asks for it here.
func (p *calls) SizeOfSummary(context.Context, string) (int64, error) { return 0, nil }

// SizeOfRecords implements engine.Sizer: nothing asks for it here.
func (p *calls) SizeOfRecords(context.Context, string, int, int) (int64, error) { return 0, nil }

func (p *calls) Summary(ctx context.Context, run string) (*port.Summary, error) {
	return got(ctx, p, getSummary, run, "", func() (*port.Summary, error) { return p.s.store.Summary(ctx, run) })
}

func (p *calls) Create(ctx context.Context, summary *port.Summary, start port.Item) error {
	p.s.asksToStart(ctx, start)
	return p.s.park(ctx, &call{p: p.p, operation: create, subject: summary.Run, again: errTaken, do: func() error {
		err := p.s.store.Create(ctx, summary, start)
		if err == nil {
			p.s.changed(summary.Run, nil)
			p.s.checks.created(summary)
			p.s.checks.creators[start.Event.Filing()] = true
		}
		return err
	}})
}

func (p *calls) File(ctx context.Context, run string, item port.Item) (stamp int64, there bool, err error) {
	err = p.call(ctx, file, run, item.Key, func() (err error) {
		if stamp, there, err = p.s.store.File(ctx, run, item); err == nil {
			p.s.checks.filed(p.p, run, item)
		}
		return err
	})
	return stamp, there, err
}

func (p *calls) Put(ctx context.Context, commit *port.Commit) error {
	detail := "without a record"
	if commit.Record != nil {
		detail = fmt.Sprintf("%d/%d", commit.Generation, commit.Record.Number)
	}
	if commit.Record == nil && commit.Next != nil {
		p.s.asksToStart(ctx, *commit.Next)
	}
	c := &call{p: p.p, operation: put, subject: commit.Run, detail: detail, again: errTaken}
	c.do = func() error {
		before := p.s.summary(commit.Run)
		err := p.s.store.Put(ctx, commit)
		if err == nil {
			if commit.Summary != nil {
				p.s.changed(commit.Run, before)
			}
			p.s.checks.stored(c, commit)
			if commit.Record == nil && commit.Next != nil {
				p.s.checks.creators[commit.Next.Event.Filing()] = true
			}
		}
		return err
	}
	return p.s.park(ctx, c)
}

func (p *calls) DeleteLog(ctx context.Context, run string, generation int) error {
	return p.call(ctx, removeLog, run, fmt.Sprint(generation), func() error { return p.s.store.DeleteLog(ctx, run, generation) })
}

func (p *calls) Delete(ctx context.Context, run string, keys []string) error {
	return p.call(ctx, remove, run, fmt.Sprint(keys), func() error { return p.s.store.Delete(ctx, run, keys) })
}

func (p *calls) Note(ctx context.Context, run string, notes []port.Note) error {
	return p.call(ctx, note, run, fmt.Sprint(notes), func() error { return p.s.store.Note(ctx, run, notes) })
}

func (p *calls) Noted(ctx context.Context, run, key string) (port.Position, error) {
	return got(ctx, p, noted, run, key, func() (port.Position, error) { return p.s.store.Noted(ctx, run, key) })
}

func (p *calls) Item(ctx context.Context, run, key string) (*port.Item, error) {
	return got(ctx, p, getItem, run, key, func() (*port.Item, error) { return p.s.store.Item(ctx, run, key) })
}

func (p *calls) Record(ctx context.Context, run string, at port.Position) (*history.Record, error) {
	return got(ctx, p, getRecord, run, fmt.Sprint(at), func() (*history.Record, error) { return p.s.store.Record(ctx, run, at) })
}

func (p *calls) Discard(ctx context.Context, run string, generation int, keys []string) error {
	return p.call(ctx, discard, run, fmt.Sprint(generation, keys), func() error { return p.s.store.Discard(ctx, run, generation, keys) })
}

func (p *calls) Block(ctx context.Context, run string, mark *port.Block) error {
	return p.call(ctx, block, run, mark.Reason, func() error {
		p.s.checks.blocked(p.p, run, mark)
		before := p.s.summary(run)
		err := p.s.store.Block(ctx, run, mark)
		if err == nil {
			p.s.changed(run, before)
		}
		return err
	})
}

func (p *calls) Unblock(ctx context.Context, run, mark string) error {
	return p.call(ctx, unblock, run, mark, func() error {
		before := p.s.summary(run)
		err := p.s.store.Unblock(ctx, run, mark)
		if err == nil {
			p.s.changed(run, before)
		}
		return err
	})
}

// change is what a run's summary was before.
type change struct {
	at     time.Time
	run    string
	before *port.Summary // nil: there was no run
}

// lag is how long an index may show what was.
const lag = 2 * time.Second

func (s *simulation) changed(run string, before *port.Summary) {
	s.past = slices.DeleteFunc(s.past, func(c change) bool { return s.now.Sub(c.at) > lag })
	s.past = append(s.past, change{s.now, run, before})
}

func (s *simulation) summary(run string) *port.Summary {
	summary, err := s.store.Summary(context.Background(), run)
	if err != nil {
		return nil
	}
	return summary
}

func (s *simulation) inbox(run string) []port.Item {
	view, err := s.store.Look(context.Background(), run, port.Position{})
	if err != nil {
		panic(err)
	}
	return view.Inbox
}

// nameOf is what records name an item by. The key of mail says, too, which run it is for.
func nameOf(item port.Item) string {
	if mail, ok := item.Event.(history.Mail); ok {
		return mail.Key(0)
	}
	return item.Key
}

// was gives a run's summary as an index that lags shows it; false: it does not show the run.
func (s *simulation) was(run string) (*port.Summary, bool) {
	for _, c := range s.past {
		if c.run == run && s.now.Sub(c.at) <= lag {
			return c.before, c.before != nil
		}
	}
	return s.summary(run), true
}

func (p *calls) List(ctx context.Context, query port.ListQuery) (page []*port.Summary, next string, err error) {
	err = p.call(ctx, list, "", "", func() (err error) {
		if most := p.s.limits.listing; most > 0 {
			query.Limit = min(cmp.Or(query.Limit, most), most)
		}
		page, next, err = p.s.store.List(ctx, query)
		if err != nil || !p.s.faults.strikes(stale, list) {
			return err
		}
		fresh := page
		page = nil
		for _, summary := range fresh {
			if old, there := p.s.was(summary.Run); there && query.Matches(old) {
				page = append(page, old)
			}
		}
		return nil
	})
	return page, next, err
}

func (p *calls) Unfinished(ctx context.Context, cursor string) (runs []string, next string, err error) {
	err = p.call(ctx, unfinished, "", "", func() (err error) {
		runs, next, err = p.s.store.Unfinished(ctx, cursor)
		if most := p.s.limits.listing; most > 0 && len(runs) > most {
			runs, next = runs[:most], runs[most-1]
		}
		if err == nil && p.s.faults.strikes(stale, unfinished) {
			for _, c := range p.s.past { // what has ended just now is still shown as open
				if c.before != nil && !c.before.Status.Closed() && !slices.Contains(runs, c.run) && c.run > cursor && (next == "" || c.run <= next) {
					runs = append(runs, c.run)
				}
			}
			slices.Sort(runs)
		}
		return err
	})
	return runs, next, err
}

func (p *calls) PutDue(ctx context.Context, timers ...port.DueTimer) error {
	return p.call(ctx, putDue, timers[0].Run, "", func() error { return p.s.store.PutDue(ctx, timers...) })
}

func (p *calls) DueBefore(ctx context.Context, before time.Time) ([]port.DueTimer, error) {
	return got(ctx, p, dueBefore, "", "", func() ([]port.DueTimer, error) { return p.s.store.DueBefore(ctx, before) })
}

func (p *calls) DeleteDue(ctx context.Context, timers []port.DueTimer) error {
	return p.call(ctx, deleteDue, timers[0].Run, "", func() error { return p.s.store.DeleteDue(ctx, timers) })
}

func (p *calls) SaveTask(ctx context.Context, state *port.TaskState) error {
	return p.call(ctx, saveTask, state.Run, "", func() error { return p.s.store.SaveTask(ctx, state) })
}

func (p *calls) CancelTask(ctx context.Context, key port.TaskKey) error {
	return p.call(ctx, cancelTask, key.Run, "", func() error { return p.s.store.CancelTask(ctx, key) })
}

func (p *calls) LoadTask(ctx context.Context, key port.TaskKey) (*port.TaskState, error) {
	return got(ctx, p, loadTask, key.Run, "", func() (*port.TaskState, error) { return p.s.store.LoadTask(ctx, key) })
}

func (p *calls) TasksOf(ctx context.Context, run string) ([]*port.TaskState, error) {
	return got(ctx, p, tasksOf, run, "", func() ([]*port.TaskState, error) { return p.s.store.TasksOf(ctx, run) })
}

func (p *calls) DeleteTask(ctx context.Context, key port.TaskKey) error {
	return p.call(ctx, deleteTask, key.Run, "", func() error { return p.s.store.DeleteTask(ctx, key) })
}

var errDelay = errors.New("a queue delays a message by 15 minutes at most")

func (p *calls) SendResumes(ctx context.Context, messages ...port.Resume) error {
	if messages[0].Creates != nil {
		p.s.asksToStart(ctx, *messages[0].Carries)
	}
	return send(ctx, p, sendResumes, messages[0].Run, messages, func(m port.Resume) (*letter, time.Duration) { return &letter{resume: read(m)}, m.Delay })
}

func (p *calls) SendTasks(ctx context.Context, messages ...port.Task) error {
	return send(ctx, p, sendTasks, messages[0].Run, messages, func(m port.Task) (*letter, time.Duration) { return &letter{task: &m}, m.Delay })
}

// send sends messages together: all of them, or those before one at which it fails.
func send[M any](ctx context.Context, p *calls, operation, subject string, messages []M, write func(M) (*letter, time.Duration)) error {
	for _, m := range messages {
		if _, delay := write(m); delay > 15*time.Minute {
			return errDelay
		}
	}
	post := func(count int) {
		for _, m := range messages[:count] {
			p.s.post(write(m))
		}
	}
	return p.s.park(ctx, &call{p: p.p, operation: operation, subject: subject, detail: fmt.Sprint(len(messages)), parts: len(messages), part: post,
		do: func() error {
			post(len(messages))
			return nil
		}})
}

// direct is a queue that takes nothing: of those who only look.
type direct struct{}

func (direct) SendResumes(context.Context, ...port.Resume) error { return nil }
func (direct) SendTasks(context.Context, ...port.Task) error     { return nil }
