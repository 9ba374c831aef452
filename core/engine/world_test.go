package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
)

// world is the real engine among everything that can go wrong: processes over one store, each with a cache and a clock of
// its own; queues that deliver when they are told to; any one external call that fails, or happens and loses its answer, or
// is the last one of its process, or pauses. Its time is the bubble's of testing/synctest, so nothing waits in earnest.
type world struct {
	t        *testing.T
	store    *memory.Store
	together bool                                  // one process, whose queues die with it
	define   func(w *world) []workflow.Definition  // what every process runs
	adjust   func(role string, c *engine.Config)   // how a process differs
	lifetime func(number int) (left time.Duration) // of a resume's handler, by number of its delivery; nil: a minute

	mu         sync.Mutex
	processes  []*process
	letters    []*letter
	faults     []*fault
	calls      int
	made       map[string]int // calls, by operation
	delivered  int
	ids        int
	journal    []string
	underway   int
	changed    chan struct{}
	sent       map[string]int // messages, by what they are about
	ran        map[string]int // executions of steps and activities
	running    map[string]*process
	violations []string
	longest    time.Duration // delay of a task
	read       int           // records that the store has given
	lost       bool          // a process died with its queues
	stolen     bool          // a test took a letter out of a queue
	torn       chan struct{} // what the next look waits for, halfway
	tornLate   bool          // not before its inbox
}

const (
	skew       = 5 * time.Second // how long after its deadline an author may still be alive
	visibility = 3 * time.Second // until a message whose handler failed comes again
	mostTimes  = 12              // deliveries before the dead letter function
)

// simulate runs a test in a world of its own, which must be quiet at its end.
func simulate(t *testing.T, define func(w *world) []workflow.Definition, test func(w *world)) {
	t.Helper()
	simulateAs(t, false, define, test)
}

func simulateAs(t *testing.T, together bool, define func(w *world) []workflow.Definition, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, store: memory.New(), together: together, define: define,
			changed: make(chan struct{}, 1),
			made:    map[string]int{},
			sent:    map[string]int{},
			ran:     map[string]int{},
			running: map[string]*process{}}
		defer w.end()
		test(w)
	})
}

// inBoth runs a test as on AWS, and as in one process.
func inBoth(t *testing.T, define func(w *world) []workflow.Definition, test func(w *world)) {
	t.Helper()
	for name, together := range map[string]bool{"apart": false, "together": true} {
		t.Run(name, func(t *testing.T) { simulateAs(t, together, define, test) })
	}
}

func (w *world) end() {
	if w.t.Failed() {
		w.t.Log("calls and deliveries:\n" + strings.Join(w.journal, "\n"))
	}
	for _, p := range w.processes {
		p.cancel()
	}
	<-time.After(time.Minute) // for functions that do not hear that their time is over
	for _, p := range w.processes {
		p.engine.Close()
	}
}

