package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/system"
)

// process is one instance of a function, or the embedded server: an engine with a cache and a clock of its own. Dead, it
// makes no call any more.
type process struct {
	s       *simulation
	name    string
	role    string
	version int
	off     time.Duration // of its clock
	engine  *engine.Engine
	memory  *memory.Budget
	ctx     context.Context //nolint:containedctx // ends with the process
	cancel  context.CancelFunc
	dead    bool
	starts  bool // the embedded server rebuilds its queues, and serves nobody yet
	busy    int
	ids     *rand.Rand
	lives   map[string]*life // of runs in its memory
	authors int
}

// life is a run in a process's memory.
type life struct {
	generation int
	code       *code
}

// Roles.
const (
	roleAPI        = "api"
	roleActivate   = "activate"
	roleTask       = "task"
	roleTimer      = "timer"
	roleDeadLetter = "deadletter"
	roleNode       = "node"
)

func (s *simulation) newProcess(role string) *process {
	number := len(s.processes) + 1
	r := rand.New(rand.NewPCG(s.c.Seed, uint64(ofProcesses+1000*number))) //nolint:gosec // repeatable on purpose
	p := &process{s: s, name: fmt.Sprintf("%s-%d", role, number), role: role, version: s.version, ids: r, lives: map[string]*life{}}
	if s.limits.skew > 0 {
		p.off = time.Duration(r.Int64N(int64(s.limits.skew))) - s.limits.skew/2
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if s.limits.memory > 0 {
		p.memory = memory.New(s.limits.memory)
	}
	p.engine = s.newEngine(s.ports(p), p)
	s.mu.Lock()
	s.processes = append(s.processes, p)
	s.mu.Unlock()
	s.note("%s starts, version %d, its clock off by %s", p.name, p.version, p.off)
	return p
}

// newEngine makes an engine that runs the programs.
func (s *simulation) newEngine(ports port.Ports, p *process) *engine.Engine {
	announce := func(run string, generation int, c *code) { p.lives[run] = &life{generation, c} }
	step := func(ctx context.Context, e errand) (int, error) { return p.perform(ctx, e, true) }
	definitions := []workflow.Definition{work.Implement(func(ctx context.Context, e errand) (int, error) { return p.perform(ctx, e, false) })}
	interpreted := map[string]func() workflow.Definition{}
	for i := range len(s.programs) {
		program := s.programs[fmt.Sprintf("p%d", i)]
		made := func() workflow.Definition {
			if s.mended(p.version) {
				return definition[lenient](program, true, announce, step)
			}
			return definition[int](program, p.version == 2, announce, step)
		}
		switch {
		case program.Flow != nil:
		case s.limits.published:
			interpreted[program.Name] = made
		default:
			definitions = append(definitions, made())
		}
	}
	config := engine.Config{Definitions: definitions, Interpreters: s.interpreters(interpreted), TokenKey: []byte("0123456789abcdef0123456789abcdef"), Worker: p.name,
		Version: strconv.Itoa(p.version), LiveRuns: s.limits.liveRuns, Memory: p.memory, KnownMail: s.limits.known, CheckpointAfter: s.limits.checkpoint, Retention: s.limits.retention, StuckAfter: -1, Poll: 20 * time.Second}
	if s.limits.flows {
		p.forFlows(&config)
	}
	e, err := engine.New(ports, config)
	if err != nil {
		panic(err)
	}
	return e
}

// interpreters make programs of published definitions. All versions of a name are one program: what
// a version may change is not the simulation's subject, but which version a run has.
func (s *simulation) interpreters(made map[string]func() workflow.Definition) map[string]engine.Interpreter {
	all := map[string]engine.Interpreter{}
	if len(made) > 0 {
		all[kindOfPrograms] = func(name, _ string) (workflow.Definition, error) { return made[name](), nil }
	}
	if s.limits.flows {
		all[kindOfFlows] = s.interpretFlow
	}
	return all
}

func (p *process) newID() string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return fmt.Sprintf("%016x%016x", p.ids.Uint64(), p.ids.Uint64())
}

