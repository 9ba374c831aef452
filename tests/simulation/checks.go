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
	filed       map[string]filing // when mail came into the inbox, by key
	taken       map[string]bool
	tooLate     map[string]bool // mail that may have been dropped when the run had ended, before a reset had it go on
	letters     []acceptedMail
	answers     map[string]engine.UpdateAnswer
	completed   map[string]bool     // activities whose completion was accepted, by the key of their result
	logged      map[string][]string // final answers to updates, as the logs have them: one for each generation that gave it
	order       map[string]int      // of mail in the log
	resets      []reset             // whose sender was told that they are accepted
}

// filing is when mail came: the event at which it came first, and the time at which it came last.
type filing struct {
	event int
	last  time.Time
}

// acceptedMail is mail whose sender was told that it is accepted.
type acceptedMail struct {
	sender, id string
	stamp      int64
	overtakes  bool // what ends a run is taken before all else
}

// checkedLog is one generation's log, as far as it is stored.
type checkedLog struct {
	last     int
	time     time.Time
	closed   bool
	base     *history.Base     // a reset began it
	records  []*history.Record // its own
	keys     map[string]bool
	asked    map[int64]asked
	resolved map[int64]bool
	// cancelled children may never have begun.
	cancelled map[int64]bool
	phases    map[string]history.UpdatePhase // of updates
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
	c.runs[summary.Run] = &checkedRun{generations: map[int]*checkedLog{}, filed: map[string]filing{}, taken: map[string]bool{}, tooLate: map[string]bool{},
		answers: map[string]engine.UpdateAnswer{}, completed: map[string]bool{}, logged: map[string][]string{}, order: map[string]int{}}
}

func (c *checks) starts(run string) {
	if c.runs[run] == nil {
		c.s.violate("run %s was promised to its caller, and is not there", run)
	}
}

func (c *checks) filed(run string, item engine.Item) {
	if _, resets := item.Event.(*history.ResetRequested); resets {
		return // it may be too late; quiet says whether it is lost
	}
	if item.Stamp < c.s.summary(run).Started.UnixNano() {
		return // it was sent to the run that had the id before: nobody takes it, unless its sender repeats it
	}
	if _, mail := item.Event.(history.Mail); mail {
		of, before := c.runs[run].filed[item.Key]
		if of.last = c.s.now; !before {
			of.event = c.s.events
		}
		c.runs[run].filed[item.Key] = of
	}
}

