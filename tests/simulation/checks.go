package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

// checks are what must hold, looked at after every event that changes a log, and once all is quiet.
type checks struct {
	s       *simulation
	nodes   map[string]*node // by program and id
	runs    map[string]*checkedRun
	records int
	witness *process // replays every record as soon as it is there
}

type checkedRun struct {
	generations map[int]*checkedLog
	filed       map[string]int // event at which mail came into the inbox, by key
	taken       map[string]bool
	letters     []acceptedMail
	answers     map[string]engine.UpdateAnswer
	logged      map[string]string // final answers to updates, as the log has them
	order       map[string]int    // of mail in the log
}

// acceptedMail is mail whose sender was told that it is accepted.
type acceptedMail struct {
	sender, id string
	stamp      int64
}

// checkedLog is one generation's log, as far as it is stored.
type checkedLog struct {
	last     int
	time     time.Time
	closed   bool
	keys     map[string]bool
	asked    map[int64]asked
	resolved map[int64]bool
	// cancelled children may never have begun.
	cancelled map[int64]bool
	naive     *naive
}

// asked is a command that waits for an answer.
type asked struct {
	command history.Sequenced
	at      time.Time
}

func newChecks(s *simulation) *checks {
	c := &checks{s: s, nodes: map[string]*node{}, runs: map[string]*checkedRun{}}
	for _, p := range s.programs {
		p.each(func(n *node) { c.nodes[p.Name+"."+n.ID] = n })
	}
	c.witness = c.newWitness()
	return c
}