// note writes a line of what a failed test shows. The lock is held.
func (w *world) note(format string, args ...any) {
	w.journal = append(w.journal, time.Now().UTC().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

// violation notes what must never happen. The lock is held.
func (w *world) violation(format string, args ...any) {
	w.note("VIOLATION "+format, args...)
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

func (w *world) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// process is one engine with a cache of its own. Dead, it makes no call any more.
type process struct {
	w      *world
	name   string
	role   string
	engine *engine.Engine
	ctx    context.Context
	cancel context.CancelFunc
	clock  clock
	busy   int
	dead   bool
	begun  int             // authors
	alive  map[string]bool // authors, in one process
}

// process gives one of a role that has nothing to do, or a new one.
func (w *world) process(role string) *process {
	if w.together {
		role = "node"
	}
	w.mu.Lock()
	for _, p := range w.processes {
		if p.role == role && !p.dead && (p.busy == 0 || w.together) {
			w.mu.Unlock()
			return p
		}
	}
	w.mu.Unlock()
	return w.newProcess(role)
}

var tokenKey = []byte("0123456789abcdef0123456789abcdef")

func (w *world) newProcess(role string) *process {
	p := &process{w: w, role: role, alive: map[string]bool{}}
	p.ctx, p.cancel = context.WithCancel(w.t.Context())
	config := engine.Config{Definitions: w.define(w), TokenKey: tokenKey, Worker: role,
		Version:         "1",
		CheckpointAfter: 1} // a rebuild takes pending commands from checkpoints
	if w.adjust != nil {
		w.adjust(role, &config)
	}
	e, err := engine.New(w.ports(p), config)
	require.NoError(w.t, err)
	p.engine = e
	w.mu.Lock()
	p.name = fmt.Sprintf("%s-%d", role, len(w.processes)+1)
	w.processes = append(w.processes, p)
	w.mu.Unlock()
	return p
}

func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprintf("%012x%014d", w.ids*7919, w.ids)
}

// kill ends a process: nothing that it does from here on reaches the world. In one process, the queues die with it, and so
// does what was filed only in memory. The lock is held.
func (w *world) kill(p *process) {
	if p.dead {
		return
	}
	p.dead = true
	w.note("%s dies", p.name)
	p.cancel()
	for key, by := range w.running {
		if by == p {
			delete(w.running, key)
		}
	}
	if !w.together {
		return
	}
	w.letters, w.lost = nil, true
	for _, run := range w.runs() {
		view, err := w.store.Look(context.Background(), run, port.Position{})
		require.NoError(w.t, err)
		for _, item := range view.Inbox {
			if !item.Durable {
				require.NoError(w.t, w.store.Delete(context.Background(), run, []string{item.Key}))
			}
		}
	}
}

// Begin, End and Dead implement engine.Authors: with deadlines, or as long as the process.
func (p *process) Begin(deadline time.Time) (author string, until time.Time) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.begun++
	author = fmt.Sprintf("%s.%d", p.name, p.begun)
	p.alive[author] = true
	if p.w.together {
		return author, time.Time{}
	}
	return author, deadline.Add(skew)
}

func (p *process) End(author string) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	delete(p.alive, author)
}

