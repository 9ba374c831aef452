package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// queue is both queues: messages come at least once, in any order.
type queue struct {
	crowded time.Time // when a message last waited since all functions were busy
	letters []*letter // sorted by number
	sent    int
}

// letter is a message.
type letter struct {
	number   int
	resume   *port.Resume
	task     *port.Task
	ready    time.Time
	received int
	held     bool // by the embedded server, however long that takes
}

func (l *letter) String() string {
	switch {
	case l.task != nil:
		return fmt.Sprintf("task %s/%d/%d attempt %d", l.task.Run, l.task.Generation, l.task.Command.Seq(), l.task.Attempt)
	case l.resume.Carries != nil:
		return fmt.Sprintf("resume %s with %s", l.resume.Run, l.resume.Carries.Key)
	case l.resume.Unblocks != "":
		return "unblock " + l.resume.Run
	}
	return "resume " + l.resume.Run
}

func (l *letter) operation() string {
	if l.task != nil {
		return taskMessage
	}
	return resumeMessage
}

// read gives a resume as a receiver reads it: nothing is shared.
func read(m port.Resume) *port.Resume {
	m.Delay = 0
	if m.Carries != nil {
		item := *m.Carries
		event, err := history.DecodeEvent(history.EncodeEvent(item.Event))
		if err != nil {
			panic(err)
		}
		item.Event = event
		m.Carries = &item
	}
	return &m
}

func (s *simulation) post(l *letter, delay time.Duration) {
	s.queue.sent++
	l.number = s.queue.sent
	l.ready = s.now.Add(delay)
	if !s.limits.together && s.faults.strikes(late, l.operation()) {
		l.ready = l.ready.Add(time.Duration(1+s.faults.random.IntN(int(s.limits.latest/time.Second))) * time.Second)
	}
	s.queue.letters = append(s.queue.letters, l)
	if !s.limits.together && s.faults.strikes(delivered2, l.operation()) {
		again := *l
		s.queue.sent++
		again.number = s.queue.sent
		s.queue.letters = append(s.queue.letters, &again)
	}
	s.note("queued: %s, ready at %s", l, l.ready.Format("15:04:05"))
}

// ready lists what could be delivered now.
func (q *queue) ready(s *simulation) (ready []*letter) {
	for _, l := range q.letters {
		if l.held || l.ready.After(s.now) {
			continue
		}
		role := roleActivate
		if l.task != nil {
			role = roleTask
		}
		if s.full(role) {
			q.crowded = s.now
			continue
		}
		ready = append(ready, l)
	}
	return ready
}

// full says that no more processes of a role may be begun, and all are busy; or the embedded server is down.
func (s *simulation) full(role string) bool {
	if s.limits.together {
		return s.free(role) == nil
	}
	idle, alive := s.idle(role)
	return idle == nil && alive >= s.limits.atOnce
}

// invocation is one call of a function.
type invocation struct {
	number  int
	p       *process
	what    string
	letters []*letter
	ends    time.Time // when it is ended; zero: it may go on
	answers []error
	err     error
	then    func(err error) // what follows for a caller
	looked  map[string]int  // event at which it looked at a run last
	starts  []string        // filings of the starts that it asked for
	failed  []string        // calls that failed, and were not repeated with success
	ofTask  bool            // a task's, not a resume's
	gives   attributes      // that a caller gives the run which it starts
}

// begun is the invocation's number; none has 0.
func (i *invocation) begun() int {
	if i == nil {
		return 0
	}
	return i.number
}

type invocationKey struct{}

// invoke calls a function of a process.
func (s *simulation) invoke(p *process, what string, lifetime time.Duration, letters []*letter, do func(ctx context.Context, deadline time.Time) []error, then func(error)) {
	s.mu.Lock()
	s.begun++
	i := &invocation{number: s.begun, p: p, what: what, letters: letters, then: then, looked: map[string]int{},
		ofTask: len(letters) > 0 && letters[0].task != nil}
	deadline := time.Time{}
	if lifetime > 0 {
		i.ends = s.now.Add(lifetime)
		deadline = i.ends.Add(p.off)
	}
	p.busy++
	s.invocations = append(s.invocations, i)
	s.mu.Unlock()
	s.note("%s: %s", p.name, what)
	go func() {
		answers := do(context.WithValue(p.ctx, invocationKey{}, i), deadline)
		s.mu.Lock()
		defer s.mu.Unlock()
		p.busy--
		before := len(s.invocations)
		s.invocations = slices.DeleteFunc(s.invocations, func(other *invocation) bool { return other == i })
		if len(s.invocations) < before { // else its process is dead, and nobody was told
			i.answers = answers
			s.ended = append(s.ended, i)
		}
	}()
}

// activates is what an invocation of functions/activate does.
const activates = "activates for "

