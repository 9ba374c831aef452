package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// letter is a message in one of the two queues.
type letter struct {
	resume *port.Resume
	task   *port.Task
	ready  time.Time
	times  int // delivered so far
}

func (l *letter) String() string {
	switch {
	case l.task != nil:
		what := "task"
		if l.task.Expire {
			what = "expiry"
		}
		return fmt.Sprintf("%s %s/%d/%d attempt %d", what, l.task.Run, l.task.Generation, l.task.Command.Seq(), l.task.Attempt)
	case l.resume.Carries != nil:
		return fmt.Sprintf("resume %s with %s", l.resume.Run, named(*l.resume.Carries))
	case l.resume.Unblocks != "":
		return "unblock " + l.resume.Run
	}
	return "resume " + l.resume.Run
}

// carried gives the letter's resume as a receiver reads it: nothing is shared with the sender, or with other receivers.
func (l *letter) carried() port.Resume {
	m := *l.resume
	m.Delay = 0
	if m.Carries != nil {
		item := *m.Carries
		item.Event = reread(item.Event)
		m.Carries = &item
	}
	return m
}

func reread(event history.Event) history.Event {
	again, err := history.DecodeEvent(history.EncodeEvent(event))
	if err != nil {
		panic(err)
	}
	return again
}

func (w *world) post(l *letter) {
	if l.resume != nil {
		read := l.carried()
		l.resume = &read
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.letters = append(w.letters, l)
	w.sent[l.String()]++
	w.wake()
}

// take removes the letters that match from the queues: "" matches all.
func (w *world) take(what string) (taken []*letter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.letters = slices.DeleteFunc(w.letters, func(l *letter) bool {
		if matches := what == "" || l.String() == what; matches {
			taken, w.stolen = append(taken, l), true
			return true
		}
		return false
	})
	return taken
}

// takeOne is take where exactly one is expected.
func (w *world) takeOne(what string) *letter {
	w.t.Helper()
	taken := w.take(what)
	require.Len(w.t, taken, 1, "letters of %q; there are %v", what, w.letters)
	return taken[0]
}

// delivery is a letter that is being handled.
type delivery struct {
	w    *world
	done chan struct{}
	err  error
}

// deliver hands a letter to a process. Nothing follows from what the handler answers.
func (w *world) deliver(p *process, l *letter) *delivery {
	w.mu.Lock()
	w.delivered++
	number := w.delivered
	l.times++
	p.busy++
	w.underway++
	w.note("%s receives %s", p.name, l)
	w.mu.Unlock()
	d := &delivery{w: w, done: make(chan struct{})}
	ctx := p.handler(l.task != nil)
	go func() {
		if l.task != nil {
			d.err = p.engine.Task(ctx, w.deadline(number), *l.task)
		} else {
			d.err = p.engine.Activate(ctx, w.deadline(number), []port.Resume{l.carried()})[0]
		}
		w.mu.Lock()
		w.tells(ctx, l.String(), d.err)
		w.note("%s answers %s: %v", p.name, l, d.err)
		if p.dead && d.err == nil { // it ended, but nobody was told
			d.err = errDead
		}
		p.busy--
		w.underway--
		w.wake()
		w.mu.Unlock()
		close(d.done)
	}()
	synctest.Wait()
	return d
}

func (w *world) deadline(number int) time.Time {
	switch {
	case w.together:
		return time.Time{}
	case w.lifetime != nil:
		return time.Now().Add(w.lifetime(number))
	}
	return time.Now().Add(time.Minute)
}

// wait waits for the handler's answer.
func (d *delivery) wait() error {
	<-d.done
	return d.err
}

// ended says whether the handler has answered.
func (d *delivery) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// settle delivers every letter and lets time pass, until nothing is left to come. Then an inbox is
// empty, unless its run is blocked: no message is left that would have an invocation read it.
func (w *world) settle() {
	w.t.Helper()
	if w.settleUntil(time.Time{}); w.stolen || w.t.Failed() {
		return
	}
	for _, run := range w.runs() {
		if w.summary(run).Blocked == nil {
			require.Empty(w.t, w.inbox(run), "no message is left, and run %s has items in its inbox", run)
		}
	}
}

// pass lets time pass, delivering what becomes ready.
func (w *world) pass(d time.Duration) { w.settleUntil(time.Now().Add(d)) }

const mostSteps = 3000

func (w *world) settleUntil(end time.Time) {
	w.t.Helper()
	for range mostSteps {
		synctest.Wait()
		if w.together && w.restart() {
			continue
		}
		if l := w.next(); l != nil {
			w.handle(l)
			continue
		}
		at, more := w.wakeUp(end)
		if !more {
			return
		}
		select {
		case <-w.changed:
		case <-time.After(time.Until(at)):
			if !end.IsZero() && !time.Now().Before(end) {
				return
			}
			w.fireDue()
		}
	}
	w.t.Fatalf("there is no end to it: the queues hold %v", w.letters)
}

// next takes the first letter that is ready.
func (w *world) next() *letter {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, l := range w.letters {
		if !l.ready.After(time.Now()) {
			w.letters = slices.Delete(w.letters, i, i+1)
			return l
		}
	}
	return nil
}

// handle delivers a letter; it comes again if that fails, and goes to the dead letter function in the end.
func (w *world) handle(l *letter) {
	role := "activate"
	if l.task != nil {
		role = "task"
	}
	if l.times >= mostTimes {
		w.bury(l)
		return
	}
	d := w.deliver(w.process(role), l)
	after := func() {
		if <-d.done; d.err != nil {
			w.again(l)
		}
	}
	if d.ended() {
		after()
	} else {
		go after()
	}
}

func (w *world) again(l *letter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.together && w.noProcess() {
		return // its queue is gone
	}
	l.ready = time.Now().Add(visibility)
	w.letters = append(w.letters, l)
	w.wake()
}

// bury hands a letter to the dead letter function.
func (w *world) bury(l *letter) {
	p := w.process("deadletter")
	ctx := p.handler(l.task != nil)
	var err error
	if l.task != nil {
		err = p.engine.DeadTask(ctx, *l.task)
	} else {
		err = p.engine.DeadResume(ctx, l.carried())
	}
	w.locked(func() { w.tells(ctx, "dead "+l.String(), err) })
	if err != nil {
		w.again(l)
	}
}

// restart begins a new process where the last one has died, and rebuilds its queues.
func (w *world) restart() bool {
	w.mu.Lock()
	gone := w.noProcess() && len(w.processes) > 0
	w.mu.Unlock()
	if !gone {
		return false
	}
	p := w.newProcess("node")
	ctx := p.handler(false)
	_, err := p.engine.Rebuild(ctx)
	w.locked(func() {
		if w.tells(ctx, "rebuild", err); err != nil {
			w.kill(p)
		}
	})
	return true
}

// noProcess says that all are dead. The lock is held.
func (w *world) noProcess() bool {
	return !slices.ContainsFunc(w.processes, func(p *process) bool { return !p.dead })
}

// wakeUp says when something is to happen next.
func (w *world) wakeUp(end time.Time) (at time.Time, more bool) {
	earliest := func(t time.Time) {
		if !more || t.Before(at) {
			at, more = t, true
		}
	}
	w.mu.Lock()
	for _, l := range w.letters {
		earliest(l.ready)
	}
	if w.underway > 0 {
		earliest(time.Now().Add(100 * 24 * time.Hour))
	}
	w.mu.Unlock()
	due, err := w.store.DueBefore(context.Background(), time.Now().Add(1000*24*time.Hour))
	require.NoError(w.t, err)
	if len(due) > 0 {
		earliest(later(due[0].At.Add(-13*time.Minute), time.Now().Add(time.Minute)))
	}
	if !end.IsZero() {
		earliest(end)
	}
	return at, more
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// fireDue is functions/timer, once; its error is mended by its next pass.
func (w *world) fireDue() {
	p := w.process("timer")
	ctx := p.handler(false)
	_, err := p.engine.FireDue(ctx)
	w.locked(func() { w.tells(ctx, "the schedule", err) })
}

// api makes a call as the API does for its caller, who repeats it until there is an answer.
func (w *world) api(do func(ctx context.Context, e *engine.Engine) error) error {
	for {
		for w.together && w.restart() { // no call is served before a rebuild has succeeded
		}
		p := w.process("api")
		ctx := p.handler(false)
		err := do(ctx, p.engine)
		w.locked(func() { w.tells(ctx, "a call of the API", err) })
		if port.CodeOf(err) != port.Unavailable {
			return err
		}
	}
}

func (w *world) start(run, workflow, input string) {
	w.t.Helper()
	require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) error {
		_, _, err := e.Start(ctx, engine.StartRequest{Run: run, Workflow: workflow, Input: history.Payload(input)})
		return err
	}))
}

func (w *world) signal(run, id, name, input string) (accepted engine.Accepted) {
	w.t.Helper()
	require.NoError(w.t, w.api(func(ctx context.Context, e *engine.Engine) (err error) {
		accepted, err = e.Signal(ctx, engine.MessageRequest{Run: run, ID: id, Unique: true}, name, history.Payload(input))
		return err
	}))
	return accepted
}
