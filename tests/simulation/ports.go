package simulation

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
)

// call is one call of the engine's that waits for the world to answer.
type call struct {
	port.Call
	p          *process
	invocation *invocation
	rebuilds   string // the run that it is made for, where a rebuild works on many
	number     int
	do         func() error
	answer     chan error
}

// compareCalls orders what waits at one time by what it is: goroutines come in any order.
func compareCalls(a, b *call) int {
	return cmp.Or(cmp.Compare(a.p.name, b.p.name), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Detail, b.Detail), cmp.Compare(a.Count, b.Count), cmp.Compare(a.invocation.begun(), b.invocation.begun()),
		cmp.Compare(a.rebuilds, b.rebuilds), cmp.Compare(a.number, b.number))
}

// park has a call wait for its answer.
func (s *simulation) park(ctx context.Context, p *process, of port.Call, do func() error) error {
	c := &call{Call: of, p: p, do: do, answer: make(chan error, 1)}
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
	if c.invocation != nil && c.Operation == port.OpLook && c.Detail != theLog {
		c.invocation.looked[c.Run] = s.events
	}
	var kind fault
	switch {
	case !s.limits.together:
		possible := []fault{failsBefore, throttled, losesAnswer, diesBefore, diesAfter}
		if slices.Contains(takenByItself.meets(), c.Operation) {
			possible = append(possible, takenByItself)
		}
		if c.Count > 1 && slices.Contains(sends, c.Operation) {
			possible = append(possible, sentInPart)
		}
		kind = s.faults.draw(c.Operation, possible...)
	case slices.Contains(storeCalls, c.Operation): // a file says what it did, and memory does not fail
		kind = s.faults.draw(c.Operation, failsBefore, diesBefore, diesAfter)
	default:
		kind = s.faults.draw(c.Operation, diesBefore, diesAfter)
	}
	if kind == none {
		s.note("%s: %s %s %s", c.p.name, c.Operation, c.Run, c.Detail)
	} else {
		s.note("%s: %s %s %s: %s (fault %d)", c.p.name, c.Operation, c.Run, c.Detail, kind, s.faults.count)
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
		s.most = 1 + s.faults.random.IntN(c.Count-1)
	}
	s.making = c
	err := c.do()
	s.making, s.most = nil, 0
	switch {
	case kind == losesAnswer, kind == sentInPart:
		err = errNoAnswer
	case kind == takenByItself && err == nil:
		err = errTaken
	case kind == diesAfter:
		s.kill(c.p)
		err = errDead
	case err != nil:
		s.note("    %v", err)
	}
	c.respond(err)
}

// ports are what one process sees of the world.
func (s *simulation) ports(p *process) port.Ports {
	seen := &sight{s.store, s, p}
	ports := port.Ports{Catalog: seen, Runs: seen, Directory: seen, Due: seen, Tasks: seen, Queue: seen, Clock: p, Authors: p.newAuthors(), NewID: p.newID,
		Together: s.limits.together}.Intercept(func(ctx context.Context, call port.Call, do func() error) error {
		return s.park(ctx, p, call, do)
	})
	asked := &asking{ports.Runs, ports.Runs.(port.Sizer), ports.Queue, s, p}
	ports.Runs, ports.Queue = asked, asked
	return ports
}

// asking is what stands before a call: it notes what was asked for, whatever becomes of the call.
type asking struct {
	port.Runs
	port.Sizer
	port.Queue
	s *simulation
	p *process
}

// tornKey is where a look says, in its context, that it is no snapshot.
type tornKey struct{}