func (c *checks) accepted(by *caller, a act, accepted engine.Accepted) {
	run := c.runs[by.run]
	if !slices.ContainsFunc(run.letters, func(l acceptedMail) bool { return l.id == a.id }) {
		run.letters = append(run.letters, acceptedMail{by.name, a.id, accepted.Stamp, a.do == toTerminate})
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
	rec, run := commit.Record, c.runs[commit.Run]
	c.carried(commit, run)
	if rec == nil {
		for key := range run.filed { // order-insensitive: a set is made
			run.tooLate[key] = run.tooLate[key] || !run.taken[key]
		}
		return
	}
	c.records++
	log := run.generations[commit.Generation]
	if log == nil {
		if log = c.newLog(run, commit); log == nil {
			return
		}
		run.generations[commit.Generation] = log
	}
	administrative := slices.ContainsFunc(rec.Events, func(e history.Event) bool {
		_, terminates := e.(*history.TerminateRequested)
		_, resets := e.(*history.ResetRequested)
		return terminates || resets
	})
	where := fmt.Sprintf("record %d of generation %d of run %s", rec.Number, commit.Generation, commit.Run)
	switch {
	case rec.Number != log.last+1:
		c.s.violate("%s comes after record %d", where, log.last)
	case log.closed:
		c.s.violate("%s comes after the end", where)
	case rec.Time.Before(log.time) && !(rec.Number == 1 && administrative): // no code of a generation that was ended before it began sees its time
		c.s.violate("%s goes back in time", where)
	}
	log.last, log.time, log.closed = rec.Number, rec.Time, rec.Closes() != nil
	log.records = append(log.records, rec)
	for _, event := range rec.Events {
		c.event(where, commit.Run, run, log, commit.Generation, event)
	}
	for _, command := range rec.Commands {
		log.ask(command, rec.Time)
		if respond, ok := command.(*history.RespondUpdate); ok {
			if before := log.phases[respond.ID]; before == respond.Phase || before != "" && before != history.UpdateAccepted {
				c.s.violate("%s answers update %s a second time", where, respond.ID)
			}
			log.phases[respond.ID] = respond.Phase
			if respond.Phase == history.UpdateAccepted {
				continue
			}
			answer := engine.UpdateAnswer{Phase: respond.Phase, Result: respond.Result, Failure: respond.Failure}
			run.logged[respond.ID] = append(run.logged[respond.ID], showAnswer(answer))
		}
	}
	handsOver := len(rec.Events) == 0 && (len(rec.Tried) > 0 || rec.Until.Equal(rec.Time)) // it may have found the run blocked
	if !administrative && !handsOver {
		c.taken(where, run, by, commit.Run)
	}
	c.compare(where, log, commit, by.p, administrative)
}

// carried checks what a generation hands on to the next: the signals that its code has not had, or, at a reset, those that it
// had after the place which it goes on from.
func (c *checks) carried(commit *engine.Commit, run *checkedRun) {
	if commit.Next == nil {
		return
	}
	started := commit.Next.Event.(*history.Started)
	if started.Base == nil {
		return // a start has none; of a continued run, compare knows what it must be, once the naive implementation has had the record
	}
	var want, have []string
	log := run.generations[started.Base.Generation]
	for _, rec := range log.records[started.Base.Record:] {
		for _, event := range rec.Events {
			switch event := event.(type) {
			case *history.SignalReceived:
				want = append(want, event.ID)
			case *history.UpdateReceived:
				if phase := log.phases[event.ID]; phase != history.UpdateRejected {
					want = append(want, fmt.Sprint(event.ID, event.Accepted || phase != ""))
				}
			}
		}
	}
	for _, letter := range started.Letters {
		id := letter.MailID()
		if update, ok := letter.(*history.UpdateReceived); ok {
			id += fmt.Sprint(update.Accepted)
		}
		have = append(have, id)
	}
	if !slices.Equal(have, want) {
		c.s.violate("the reset of run %s hands on %v, and should hand on %v", commit.Run, have, want)
	}
}

func (c *checks) sameSignals(where string, started *history.Started, want []string) {
	var have []string
	for _, signal := range started.Signals {
		have = append(have, signal.ID)
	}
	if !slices.Equal(have, want) {
		c.s.violate("%s hands on the signals %v, and should hand on %v", where, have, want)
	}
}

func newCheckedLog(p *program) *checkedLog {
	return &checkedLog{keys: map[string]bool{}, asked: map[int64]asked{}, resolved: map[int64]bool{}, cancelled: map[int64]bool{},
		phases: map[string]history.UpdatePhase{}, naive: newNaive(p)}
}

func (c *checks) newLog(run *checkedRun, commit *engine.Commit) *checkedLog {
	for _, event := range commit.Record.Events {
		if started, ok := event.(*history.Started); ok {
			log := newCheckedLog(c.s.programs[started.Workflow])
			if log.base = started.Base; log.base != nil {
				log.goOn(run, *log.base)
			}
			return log
		}
	}
	c.s.violate("the log of run %s does not begin with its start", commit.Run)
	return nil
}

// goOn has a log begin with what counts of earlier generations.
func (l *checkedLog) goOn(run *checkedRun, base history.Base) {
	earlier := run.generations[base.Generation]
	if earlier.base != nil {
		l.goOn(run, *earlier.base)
	}
	for _, rec := range earlier.records[:base.Record] {
		l.naive.record(rec)
		l.time = rec.Time
		for _, event := range rec.Events {
			if resolution, ok := event.(history.Resolution); ok {
				delete(l.asked, resolution.Resolves())
			}
		}
		for _, command := range rec.Commands {
			l.ask(command, rec.Time)
			if respond, ok := command.(*history.RespondUpdate); ok {
				l.phases[respond.ID] = respond.Phase
			}
		}
	}
}

// ask notes what a command waits for.
func (l *checkedLog) ask(command history.Command, at time.Time) {
	if sequenced, ok := command.(history.Sequenced); ok {
		if _, before := l.asked[sequenced.Seq()]; !before {
			l.asked[sequenced.Seq()] = asked{sequenced, at}
		}
	}
	if cancel, ok := command.(*history.CancelChild); ok {
		l.cancelled[cancel.Seq()] = true
	}
}

// event checks that what happened is taken once, and not before it can have happened.
func (c *checks) event(where, name string, run *checkedRun, log *checkedLog, generation int, event history.Event) {
	key := event.Key(generation)
	if _, mail := event.(history.Mail); mail {
		if run.taken[key] {
			c.s.violate("%s takes %s a second time", where, key)
		}
		if filed, ok := run.filed[key]; ok && c.s.summary(name).Started.Sub(filed.last) > c.s.limits.skew {
			c.s.violate("%s takes %s, which was sent to a run that had the id before", where, key)
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
		if run.completed[key] && event.Worker != "token" {
			c.s.violate("%s: the completion of %s was accepted, and its answer is another's", where, key)
		}
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
		if at.event < by.invocation.looked[name] && !run.taken[key] && !run.tooLate[key] {
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
		if started := commit.Next.Event.(*history.Started); started.Base == nil {
			c.sameSignals(where, started, log.naive.unread())
		}
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
		for _, reset := range run.resets {
			if summary.Generation <= reset.generation {
				c.s.violate("run %s: its reset to record %d of generation %d was accepted, and is lost", name, reset.record, reset.generation)
			}
		}
		if summary.Status.Closed() {
			continue
		}
		log := run.generations[summary.Generation]
		if log == nil {
			c.s.violate("run %s waits for ever: its generation %d was not begun", name, summary.Generation)
			return
		}
		c.shown(name, summary, log)
		if owed := log.naive.owed(); len(owed) > 0 {
			c.s.violate("run %s waits for ever, for %s", name, strings.Join(owed, ", "))
		}
		for _, p := range log.naive.pending {
			id := fmt.Sprintf("%s.%d.%d", name, summary.Generation, p.seq)
			if child := c.s.summary(id); child == nil || child.Status.Closed() {
				c.s.violate("run %s waits for ever, for its child %s, which is not there, or has ended", name, id)
			} else if p.asked && !c.runs[id].taken[history.NewCancel("parent."+id, "").Key(0)] {
				c.s.violate("run %s has asked its child %s to stop, which was not told", name, id)
			}
		}
	}
}

// shown checks that a run shows what its code has published, and no more. What the generation before has published stays until
// this one has published something; a reset takes it back.
func (c *checks) shown(name string, summary *engine.Summary, log *checkedLog) {
	if begun := log.last > 0 && log.records[0].Closes() == nil; !begun {
		return
	}
	if state := number(summary.State); state != log.naive.state && (log.naive.stateSet || log.base != nil) {
		c.s.violate("run %s shows the state %d, and published %d", name, state, log.naive.state)
	}
	if attribute := number(summary.Attributes[keyed.Name()]); attribute != log.naive.keyed {
		c.s.violate("run %s shows the attribute %d, and has %d", name, attribute, log.naive.keyed)
	}
}

// letters checks that what was accepted was taken, in the order of each sender.
func (c *checks) letters(name string, run *checkedRun, summary *engine.Summary) {
	last := map[string]acceptedMail{}
	for _, l := range run.letters {
		key := history.NewSignal(l.id, "", nil).Key(0)
		order, taken := run.order[key]
		if !taken {
			if !summary.Status.Closed() && !run.tooLate[key] {
				c.s.violate("run %s: mail %s of %s was accepted, and is lost", name, l.id, l.sender)
			}
			continue
		}
		if l.overtakes || run.tooLate[key] {
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
			if !slices.Contains(run.logged[id], showAnswer(answer)) {
				c.s.violate("update %s of run %s was answered %s, and the log says %v", id, name, showAnswer(answer), run.logged[id])
			}
		}
		log := run.generations[summary.Generation]
		if log == nil {
			c.s.violate("run %s has ended without a log of generation %d", name, summary.Generation)
			return
		}
		c.shown(name, summary, log)
		if _, err := cold.engine.Query(cold.ctx, name, "none", nil); engine.CodeOf(err) != engine.NotFound {
			c.s.violate("run %s cannot be replayed: %v", name, err)
		}
		c.sameSeen("run "+name+", replayed as a whole", log, cold.lives[name], summary.Generation)
	}
}
