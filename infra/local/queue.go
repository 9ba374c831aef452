package local

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
)

// queue is both queues of one process, in memory: they die with it, and are rebuilt from the logs at its next start.
//
// A message is handled in a goroutine of its own; so many at a time as its limit allows. One whose handler fails comes again,
// later and later; one that was received too often goes to the dead letter handler, unless it was the store that failed.
//
// Delays are by the clock, as all that the log says of time: while a machine sleeps, the clock goes on, and the runtime's
// timers stand still.
type queue struct {
	clock    port.Clock
	handlers handlers
	resumes  lane[port.Resume]
	tasks    lane[port.Task]
	memory   *memory.Budget // of it, tasks hold their inputs

	mu      sync.Mutex
	waiting map[string]bool // runs with a plain resume that is ready and not yet received: another one would say the same
	delayed delays
	timers  map[timer]*delayed // those of delayed that carry a timer's firing
	disarm  func() bool        // the alarm for the earliest delayed message; nil: it is not set
	closed  bool
	ctx     context.Context //nolint:containedctx // ends every handler when the queue is closed
	cancel  context.CancelFunc
	busy    sync.WaitGroup
}

type handlers struct {
	resume     func(context.Context, port.Resume) error
	task       func(context.Context, port.Task) error
	deadResume func(context.Context, port.Resume) error
	deadTask   func(context.Context, port.Task) error
	failed     func(what string, received int, err error)
}

// lane is one of the two queues: what is ready, and how many are being handled.
type lane[M any] struct {
	ready   []received[M]
	head    int
	running int
	most    int
}

// received is a message and how often it was received.
type received[M any] struct {
	message M
	times   int
}

const (
	mostReceives = 10
	firstPause   = 50 * time.Millisecond
	longestPause = 30 * time.Second
	// longestNap is how late a message may be when the machine has slept.
	longestNap = time.Minute
)

func newQueue(clock port.Clock, mostResumes, mostTasks int, budget *memory.Budget) *queue {
	q := &queue{clock: clock, memory: budget, waiting: map[string]bool{},
		timers: map[timer]*delayed{}}
	q.resumes.most, q.tasks.most = mostResumes, mostTasks
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// open begins to deliver.
func (q *queue) open(h handlers) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.handlers = h
	q.deliver()
}

// close ends all handlers and waits for them. What is queued is forgotten.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	if q.disarm != nil {
		q.disarm()
	}
	q.mu.Unlock()
	q.cancel()
	q.busy.Wait()
}

// SendResumes implements engine.Queue.
func (q *queue) SendResumes(_ context.Context, messages ...port.Resume) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range messages {
		delay := m.Delay
		m.Delay = 0
		q.addResume(received[port.Resume]{message: m}, delay)
	}
	q.deliver()
	return nil
}