// newWitness makes an engine that sees the world as it is, and changes nothing.
func (c *checks) newWitness() *process {
	p := &process{s: c.s, name: "witness", version: 2, ids: c.s.c.stream(ofProcesses), lives: map[string]*life{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.engine = c.s.newEngine(engine.Ports{Runs: c.s.store, Directory: c.s.store, Due: c.s.store, Tasks: c.s.store, Queue: direct{}, Clock: p, Authors: p,
		NewID: p.newID}, p)
	return p
}

func (c *checks) close() {
	c.witness.engine.Close()
	for _, run := range c.runs {
		for _, log := range run.generations {
			log.naive.close()
		}
	}
}

// names lists all runs, in order.
func (c *checks) names() (names []string) {
	for name := range c.runs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *checks) created(summary *engine.Summary) {
	c.runs[summary.Run] = &checkedRun{generations: map[int]*checkedLog{}, filed: map[string]int{}, taken: map[string]bool{},
		answers: map[string]engine.UpdateAnswer{}, logged: map[string]string{}, order: map[string]int{}}
}

func (c *checks) starts(run string) {
	if c.runs[run] == nil {
		c.s.violate("run %s was promised to its caller, and is not there", run)
	}
}

func (c *checks) filed(run string, item engine.Item) {
	if _, mail := item.Event.(history.Mail); mail {
		if _, before := c.runs[run].filed[item.Key]; !before {
			c.runs[run].filed[item.Key] = c.s.events
		}
	}
}

func (c *checks) accepted(by *caller, a act, accepted engine.Accepted) {
	run := c.runs[by.run]
	if !slices.ContainsFunc(run.letters, func(l acceptedMail) bool { return l.id == a.id }) {
		run.letters = append(run.letters, acceptedMail{by.name, a.id, accepted.Stamp})
	}
}

func (c *checks) answers(run, id string, answer engine.UpdateAnswer) {
	if text, before := c.runs[run].answers[id]; before && showAnswer(text) != showAnswer(answer) {
		c.s.violate("update %s of run %s was answered %s, and then %s", id, run, showAnswer(text), showAnswer(answer))
	}
	c.runs[run].answers[id] = answer
}

func showAnswer(answer engine.UpdateAnswer) string {
	return fmt.Sprintf("%s %s %t", answer.Phase, answer.Result, answer.Failure != nil)
}

// blocked checks why a run is blocked: only what faults can bring about is a reason.
func (c *checks) blocked(p *process, run string, mark *engine.Block) {
	outdated := mark.Reason == engine.ReasonNondeterminism && p.version == 1 && c.s.version == 2
	if mark.Reason != engine.ReasonUndeliverable && !outdated {
		c.s.violate("run %s is blocked by %s: %s: %s", run, p.name, mark.Reason, mark.Message)
	}
	c.s.note("run %s is blocked: %s", run, mark.Reason)
}

// begins checks that no step is run by two living handlers at once. The lock is held.
func (c *checks) begins(w *job) {
	for _, other := range c.s.works {
		if w.step && other.key == w.key && !other.p.dead {
			c.s.violate("step %s is run by %s and %s at once", w.key, other.p.name, w.p.name)
		}
	}
}

// stored checks a record that has just been put.
func (c *checks) stored(by *call, commit *engine.Commit) {
	rec := commit.Record
	if rec == nil {
		c.s.violate("run %s was begun anew, which nobody asked for", commit.Run)
		return
	}
	c.records++
	run := c.runs[commit.Run]
	log := run.generations[commit.Generation]
	if log == nil {
		log = c.newLog(commit)
		if log == nil {
			return
		}
		run.generations[commit.Generation] = log
	}
	where := fmt.Sprintf("record %d of generation %d of run %s", rec.Number, commit.Generation, commit.Run)
	switch {
	case rec.Number != log.last+1:
		c.s.violate("%s comes after record %d", where, log.last)
	case log.closed:
		c.s.violate("%s comes after the end", where)
	case rec.Time.Before(log.time):
		c.s.violate("%s goes back in time", where)
	}
	log.last, log.time, log.closed = rec.Number, rec.Time, rec.Closes() != nil
	for _, event := range rec.Events {
		c.event(where, run, log, commit.Generation, event)
	}
	for _, command := range rec.Commands {
		if sequenced, ok := command.(history.Sequenced); ok {
			if _, before := log.asked[sequenced.Seq()]; !before {
				log.asked[sequenced.Seq()] = asked{sequenced, rec.Time}
			}
		}
		if cancel, ok := command.(*history.CancelChild); ok {
			log.cancelled[cancel.Seq()] = true
		}
		if respond, ok := command.(*history.RespondUpdate); ok && respond.Phase != history.UpdateAccepted {
			answer := engine.UpdateAnswer{Phase: respond.Phase, Result: respond.Result, Failure: respond.Failure}
			if _, before := run.logged[respond.ID]; before {
				c.s.violate("%s answers update %s a second time", where, respond.ID)
			}
			run.logged[respond.ID] = showAnswer(answer)
		}
	}
	administrative := slices.ContainsFunc(rec.Events, func(e history.Event) bool { _, ok := e.(*history.TerminateRequested); return ok })
	handsOver := len(rec.Events) == 0 && (len(rec.Tried) > 0 || rec.Until.Equal(rec.Time)) // it may have found the run blocked
	if !administrative && !handsOver {
		c.taken(where, run, by, commit.Run)
	}
	c.compare(where, log, commit, by.p, administrative)
}

func (c *checks) newLog(commit *engine.Commit) *checkedLog {
	for _, event := range commit.Record.Events {
		if started, ok := event.(*history.Started); ok {
			return &checkedLog{keys: map[string]bool{}, asked: map[int64]asked{}, resolved: map[int64]bool{}, cancelled: map[int64]bool{}, naive: newNaive(c.s.programs[started.Workflow])}
		}
	}
	if _, terminated := commit.Record.Events[0].(*history.TerminateRequested); terminated {
		return &checkedLog{keys: map[string]bool{}, asked: map[int64]asked{}, resolved: map[int64]bool{}, cancelled: map[int64]bool{}, naive: newNaive(c.s.programs["p0"])}
	}
	c.s.violate("the log of run %s does not begin with its start", commit.Run)
	return nil
}

// event checks that what happened is taken once, and not before it can have happened.
func (c *checks) event(where string, run *checkedRun, log *checkedLog, generation int, event history.Event) {
	key := event.Key(generation)
	if _, mail := event.(history.Mail); mail {
		if run.taken[key] {
			c.s.violate("%s takes %s a second time", where, key)
		}
		run.taken[key] = true
		run.order[key] = len(run.order)
	}
	if log.keys[key] {
		c.s.violate("%s takes %s a second time", where, key)
	}
	log.keys[key] = true
	resolution, ok := event.(history.Resolution)
	if !ok {
		return
	}
	command, known := log.asked[resolution.Resolves()]
	if !known || log.resolved[resolution.Resolves()] {
		c.s.violate("%s takes %s, which nothing waits for", where, key)
		return
	}
	log.resolved[resolution.Resolves()] = true
	switch event := event.(type) {
	case *history.TimerFired:
		due := command.at.Add(command.command.(*history.StartTimer).Duration)
		if c.s.now.Before(due.Add(-c.s.limits.skew)) {
			c.s.violate("%s takes %s %s too early", where, key, due.Sub(c.s.now))
		}
	case *history.ActivityResolved:
		id := command.command.(*history.ScheduleActivity).ID
		p := log.naive.code.program
		if n := c.nodes[p.Name+"."+id]; event.Failure == nil && number(event.Result) != n.value(p.Name) {
			c.s.violate("%s: activity %s gave %s", where, id, event.Result)
		}
	}
}

// taken checks that a record takes all mail that its author has seen.
func (c *checks) taken(where string, run *checkedRun, by *call, name string) {
	if by.invocation == nil {
		return
	}
	for key, at := range run.filed {
		if at < by.invocation.looked[name] && !run.taken[key] {
			c.s.violate("%s leaves %s in the inbox, which its author has seen", where, key)
		}
	}
}

// compare holds a record against the naive implementation and against a replay: commands, and what the code has seen.
func (c *checks) compare(where string, log *checkedLog, commit *engine.Commit, by *process, administrative bool) {
	want := log.naive.record(commit.Record)
	var have []string
	for _, command := range commit.Record.Commands {
		have = append(have, describe(command))
	}
	if !slices.Equal(want, have) {
		c.s.violate("%s has the commands\n%s\nand should have\n%s", where, strings.Join(have, "\n"), strings.Join(want, "\n"))
		return
	}
	if !administrative {
		c.sameSeen(where+", live in "+by.name, log, by.lives[commit.Run], commit.Generation)
	}
	if commit.Next != nil { // the run is in its next generation, which has not begun
		return
	}
	if _, err := c.witness.engine.Query(c.witness.ctx, commit.Run, "none", nil); engine.CodeOf(err) != engine.NotFound {
		c.s.violate("%s cannot be replayed: %v", where, err)
	} else {
		c.sameSeen(where+", replayed", log, c.witness.lives[commit.Run], commit.Generation)
	}
}

func (c *checks) sameSeen(where string, log *checkedLog, l *life, generation int) {
	want := log.naive.code.seen
	if l == nil || l.generation != generation {
		if len(want) > 0 {
			c.s.violate("%s: its code was never run", where)
		}
		return
	}
	if have := l.code.seen; !slices.Equal(want, have) {
		c.s.violate("%s: its code saw\n%s\nand should have seen\n%s", where, strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// quiet checks a world in which nothing happens by itself any more: whoever waits, waits for people.
func (c *checks) quiet() {
	for _, name := range c.names() {
		run, summary := c.runs[name], c.s.summary(name)
		if summary.Blocked != nil {
			c.s.violate("run %s is still blocked: %s", name, summary.Blocked.Reason)
			return
		}
		c.letters(name, run, summary)
		if summary.Status.Closed() {
			continue
		}
		log := run.generations[summary.Generation]
		if log == nil {
			c.s.violate("run %s waits for ever: its generation %d was not begun", name, summary.Generation)
			return
		}
		if owed := log.naive.owed(); len(owed) > 0 {
			c.s.violate("run %s waits for ever, for %s", name, strings.Join(owed, ", "))
		}
		for _, p := range log.naive.pending {
			child := c.s.summary(fmt.Sprintf("%s.%d.%d", name, summary.Generation, p.seq))
			if child == nil || child.Status.Closed() {
				c.s.violate("run %s waits for ever, for a child (seq %d) that is not there, or has ended", name, p.seq)
			}
		}
	}
}

// letters checks that what was accepted was taken, in the order of each sender.
func (c *checks) letters(name string, run *checkedRun, summary *engine.Summary) {
	last := map[string]acceptedMail{}
	for _, l := range run.letters {
		key := history.NewSignal(l.id, "", nil).Key(0)
		order, taken := run.order[key]
		if !taken {
			if !summary.Status.Closed() {
				c.s.violate("run %s: mail %s of %s was accepted, and is lost", name, l.id, l.sender)
			}
			continue
		}
		if before, more := last[l.sender]; more && order < run.order[history.NewSignal(before.id, "", nil).Key(0)] {
			c.s.violate("run %s: mail %s of %s was taken before %s", name, l.id, l.sender, before.id)
		}
		last[l.sender] = l
	}
}

// children checks that those were started that outlive their parent: nobody is there to miss them.
func (c *checks) children(name string, run *checkedRun) {
	for generation, log := range run.generations {
		for seq, asked := range log.asked {
			child, ok := asked.command.(*history.StartChild)
			if id := fmt.Sprintf("%s.%d.%d", name, generation, seq); ok && child.OnClose == history.LeaveChildren && !log.cancelled[seq] && c.s.summary(id) == nil {
				c.s.violate("run %s: its child %s was never started", name, id)
			}
		}
	}
}

// end checks a world in which every run was asked to end.
func (c *checks) end() {
	cold := c.newWitness()
	defer cold.engine.Close()
	for _, name := range c.names() {
		run, summary := c.runs[name], c.s.summary(name)
		view, err := c.s.store.Look(context.Background(), name, engine.Position{})
		switch {
		case err != nil:
			c.s.violate("run %s cannot be read: %v", name, err)
			return
		case summary.Blocked != nil || !summary.Status.Closed():
			c.s.violate("run %s has not ended: %s, blocked %t", name, summary.Status, summary.Blocked != nil)
			return
		case len(view.Inbox) > 0:
			c.s.violate("run %s has ended, and %s is left in its inbox", name, view.Inbox[0].Key)
		}
		c.letters(name, run, summary)
		c.children(name, run)
		for id, answer := range run.answers {
			if showAnswer(answer) != run.logged[id] {
				c.s.violate("update %s of run %s was answered %s, and the log says %s", id, name, showAnswer(answer), run.logged[id])
			}
		}
		log := run.generations[summary.Generation]
		if log == nil {
			c.s.violate("run %s has ended without a log of generation %d", name, summary.Generation)
			return
		}
		if log.naive.stateSet && number(summary.State) != log.naive.state {
			c.s.violate("run %s shows the state %s, and published %d", name, summary.State, log.naive.state)
		}
		if _, err := cold.engine.Query(cold.ctx, name, "none", nil); engine.CodeOf(err) != engine.NotFound {
			c.s.violate("run %s cannot be replayed: %v", name, err)
		}
		c.sameSeen("run "+name+", replayed as a whole", log, cold.lives[name], summary.Generation)
	}
}
