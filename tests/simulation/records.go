package simulation

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// checkedLog is one generation's log, as far as it is stored.
type checkedLog struct {
	last       int
	time       time.Time
	put        time.Time // when the first record was put
	closed     bool
	base       *history.Base     // a reset began it
	definition int               // the version that it has
	from       attributes        // with which it began, if no reset did
	continues  bool              // the generation before continued as this one
	began      int               // the generation in which its code began, whose records a reset kept
	records    []*history.Record // its own
	keys       map[string]bool
	asked      map[int64]asked
	resolved   map[int64]bool
	// cancelled children may never have begun.
	cancelled map[int64]bool
	phases    map[string]history.UpdatePhase // of updates
	// waits are what is pending, as checkpoints must say.
	waits map[int64]history.Pending
	naive *naive
}

// asked is a command that waits for an answer.
type asked struct {
	command    history.Sequenced
	at         time.Time // of the record
	put        time.Time // when the world was given it
	generation int       // whose record has it
}

// stored checks a record that has just been put.
func (c *checks) stored(by *call, commit *port.Commit) {
	rec, run := commit.Record, c.runs[commit.Run]
	c.carried(commit, run)
	if rec == nil {
		if !c.anew[commit.Run] {
			c.s.violate("run %s was begun anew, which nobody asked for", commit.Run)
		}
		run.count++                  // a reset, of which there is no record
		for key := range run.filed { // order-insensitive: a set is made
			run.tooLate[key] = run.tooLate[key] || !run.taken[key]
		}
		run.drop()
		return
	}
	c.records++
	log := run.generations[commit.Generation]
	if log == nil {
		if log = c.newLog(run, commit); log == nil {
			return
		}
		run.generations[commit.Generation], log.put = log, c.s.now
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
	c.checkpoint(where, log, rec)
	log.wait(rec, commit.Generation)
	log.last, log.time, log.closed = rec.Number, rec.Time, rec.Closes() != nil
	log.records = append(log.records, rec)
	_, resets := rec.Closes().(*history.ResetRun)
	for _, event := range rec.Events {
		c.event(where, commit.Run, run, log, commit.Generation, event)
		if signal, ok := event.(*history.SignalReceived); ok && resets {
			identity, _ := identityOf(signal)
			run.excluded[identity] = true
		}
	}
	for _, command := range rec.Commands {
		log.ask(command, rec.Time, c.s.now, commit.Generation)
		if respond, ok := command.(*history.RespondUpdate); ok {
			update := updateOf(respond)
			if before := log.phases[update]; (before == respond.Phase || before != "" && before != history.UpdateAccepted) && !run.filed[update+c.recipient(commit.Run)].again {
				c.s.violate("%s answers %s a second time", where, update)
			}
			log.phases[update] = respond.Phase
			if respond.Phase == history.UpdateAccepted {
				continue
			}
			answer := engine.UpdateAnswer{Phase: respond.Phase, Result: respond.Result, Failure: respond.Failure}
			run.logged[update] = append(run.logged[update], showAnswer(answer))
		}
	}
	handsOver := len(rec.Events) == 0 && (len(rec.Tried) > 0 || rec.Until.Equal(rec.Time)) // it may have found the run blocked
	if !administrative && !handsOver {
		c.taken(where, run, by, commit.Run)
	}
	c.missed(where, log, commit)
	c.compare(where, log, commit, by.p, administrative)
}

// carried checks what a reset hands on to the next generation: the signals and updates that came after the place which it goes on
// from. What continue-as-new hands on, compare checks: the naive implementation must have had the record.
func (c *checks) carried(commit *port.Commit, run *checkedRun) {
	if commit.Next == nil || commit.Next.Event.(*history.Started).Base == nil {
		return
	}
	started := commit.Next.Event.(*history.Started)
	var want, have []string
	after := slices.Clone(run.generations[started.Base.Generation].records[started.Base.Record:])
	for g := started.Base.Generation + 1; g < started.Generation; g++ {
		if log := run.generations[g]; log != nil { // else it had not begun
			after = append(after, log.records...)
		}
	}
	excludes := func(excluded bool) bool {
		for _, item := range run.filings { // order-insensitive: whether there is one
			if reset, ok := item.Event.(*history.ResetRequested); ok && reset.Base() == *started.Base && reset.ExcludeSignals == excluded {
				return true
			}
		}
		return false
	}
	phases := map[string]history.UpdatePhase{} // not those of another letter of that id, before the place
	for _, rec := range after {
		for _, command := range rec.Commands {
			if respond, ok := command.(*history.RespondUpdate); ok {
				phases[updateOf(respond)] = respond.Phase
			}
		}
	}
	for _, rec := range after {
		for _, event := range rec.Events {
			switch event := event.(type) {
			case *history.SignalReceived:
				if !excludes(true) || excludes(false) && slices.ContainsFunc(started.Letters, isSignal) {
					want = append(want, event.ID)
				}
			case *history.UpdateReceived:
				identity, _ := identityOf(event)
				if phase := phases[identity]; phase != history.UpdateRejected {
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

func isSignal(mail history.Mail) bool {
	_, is := mail.(*history.SignalReceived)
	return is
}

// updateOf is the identity of the update that is answered.
func updateOf(respond *history.RespondUpdate) string {
	return act{do: doing("update " + respond.Name), id: respond.ID}.identity()
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

func (c *checks) newCheckedLog(p *program) *checkedLog {
	return &checkedLog{keys: map[string]bool{}, asked: map[int64]asked{}, resolved: map[int64]bool{}, cancelled: map[int64]bool{},
		phases: map[string]history.UpdatePhase{}, waits: map[int64]history.Pending{}, naive: newNaive(p, c.s.mended(2), c.s.limits.long)}
}

func (c *checks) newLog(run *checkedRun, commit *port.Commit) *checkedLog {
	for _, event := range commit.Record.Events {
		if started, ok := event.(*history.Started); ok {
			c.pinned(run, commit, started)
			log := c.newCheckedLog(c.s.programs[started.Workflow])
			log.definition = started.Definition
			if log.base, log.began = started.Base, commit.Generation; log.base != nil {
				log.began = run.generations[log.base.Generation].began
				log.goOn(run, *log.base)
			} else {
				log.from = c.begunWith(run, started)
				if log.continues = continued(run, started); log.continues && log.naive.flow != nil {
					log.relive(run, commit.Generation-1)
				}
				log.naive.keyed = log.from
			}
			return log
		}
	}
	c.s.violate("the log of run %s does not begin with its start", commit.Run)
	return nil
}

// begunWith gives the attributes that a generation begins with: those of the one that continued as
// new, or those that the caller of its start gave.
func (c *checks) begunWith(run *checkedRun, started *history.Started) attributes {
	if continued(run, started) {
		return run.generations[started.Generation-1].naive.keyed
	}
	return c.given[started.Filing()]
}

// continued says whether the generation before continued as this one.
func continued(run *checkedRun, started *history.Started) bool {
	before := run.generations[started.Generation-1]
	return before != nil && strings.HasPrefix(before.naive.ended, "continue-as-new") && started.Base == nil
}

// relive has the naive implementation of a flow go through the generations that continue in this one.
func (l *checkedLog) relive(run *checkedRun, generation int) {
	earlier := run.generations[generation]
	if earlier.base != nil {
		l.reliveTo(run, *earlier.base)
	} else if earlier.continues {
		l.relive(run, generation-1)
	}
	for _, rec := range earlier.records {
		l.naive.record(rec)
	}
}

// reliveTo likewise goes to where a reset continues.
func (l *checkedLog) reliveTo(run *checkedRun, base history.Base) {
	earlier := run.generations[base.Generation]
	if earlier.base != nil {
		l.reliveTo(run, *earlier.base)
	} else if earlier.continues {
		l.relive(run, base.Generation-1)
	}
	for _, rec := range earlier.records[:base.Record] {
		l.naive.record(rec)
	}
}

// goOn has a log begin with what counts of earlier generations.
func (l *checkedLog) goOn(run *checkedRun, base history.Base) {
	earlier := run.generations[base.Generation]
	if earlier.base != nil {
		l.goOn(run, *earlier.base)
	} else {
		if earlier.continues && l.naive.flow != nil {
			l.relive(run, base.Generation-1)
		}
		l.naive.keyed = earlier.from
	}
	for _, rec := range earlier.records[:base.Record] {
		l.naive.record(rec)
		l.wait(rec, base.Generation)
		l.time = rec.Time
		for _, event := range rec.Events {
			if resolution, ok := event.(history.Resolution); ok {
				delete(l.asked, resolution.Resolves())
			}
		}
		for _, command := range rec.Commands {
			l.ask(command, rec.Time, rec.Time, base.Generation)
			if respond, ok := command.(*history.RespondUpdate); ok {
				l.phases[updateOf(respond)] = respond.Phase
			}
		}
	}
}

// checkpoint checks that a record which says what was pending before it names all of that, and no
// more: a rebuild reads nothing before it.
func (c *checks) checkpoint(where string, log *checkedLog, rec *history.Record) {
	if rec.Checkpoint == nil {
		return
	}
	c.checkpoints++
	want := &history.Checkpoint{}
	for _, seq := range slices.Sorted(maps.Keys(log.waits)) {
		want.Pending = append(want.Pending, log.waits[seq])
	}
	show := func(checkpoint *history.Checkpoint) string {
		return string(history.AppendRecord(nil, &history.Record{Checkpoint: checkpoint}))
	}
	if have, want := show(rec.Checkpoint), show(want); have != want {
		c.s.violate("%s has the checkpoint %s, and should have %s", where, have, want)
	}
}

// wait notes what is pending after a record.
func (l *checkedLog) wait(rec *history.Record, generation int) {
	for _, event := range rec.Events {
		switch event := event.(type) {
		case history.Resolution:
			delete(l.waits, event.Resolves())
		case *history.Started:
			for seq, p := range l.waits { // a reset: the limits of activities start again
				if _, activity := p.Command.(*history.ScheduleActivity); activity {
					p.Time = rec.Time
					l.waits[seq] = p
				}
			}
		}
	}
	for _, command := range rec.Commands {
		sequenced, ok := command.(history.Sequenced)
		if !ok {
			continue
		}
		seq := sequenced.Seq()
		waiting, before := l.waits[seq]
		switch command := command.(type) {
		case *history.CancelTimer:
			delete(l.waits, seq)
		case *history.CancelActivity, *history.CancelChild:
			if waiting.Cancel = command; before {
				l.waits[seq] = waiting
			}
			if cancel, ok := command.(*history.CancelActivity); ok && cancel.Abandoned {
				delete(l.waits, seq)
			}
		default:
			l.waits[seq] = history.Pending{Command: sequenced, Time: rec.Time, Generation: generation}
		}
	}
}

// ask notes what a command waits for.
func (l *checkedLog) ask(command history.Command, at, put time.Time, generation int) {
	if sequenced, ok := command.(history.Sequenced); ok {
		if _, before := l.asked[sequenced.Seq()]; !before {
			l.asked[sequenced.Seq()] = asked{sequenced, at, put, generation}
		}
	}
	if cancel, ok := command.(*history.CancelChild); ok {
		l.cancelled[cancel.Seq()] = true
	}
}

// event checks that what happened is taken once, and not before it can have happened.
func (c *checks) event(where, name string, run *checkedRun, log *checkedLog, generation int, event history.Event) {
	key := event.Key(generation)
	if mail, ok := event.(history.Mail); ok {
		item := run.filings[event.Filing()]
		identity, content := identityOf(mail)
		key := addressed(item)
		filed, stamp := run.filed[key], item.Stamp
		since := run.count - 1 - filed.before                                     // mail taken after it
		if run.taken[key] && (stamp == filed.taken || since < c.s.limits.known) { // else it is a repetition, come when it was forgotten
			c.s.violate("%s takes %s a second time", where, key)
		}
		if !c.isFor(name, item.Key) {
			c.s.violate("%s takes %s, which was sent to a run that had the id before", where, key)
		}
		filed.taken, filed.before, filed.again, filed.content = stamp, run.count, run.taken[key], content
		if _, before := run.order[identity]; !before { // a repetition that counts as another letter may have come late
			run.order[identity] = run.count
		}
		run.said[identity] = append(run.said[identity], content)
		run.filed[key], run.taken[key] = filed, true
		run.count++
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
		if log.base != nil && len(log.records) > 0 && due.Before(log.records[0].Time) { // a reset brought it back
			due = log.records[0].Time
		}
		if late := c.s.now.Sub(due); late > c.latest(due) && !run.waited {
			c.s.violate("%s takes %s %s too late", where, key, late)
		}
	case *history.ActivityResolved:
		if run.completed[key] && event.Worker != "token" {
			c.s.violate("%s: the completion of %s was accepted, and its answer is another's", where, key)
		}
		c.gives(where, name, log, command, event)
		c.limits(where, name, generation, event)
	case *history.ChildResolved:
		c.childEnds(where, name, generation, command.command.(*history.StartChild), event)
	}
}

// gives checks that an activity gives what its function gave.
func (c *checks) gives(where, run string, log *checkedLog, of asked, event *history.ActivityResolved) {
	scheduled, p := of.command.(*history.ScheduleActivity), log.naive.code.program
	if event.Failure != nil {
		return
	}
	var want string
	if p.Flow != nil {
		want = canonical(serves(scheduled.Activity, fmt.Sprintf("%s/%d/%d", run, of.generation, event.Seq)).result)
	} else {
		want = strconv.Itoa(c.nodes[p.Name+"."+scheduled.ID].value(p.Name))
	}
	if have := canonical(event.Result); have != want {
		c.s.violate("%s: activity %s gave %s, and not %s", where, scheduled.ID, have, want)
	}
}

// latest is how long after its time a timer may be taken. Nothing delays it in a world without faults,
// unless all functions are busy.
func (c *checks) latest(due time.Time) time.Duration {
	if c.s.limits.calm > 0 || !c.s.queue.crowded.Before(due) {
		return math.MaxInt64
	}
	return c.s.limits.skew
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

// missed checks that an author which runs steps has an item in its name (rule 4): else nobody would notice its death.
func (c *checks) missed(where string, log *checkedLog, commit *port.Commit) {
	rec := commit.Record
	steps := len(rec.Resumes) > 0 || slices.ContainsFunc(rec.Commands, func(command history.Command) bool {
		step, ok := command.(*history.ScheduleActivity)
		return ok && step.Inline
	})
	if !steps || rec.Closes() != nil {
		return
	}
	belongs := map[history.Item]string{}
	for _, rec := range log.records {
		for _, item := range rec.Again {
			belongs[item] = rec.Author
		}
		for _, event := range rec.Events {
			belongs[history.Item{Key: event.Key(commit.Generation), Filing: event.Filing()}] = rec.Author
		}
	}
	if !slices.ContainsFunc(c.s.inbox(commit.Run), func(item port.Item) bool {
		return belongs[history.Item{Key: nameOf(item), Filing: item.Event.Filing()}] == rec.Author
	}) {
		c.s.violate("%s has steps that %s runs, and no item is in its name", where, rec.Author)
	}
}

// compare holds a record against the naive implementation and against a replay: commands, and what the code has seen.
func (c *checks) compare(where string, log *checkedLog, commit *port.Commit, by *process, administrative bool) {
	want := log.naive.record(commit.Record)
	if log.naive.unfit != "" {
		c.s.violate("%s gives the code signal %s, which does not fit", where, log.naive.unfit)
	}
	var have []string
	for _, command := range commit.Record.Commands {
		have = append(have, describe(command))
	}
	if closes := commit.Record.Closes(); closes != nil && closes.Status().Closed() {
		c.runs[commit.Run].ends(log.naive.ended)
	}
	if !slices.Equal(want, have) {
		c.s.violate("%s has the commands\n%s\nand should have\n%s", where, strings.Join(have, "\n"), strings.Join(want, "\n"))
		return
	}
	if !administrative {
		c.sameSeen(where+", live in "+by.name, log, by.lives[commit.Run])
		c.sameFlow(where, log, commit)
	}
	if _, resets := commit.Record.Closes().(*history.ResetRun); !resets {
		if have := attributesOf(c.s.summary(commit.Run)); have != log.naive.keyed {
			c.s.violate("%s leaves the run with the attributes %v, and should with %v", where, have, log.naive.keyed)
		}
	}
	if commit.Next != nil { // the run is in its next generation, which has not begun
		if started := commit.Next.Event.(*history.Started); started.Base == nil {
			c.sameSignals(where, started, log.naive.unread())
		}
		return
	}
	if c.s.isPublished(log.naive.code.program) && log.definition == 0 { // it was ended before it had code
		return
	}
	if _, err := c.witness.engine.Query(c.witness.ctx, commit.Run, "none", nil); port.CodeOf(err) != port.NotFound {
		c.s.violate("%s cannot be replayed: %v", where, err)
	} else {
		c.sameSeen(where+", replayed", log, c.witness.lives[commit.Run])
		c.sameAnswers(where+", replayed", c.witness, commit.Run, log)
	}
}

func (c *checks) sameSeen(where string, log *checkedLog, l *life) {
	if log.naive.flow != nil {
		return // it says of itself what it has seen: see sameAnswers
	}
	want := log.naive.code.seen
	if l == nil || l.generation != log.began {
		if len(want) > 0 {
			c.s.violate("%s: its code was never run", where)
		}
		return
	}
	if have := l.code.seen; !slices.Equal(want, have) {
		c.s.violate("%s: its code saw\n%s\nand should have seen\n%s", where, strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}