// free gives a process of a role that can take another invocation: one that is there, or a new one.
func (s *simulation) free(role string) *process {
	if s.limits.together {
		if p := s.node(); p != nil && !p.starts {
			return p
		}
		return nil
	}
	idle, alive := s.idle(role)
	switch {
	case idle != nil:
		return idle
	case alive >= s.limits.atOnce && (role == roleActivate || role == roleTask):
		return nil
	}
	return s.newProcess(role)
}

// idle gives the first process of a role that has nothing to do, if there is one; else how many there are.
func (s *simulation) idle(role string) (idle *process, alive int) {
	for _, p := range s.processes {
		if p.role != role || p.dead {
			continue
		}
		if p.busy == 0 {
			return p, alive
		}
		alive++
	}
	return nil, alive
}

func (s *simulation) node() *process {
	for _, p := range s.processes {
		if p.role == roleNode && !p.dead {
			return p
		}
	}
	return nil
}

// kill ends a process: nothing that it does from here on reaches the world. Its queues die with it where it has its own.
func (s *simulation) kill(p *process) {
	if p.dead {
		return
	}
	s.note("%s dies", p.name)
	s.mu.Lock()
	p.dead = true
	var calls []*call
	s.parked = slices.DeleteFunc(s.parked, func(c *call) bool {
		if c.p == p {
			calls = append(calls, c)
		}
		return c.p == p
	})
	s.works = slices.DeleteFunc(s.works, func(w *job) bool { return w.p == p })
	s.invocations = slices.DeleteFunc(s.invocations, func(i *invocation) bool {
		if i.p == p {
			s.ended = append(s.ended, i)
			i.err = errDead
		}
		return i.p == p
	})
	s.mu.Unlock()
	p.cancel()
	for _, c := range calls {
		c.answer <- errDead
	}
	if p.role == roleNode {
		s.loseMemory()
	}
}

// Now implements engine.Clock.
func (p *process) Now() time.Time {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.now.Add(p.off)
}

// alarm is a function to be called at a time.
type alarm struct {
	p      *process
	at     time.Time
	number int
	ring   func()
}

// AfterFunc implements engine.Clock.
func (p *process) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	a := &alarm{p, s.now.Add(max(d, 0)), s.begun, f}
	if s.over || d <= 0 {
		go f()
		return func() bool { return false }
	}
	s.alarms = append(s.alarms, a)
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		before := len(s.alarms)
		s.alarms = slices.DeleteFunc(s.alarms, func(other *alarm) bool { return other == a })
		return len(s.alarms) < before
	}
}

// newAuthors makes those that the process's role has in use: a function's end with their deadlines,
// the server's with it.
func (p *process) newAuthors() port.Authors {
	if p.role == roleNode {
		return system.NewProcess(p.name)
	}
	return system.Invocations{NewID: func() string {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.authors++
		return fmt.Sprintf("%s.%d", p.name, p.authors)
	}}
}

// job is an activity or a step under way.
type job struct {
	p      *process
	key    string
	number int
	step   bool
	due    time.Time
	beats  int
	wake   chan struct{} // it goes on
}

// workKey names an activity's call.
func workKey(run string, generation int, seq string) string {
	return fmt.Sprintf("%s %s/%d/%s", run, run, generation, seq)
}

// workTime is how long an attempt takes, beside the time between heartbeats.
func workTime(run string, generation int, seq int64) time.Duration {
	return time.Duration(len(workKey(run, generation, strconv.FormatInt(seq, 10)))*37%3) * time.Second
}

// beatTime is how long an attempt takes for a heartbeat.
const beatTime = 300 * time.Millisecond