// SendTasks implements engine.Queue.
func (q *queue) SendTasks(_ context.Context, messages ...port.Task) error {
	for _, m := range messages { // while no lock is held: runs are evicted for it
		q.memory.Add(held(m))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range messages {
		delay := m.Delay
		m.Delay = 0
		q.addTask(received[port.Task]{message: m}, delay)
	}
	q.deliver()
	return nil
}

// held is how many bytes a task holds, from when it is sent until it is done.
func held(t port.Task) int64 {
	if t.Command == nil {
		return 0
	}
	return int64(len(t.Command.Input))
}

func (q *queue) addResume(r received[port.Resume], delay time.Duration) {
	if delay > 0 {
		if r.message.Carries == nil {
			q.delay(delay, func() { q.addResume(r, 0) })
			return
		}
		known := timer{r.message.Run, r.message.Carries.Key}
		if q.timers[known] == nil { // else it is sent again, and one of them is enough: forget finds no second one
			d := q.delay(delay, func() { q.addResume(r, 0) })
			d.timer, q.timers[known] = known, d
		}
		return
	}
	if plain(r.message) {
		if q.waiting[r.message.Run] {
			return
		}
		q.waiting[r.message.Run] = true
	}
	q.resumes.push(r)
}

func plain(m port.Resume) bool { return m.Carries == nil && m.Unblocks == "" }

func (q *queue) addTask(r received[port.Task], delay time.Duration) {
	if delay > 0 {
		q.delay(delay, func() { q.addTask(r, 0) })
		return
	}
	q.tasks.push(r)
}

// deliver starts handlers for what is ready, as far as the limits allow. The lock is held.
func (q *queue) deliver() {
	if q.handlers.resume == nil || q.closed {
		return
	}
	for q.resumes.may() {
		r := q.resumes.pop()
		if plain(r.message) {
			delete(q.waiting, r.message.Run)
		}
		q.busy.Go(func() { q.handleResume(r) })
	}
	for q.tasks.may() {
		r := q.tasks.pop()
		q.busy.Go(func() { q.handleTask(r) })
	}
}

func (q *queue) handleResume(r received[port.Resume]) {
	r.times++
	err := q.handlers.resume(q.ctx, r.message)
	if err != nil && q.ctx.Err() == nil {
		q.handlers.failed("resume", r.times, err)
	}
	if err != nil && r.times >= mostReceives && !errors.Is(err, port.ErrUnavailable) {
		err = q.handlers.deadResume(q.ctx, r.message)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resumes.running--
	if err != nil {
		q.addResume(r, pause(r.times))
	}
	q.deliver()
}

func (q *queue) handleTask(r received[port.Task]) {
	r.times++
	err := q.handlers.task(q.ctx, r.message)
	if err != nil && q.ctx.Err() == nil {
		q.handlers.failed("task", r.times, err)
	}
	if err != nil && r.times >= mostReceives && !errors.Is(err, port.ErrUnavailable) {
		err = q.handlers.deadTask(q.ctx, r.message)
	}
	if err == nil {
		q.memory.Give(held(r.message))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks.running--
	if err != nil {
		q.addTask(r, pause(r.times))
	}
	q.deliver()
}

// pause before a message comes again: twice as long each time, give or take a half, so that those that failed together do
// not come again together.
func pause(times int) time.Duration {
	p := min(firstPause<<min(times-1, 20), longestPause)
	return p/2 + rand.N(p)
}

// push makes room where messages were that are gone, before it takes more: a backlog need not come to an end for a long time.
func (l *lane[M]) push(r received[M]) {
	if len(l.ready) == cap(l.ready) && l.head > len(l.ready)/2 {
		left := copy(l.ready, l.ready[l.head:])
		clear(l.ready[left:])
		l.ready, l.head = l.ready[:left], 0
	}
	l.ready = append(l.ready, r)
}

func (l *lane[M]) may() bool { return l.head < len(l.ready) && l.running < l.most }

func (l *lane[M]) pop() received[M] {
	r := l.ready[l.head]
	l.ready[l.head] = received[M]{}
	l.head++
	if l.head == len(l.ready) {
		l.ready, l.head = l.ready[:0], 0
		if cap(l.ready) > 4096 { // a burst is over: its room goes back
			l.ready = nil
		}
	}
	l.running++
	return r
}

// delays is a heap of messages that are not ready yet, the earliest first.
type delays []*delayed

type delayed struct {
	at    time.Time
	ready func()
	place int   // in the heap
	timer timer // whose firing it carries, if it does
}

// timer is known by its run and the key of its firing.
type timer struct{ run, key string }

func (d delays) Len() int           { return len(d) }
func (d delays) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d delays) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

func (d *delays) Push(x any) {
	x.(*delayed).place = len(*d)
	*d = append(*d, x.(*delayed))
}

func (d *delays) Pop() any {
	last := (*d)[len(*d)-1]
	(*d)[len(*d)-1] = nil
	*d = (*d)[:len(*d)-1]
	return last
}

// delay keeps a message until its time. The lock is held.
func (q *queue) delay(d time.Duration, ready func()) *delayed {
	later := &delayed{at: q.clock.Now().Add(d), ready: ready}
	heap.Push(&q.delayed, later)
	if later.place == 0 {
		q.arm()
	}
	return later
}

// forget drops the firings of timers, and gives the timers whose firing is not delayed here.
func (q *queue) forget(timers []port.DueTimer) (others []port.DueTimer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range timers {
		known := timer{t.Run, (&history.TimerFired{Seq: t.Seq}).Key(t.Generation)}
		d := q.timers[known]
		if d == nil {
			others = append(others, t)
			continue
		}
		heap.Remove(&q.delayed, d.place)
		delete(q.timers, known)
	}
	return others
}

// arm sets the alarm for the earliest message. The lock is held.
func (q *queue) arm() {
	if len(q.delayed) == 0 || q.closed {
		return
	}
	if q.disarm != nil {
		q.disarm()
	}
	q.disarm = q.clock.AfterFunc(min(q.delayed[0].at.Sub(q.clock.Now()), longestNap), q.release)
}

// release makes ready what is due.
func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	for len(q.delayed) > 0 && !q.delayed[0].at.After(now) {
		d := heap.Pop(&q.delayed).(*delayed)
		if q.timers[d.timer] == d {
			delete(q.timers, d.timer)
		}
		d.ready()
	}
	q.arm()
	q.deliver()
}

// backlog is how many messages are ready and not yet handled, how many are delayed, and how many
// are being handled.
func (q *queue) backlog() (ready, delayed, inFlight int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.resumes.ready) - q.resumes.head + len(q.tasks.ready) - q.tasks.head, len(q.delayed),
		q.resumes.running + q.tasks.running
}