func (p *process) Dead(author string, until, now time.Time) bool {
	if !p.w.together {
		return !now.Before(until)
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return !until.IsZero() && !now.Before(until) || !p.alive[author]
}

// clock is a process's own: the bubble's time, and what it is off by.
type clock struct{ off time.Duration }

func (c *clock) Now() time.Time { return time.Now().Add(c.off).UTC() }

func (c *clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

// kind of what a fault does to a call.
type kind int

const (
	failBefore  kind = iota // it does not happen, and says so
	loseAnswer              // it happens, and says that it did not
	crashBefore             // its process dies before it
	crashAfter              // its process dies after it
	pause                   // it waits for release
	takenAfter              // it happens, and a second try, made on the way, says that its place is taken
)

func (k kind) String() string {
	return [...]string{"fails before", "loses its answer", "dies before", "dies after", "pauses", "taken by itself"}[k]
}

// fault happens to one call: the nth that matches. Empty fields match all.
type fault struct {
	kind    kind
	op      string
	subject string // run
	role    string
	nth     int // from 1; zero: the first
	always  bool

	seen    int
	hit     bool
	process *process
	gate    chan struct{}
}

// plan has a fault happen.
func (w *world) plan(f fault) *fault {
	f.gate = make(chan struct{})
	f.nth = max(f.nth, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, &f)
	return &f
}

// release lets a call go on that has paused.
func (f *fault) release() { close(f.gate) }

// match finds the fault that happens to a call. The lock is held.
func (w *world) match(p *process, op, subject string) *fault {
	for _, f := range w.faults {
		if f.hit && !f.always || f.op != "" && f.op != op || f.subject != "" && f.subject != subject || f.role != "" && f.role != p.role {
			continue
		}
		if f.seen++; f.seen == f.nth || f.always {
			if w.together && strings.HasPrefix(op, "send") && (f.kind == failBefore || f.kind == loseAnswer) {
				return nil // memory does not fail
			}
			f.hit, f.process = true, p
			return f
		}
	}
	return nil
}

var (
	errUnavailable = fmt.Errorf("the answer did not come: %w", port.ErrUnavailable)
	errDead        = fmt.Errorf("the process is dead: %w", port.ErrUnavailable)
)

// call makes one external call, or has it fail.
func (w *world) call(ctx context.Context, p *process, call port.Call, do func() error) error {
	w.mu.Lock()
	if p.dead {
		w.mu.Unlock()
		return errDead
	}
	w.calls++
	w.made[call.Operation]++
	f := w.match(p, call.Operation, call.Run)
	if f == nil {
		w.note("%s %s %s %s", p.name, call.Operation, call.Run, call.Detail)
	} else {
		w.note("%s %s %s %s: %s", p.name, call.Operation, call.Run, call.Detail, f.kind)
	}
	w.mu.Unlock()
	if f == nil {
		err := w.happen(ctx, p, do)
		if err == nil {
			w.locked(func() { noteSuccess(ctx, call.Operation+" "+call.Run) })
		}
		return err
	}
	w.locked(func() { noteFailure(ctx, f.kind, call.Operation+" "+call.Run) })
	switch f.kind {
	case pause:
		select {
		case <-f.gate:
		case <-ctx.Done():
		}
	case failBefore:
		return errUnavailable
	case crashBefore:
		w.locked(func() { w.kill(p) })
		return errDead
	}
	err := w.happen(ctx, p, do)
	switch f.kind {
	case loseAnswer:
		return errUnavailable
	case takenAfter:
		return fmt.Errorf("itself: %w", port.ErrTaken)
	case crashAfter:
		w.locked(func() { w.kill(p) })
		return errDead
	}
	return err
}

func (w *world) happen(ctx context.Context, p *process, do func() error) error {
	w.mu.Lock()
	dead := p.dead
	w.mu.Unlock()
	switch {
	case dead:
		return errDead
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return do()
}

func (w *world) locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// begins and ends mark the execution of a step or an activity. One that two live handlers run at once is a violation, if it
// is a step.
func (w *world) begins(ctx context.Context, key string, step bool) (ends func()) {
	p := processOf(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran[key]++
	w.note("%s runs %s", p.name, key)
	if by := w.running[key]; step && by != nil && !p.dead {
		w.violation("%s is run by %s and %s at once", key, by.name, p.name)
	}
	if !p.dead {
		w.running[key] = p
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.running[key] == p {
			delete(w.running, key)
		}
		if !p.dead {
			w.note("%s ends %s", p.name, key)
		}
	}
}

type processKey struct{}

// in gives the context of a process's handlers.
func (p *process) in() context.Context { return context.WithValue(p.ctx, processKey{}, p) }

func processOf(ctx context.Context) *process { return ctx.Value(processKey{}).(*process) }

// runs lists all ids.
func (w *world) runs() (ids []string) {
	page, _, err := w.store.List(context.Background(), port.ListQuery{Limit: 1000})
	require.NoError(w.t, err)
	for _, summary := range page {
		ids = append(ids, summary.Run)
	}
	return ids
}

// summary is the store's.
func (w *world) summary(run string) *port.Summary {
	w.t.Helper()
	s, err := w.store.Summary(context.Background(), run)
	require.NoError(w.t, err)
	return s
}

// log gives one generation's records.
func (w *world) log(run string, generation int) (records []*history.Record) {
	w.t.Helper()
	for {
		page, err := w.store.Records(context.Background(), run, generation, len(records))
		require.NoError(w.t, err)
		if len(page) == 0 {
			return records
		}
		records = append(records, page...)
	}
}

// inbox gives the names of a run's items.
func (w *world) inbox(run string) (names []string) {
	w.t.Helper()
	view, err := w.store.Look(context.Background(), run, port.Position{})
	require.NoError(w.t, err)
	for _, item := range view.Inbox {
		names = append(names, named(item))
	}
	return names
}

// named is what records name an item by. The key of mail says, too, which run it is for.
func named(item port.Item) string {
	if mail, ok := item.Event.(history.Mail); ok {
		return "mail#" + mail.MailID()
	}
	return item.Key
}

// unfiled takes an item out of its inbox: whoever was to file it died before.
func (w *world) unfiled(l *letter) *letter {
	w.t.Helper()
	require.NoError(w.t, w.store.Delete(w.t.Context(), l.resume.Run, []string{l.resume.Carries.Key}))
	return l
}