// perform is the function of every activity and step.
func (p *process) perform(ctx context.Context, e errand, step bool) (int, error) {
	n := p.s.checks.nodes[e.Program+"."+e.Node]
	if err := p.work(ctx, n, step); err != nil {
		return 0, err
	}
	info := activity.InfoOf(ctx)
	if n.Later > 0 && info.Attempt == 1 {
		p.s.entrust(n, e, info, activity.Token(ctx))
		return 0, activity.ErrPending
	}
	if info.Attempt <= n.Fails {
		return 0, activity.Fail("again", "attempt %d of %s", info.Attempt, n.ID)
	}
	if n.Dies != "" {
		return 0, activity.NonRetryable(activity.Fail(n.Dies, "%s", n.ID))
	}
	return n.value(e.Program), nil
}

// work takes the time of an attempt, heartbeats included.
func (p *process) work(ctx context.Context, n *node, step bool) error {
	s := p.s
	info := activity.InfoOf(ctx)
	seq := seqOf(info)
	w := &job{p: p, key: workKey(info.RunID, info.Generation, seq), step: step, beats: n.Beats, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.begun++
	w.number = s.begun
	number, _ := strconv.ParseInt(seq, 10, 64)
	w.due = s.now.Add(workTime(info.RunID, info.Generation, number))
	if hangs := n.Hangs && info.Attempt == 1; hangs {
		w.due = s.now.Add(1000 * time.Hour)
	}
	if p.dead || s.over {
		s.mu.Unlock()
		return errDead
	}
	s.checks.begins(w)
	s.checks.inTime(w, n, info.RunID, info.Generation, number, info.Attempt)
	s.checks.keyed(info.RunID, info.Generation, seq, info.IdempotencyKey)
	s.works = append(s.works, w)
	s.mu.Unlock()
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			s.mu.Lock()
			s.works = slices.DeleteFunc(s.works, func(other *job) bool { return other == w })
			s.mu.Unlock()
			return ctx.Err()
		}
		if w.beats == 0 {
			return nil
		}
		w.beats--
		if err := activity.Heartbeat(ctx, w.beats); err != nil {
			return err
		}
		s.mu.Lock()
		w.due = s.now.Add(beatTime)
		s.works = append(s.works, w)
		s.mu.Unlock()
	}
}

// entrust leaves the answer of an attempt to somebody outside.
func (s *simulation) entrust(n *node, e errand, info activity.Info, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &caller{name: "completer of " + info.IdempotencyKey, run: info.RunID, token: token, at: s.now.Add(n.Later)}
	if n.Beats > 0 {
		c.acts = append(c.acts, act{do: toHeartbeat})
	}
	c.acts = append(c.acts, act{do: toComplete, id: "result#" + strconv.Itoa(info.Generation) + "#" + seqOf(info), value: n.value(e.Program), fails: n.Dies})
	s.entrusted = append(s.entrusted, c)
}

// seqOf is the number of an activity's call.
func seqOf(info activity.Info) string {
	return info.IdempotencyKey[strings.LastIndexByte(info.IdempotencyKey, '/')+1:]
}

// takeEntrusted has those go on who were given a token, in an order that is the same each time.
func (s *simulation) takeEntrusted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.entrusted, func(a, b *caller) int { return cmp.Compare(a.name, b.name) })
	s.callers = append(s.callers, s.entrusted...)
	s.entrusted = nil
}

// proceed lets an activity go on.
func (s *simulation) proceed(w *job) {
	s.mu.Lock()
	s.works = slices.DeleteFunc(s.works, func(other *job) bool { return other == w })
	s.mu.Unlock()
	s.note("%s goes on with %s", w.p.name, w.key)
	w.wake <- struct{}{}
}

// deploy replaces the code: what is under way goes on with the old one, which is replaced once it is idle.
func (s *simulation) deploy() {
	s.note("deployment of version 2")
	s.version = 2
	for _, p := range s.processes {
		if p.busy == 0 {
			s.kill(p)
		}
	}
}

// replaceIdle ends a process that has nothing to do.
func (s *simulation) replaceIdle() {
	for _, p := range s.processes {
		if p.busy == 0 && !p.dead {
			s.kill(p)
			return
		}
	}
}