// deliver gives one or more of the messages to a function.
func (s *simulation) deliver(ready []*letter) {
	first := ready[s.random.IntN(len(ready))]
	if !s.limits.together && first.received >= s.limits.receives {
		s.bury(first)
		return
	}
	batch := []*letter{first}
	role, what := roleActivate, activates
	if first.task != nil {
		role, what = roleTask, "executes "
		s.checks.takes(first.task)
	}
	most := 1
	if role == roleActivate && !s.limits.together {
		most = 1 + s.random.IntN(s.limits.batch)
	}
	for _, l := range ready {
		if len(batch) < most && l != first && l.resume != nil && l.received < s.limits.receives {
			batch = append(batch, l)
		}
	}
	for i, l := range batch {
		l.received++
		l.ready = s.now.Add(s.limits.visibility)
		l.held = s.limits.together
		if what += l.String(); i < len(batch)-1 {
			what += ", "
		}
	}
	lifetime := s.limits.lifetime
	if s.limits.together {
		lifetime = 0
	}
	p := s.free(role)
	s.invoke(p, what, lifetime, batch, func(ctx context.Context, deadline time.Time) []error {
		if first.task != nil {
			task := *first.task
			task.Delay = 0
			return []error{p.engine.Task(ctx, deadline, task)}
		}
		messages := make([]port.Resume, len(batch))
		for i, l := range batch {
			messages[i] = *read(*l.resume)
		}
		return p.engine.Activate(ctx, deadline, messages)
	}, nil)
}

// bury gives a message to the function for dead letters.
func (s *simulation) bury(l *letter) {
	l.ready = s.now.Add(s.limits.visibility)
	p := s.free(roleDeadLetter)
	s.invoke(p, "buries "+l.String(), s.limits.lifetime, []*letter{l}, func(ctx context.Context, _ time.Time) []error {
		if l.task != nil {
			return []error{p.engine.DeadTask(ctx, *l.task)}
		}
		return []error{p.engine.DeadResume(ctx, *read(*l.resume))}
	}, nil)
}

// takeEnded looks at invocations that have ended: messages that were handled are deleted, others come again.
func (s *simulation) takeEnded() {
	s.mu.Lock()
	ended := s.ended
	s.ended = nil
	s.mu.Unlock()
	slices.SortFunc(ended, func(a, b *invocation) int { return cmp.Compare(a.number, b.number) })
	for _, i := range ended {
		s.note("%s ends: %v %v", i.p.name, i.answers, i.err)
		s.checkTold(i)
		for at, l := range i.letters {
			if i.err == nil && i.answers[at] == nil && (s.limits.together || !s.faults.strikes(unacknowledged, l.operation())) {
				s.queue.letters = slices.DeleteFunc(s.queue.letters, func(other *letter) bool { return other == l })
			} else if s.limits.together {
				l.held, l.ready = false, s.now.Add(time.Second)
			}
		}
		if i.then != nil {
			err := i.err
			if err == nil && len(i.answers) > 0 {
				err = i.answers[0]
			}
			i.then(err)
		}
		if s.version == 2 && i.p.version == 1 && i.p.busy == 0 {
			s.kill(i.p)
		}
	}
}

// purge loses all messages. What brings them back is a rebuild, once calls of the API have ended.
func (s *simulation) purge() {
	s.note("both queues are purged")
	s.queue.letters, s.rebuilds = nil, true
}

// loseMemory is what dies with the embedded server.
func (s *simulation) loseMemory() {
	s.queue.letters = nil
	for _, run := range s.checks.names() {
		for _, item := range s.inbox(run) {
			if !item.Durable {
				if err := s.store.Delete(context.Background(), run, []string{item.Key}); err != nil {
					panic(err)
				}
			}
		}
	}
}

func (s *simulation) restart() {
	p := s.newProcess(roleNode)
	p.starts = true
	s.rebuilding(p)
}

func (s *simulation) rebuild() {
	s.rebuilds = false
	s.rebuilding(s.newProcess(roleAPI))
}

func (s *simulation) rebuilding(p *process) {
	s.invoke(p, "rebuilds", 0, nil, func(ctx context.Context, _ time.Time) []error {
		_, err := p.engine.Rebuild(ctx)
		return []error{err}
	}, func(err error) {
		switch {
		case err == nil:
			p.starts = false
		case s.limits.together:
			s.kill(p) // as the server does that cannot start
		default:
			s.rebuilds = true
		}
	})
}

// dueAt is when functions/timer has something to do next.
func (s *simulation) dueAt() (at time.Time, more bool) {
	due, err := s.store.DueBefore(context.Background(), s.now.Add(10_000*time.Hour))
	if err != nil {
		panic(err)
	}
	if len(due) > 0 {
		at, more = due[0].At.Truncate(time.Minute).Add(-14*time.Minute+time.Millisecond), true
	}
	if s.outdated() {
		at, more = s.now, true
	}
	if at.Before(s.nextFire) {
		at = s.nextFire
	}
	return at, more
}

// fire is functions/timer, each minute.
func (s *simulation) fire() {
	s.nextFire = s.now.Add(time.Minute)
	p := s.free(roleTimer)
	if p == nil {
		return
	}
	s.invoke(p, "fires timers", 0, nil, func(ctx context.Context, _ time.Time) []error {
		_, err := p.engine.FireDue(ctx)
		if !s.limits.together {
			_, _, unblocked := p.engine.UnblockOlder(ctx, port.Deployment{Version: strconv.Itoa(p.version)})
			err = cmp.Or(err, unblocked)
		}
		return []error{err}
	}, nil)
}