// Look is one read, or three with time between them: the summary, the inbox, the log.
func (a *asking) Look(ctx context.Context, run string, known port.Position) (*port.View, error) {
	s, isTorn := a.s, false
	view, err := a.Runs.Look(context.WithValue(ctx, tornKey{}, &isTorn), run, known)
	if err != nil || !isTorn {
		return view, err
	}
	err = s.park(ctx, a.p, port.Call{Operation: port.OpLook, Run: run, Detail: theInbox}, func() error {
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
	err = s.park(ctx, a.p, port.Call{Operation: port.OpLook, Run: run, Detail: theLog}, func() (err error) {
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

func (a *asking) Create(ctx context.Context, summary *port.Summary, start port.Item) error {
	a.s.asksToStart(ctx, start)
	return a.Runs.Create(ctx, summary, start)
}

func (a *asking) Put(ctx context.Context, commit *port.Commit) error {
	if commit.Record == nil && commit.Next != nil {
		a.s.asksToStart(ctx, *commit.Next)
	}
	return a.Runs.Put(ctx, commit)
}

func (a *asking) SendResumes(ctx context.Context, messages ...port.Resume) error {
	if messages[0].Creates != nil {
		a.s.asksToStart(ctx, *messages[0].Carries)
	}
	return a.Queue.SendResumes(ctx, messages...)
}

// sight is the store as one process sees it, where this differs from what is there; and it tells
// the checks what changes.
type sight struct {
	*memory.Store
	s *simulation
	p *process
}

func (p *sight) Look(ctx context.Context, run string, known port.Position) (*port.View, error) {
	view, err := p.Store.Look(ctx, run, known)
	if err != nil {
		return nil, err
	}
	if isTorn, can := ctx.Value(tornKey{}).(*bool); can && p.s.tears() {
		*isTorn = true
	}
	p.s.shuffle(view.Inbox)
	p.s.shorten(known, view)
	leaves(ctx, view)
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
	s.faults.met.add(torn, port.OpLook)
	return true
}

// shuffle brings an inbox into any order, which is the same for the same case.
func (s *simulation) shuffle(inbox []port.Item) {
	slices.SortFunc(inbox, func(a, b port.Item) int { return cmp.Compare(a.Key, b.Key) })
	s.random.Shuffle(len(inbox), func(i, j int) { inbox[i], inbox[j] = inbox[j], inbox[i] })
}

// shorten gives only a page of a log: the last one, where the newest records were asked for.
func (s *simulation) shorten(known port.Position, view *port.View) {
	if !s.shortens(port.OpLook, len(view.Records)) {
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

func (p *sight) Records(ctx context.Context, run string, generation, after int) ([]*history.Record, error) {
	page, err := p.Store.Records(ctx, run, generation, after)
	if err == nil && p.s.shortens(port.OpRecords, len(page)) {
		page = page[:p.s.limits.page]
	}
	return page, err
}

func (p *sight) RecordsBefore(ctx context.Context, run string, generation, before int) ([]*history.Record, error) {
	page, err := p.Store.RecordsBefore(ctx, run, generation, before)
	if err == nil && p.s.shortens(port.OpRecords, len(page)) {
		page = page[len(page)-p.s.limits.page:]
	}
	return page, err
}

// Size is about as many bytes as the store has. Without a budget, the engine does not ask.
func (p *sight) Size(ctx context.Context, run string) (int64, error) {
	view, err := p.Store.Look(ctx, run, port.Position{})
	if err != nil {
		return 0, err
	}
	return int64(view.Summary.Bytes() + 100*len(view.Inbox) + 300*len(view.Records)), nil
}

func (p *sight) SizeOfNewest(ctx context.Context, run string) (int64, error) { return p.Size(ctx, run) }

// SizeOfSummary is not asked for here.
func (p *sight) SizeOfSummary(context.Context, string) (int64, error) { return 0, nil }

// SizeOfRecords is not asked for here.
func (p *sight) SizeOfRecords(context.Context, string, int, int) (int64, error) { return 0, nil }

func (p *sight) Create(ctx context.Context, summary *port.Summary, start port.Item) error {
	err := p.Store.Create(ctx, summary, start)
	if err == nil {
		p.s.changed(summary.Run, nil)
		p.s.checks.created(summary)
		p.s.checks.creators[start.Event.Filing()] = true
	}
	return err
}

func (p *sight) File(ctx context.Context, run string, item port.Item) (stamp int64, there bool, err error) {
	if stamp, there, err = p.Store.File(ctx, run, item); err == nil {
		p.s.checks.filed(p.p, run, item)
	}
	return stamp, there, err
}

func (p *sight) Put(ctx context.Context, commit *port.Commit) error {
	before := p.s.summary(commit.Run)
	err := p.Store.Put(ctx, commit)
	if err != nil {
		return err
	}
	if commit.Summary != nil {
		p.s.changed(commit.Run, before)
	}
	p.s.checks.stored(p.s.making, commit)
	if commit.Record == nil && commit.Next != nil {
		p.s.checks.creators[commit.Next.Event.Filing()] = true
	}
	return nil
}

func (p *sight) Block(ctx context.Context, run string, mark *port.Block) error {
	p.s.checks.blocked(p.p, run, mark)
	before := p.s.summary(run)
	err := p.Store.Block(ctx, run, mark)
	if err == nil {
		p.s.changed(run, before)
	}
	return err
}

func (p *sight) Unblock(ctx context.Context, run, mark string) error {
	before := p.s.summary(run)
	err := p.Store.Unblock(ctx, run, mark)
	if err == nil {
		p.s.changed(run, before)
	}
	return err
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

func (p *sight) List(ctx context.Context, query port.ListQuery) (page []*port.Summary, next string, err error) {
	if most := p.s.limits.listing; most > 0 {
		query.Limit = min(cmp.Or(query.Limit, most), most)
	}
	page, next, err = p.Store.List(ctx, query)
	if err != nil || p.s.limits.together || !p.s.faults.strikes(stale, port.OpList) { // a file has no index that lags
		return page, next, err
	}
	fresh := page
	page = nil
	for _, summary := range fresh {
		if old, there := p.s.was(summary.Run); there && query.Matches(old) {
			page = append(page, old)
		}
	}
	return page, next, nil
}

func (p *sight) Unfinished(ctx context.Context, cursor string) (runs []string, next string, err error) {
	runs, next, err = p.Store.Unfinished(ctx, cursor)
	if most := p.s.limits.listing; most > 0 && len(runs) > most {
		runs, next = runs[:most], runs[most-1]
	}
	if err == nil && p.s.faults.strikes(stale, port.OpUnfinished) {
		for _, c := range p.s.past { // what has ended just now is still shown as open
			if c.before != nil && !c.before.Status.Closed() && !slices.Contains(runs, c.run) && c.run > cursor && (next == "" || c.run <= next) {
				runs = append(runs, c.run)
			}
		}
		slices.Sort(runs)
	}
	return runs, next, err
}

var errDelay = errors.New("a queue delays a message by 15 minutes at most")

func (p *sight) SendResumes(_ context.Context, messages ...port.Resume) error {
	return send(p.s, messages, func(m port.Resume) (*letter, time.Duration) { return &letter{resume: read(m)}, m.Delay })
}

func (p *sight) SendTasks(_ context.Context, messages ...port.Task) error {
	return send(p.s, messages, func(m port.Task) (*letter, time.Duration) { return &letter{task: &m}, m.Delay })
}

// send sends messages together: all of them, or as many as the simulation lets through.
func send[M any](s *simulation, messages []M, write func(M) (*letter, time.Duration)) error {
	for _, m := range messages {
		if _, delay := write(m); delay > 15*time.Minute {
			return errDelay
		}
	}
	if s.most > 0 {
		messages = messages[:s.most]
	}
	for _, m := range messages {
		s.post(write(m))
	}
	return nil
}

// direct is a queue that takes nothing: of those who only look.
type direct struct{}

func (direct) SendResumes(context.Context, ...port.Resume) error { return nil }
func (direct) SendTasks(context.Context, ...port.Task) error     { return nil }
