package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// checks are what must hold, looked at after every event that changes a log, and once all is quiet.
type checks struct {
	s        *simulation
	nodes    map[string]*node // by program and id
	runs     map[string]*checkedRun
	sent     map[string][]string   // by run, kind, name and id: what mail says that anybody sent
	anew     map[string]bool       // runs that somebody has asked to be reset, or started under an id used before
	given    map[string]attributes // of the starts that callers asked for, by filing
	received map[string]time.Time  // first attempts, by their calls, when a function first got them
	began    map[string]time.Time  // of those that have begun, when
	creators map[string]bool       // filings of the starts that created a run, or reused its id
	records  int
	// checkpoints among them.
	checkpoints int
	witness     *process // replays every record as soon as it is there
}

type checkedRun struct {
	parent      *history.Parent
	unfit       bool     // a signal was filed that does not fit
	waited      bool     // such a signal has blocked the run: what is due meanwhile waits
	endings     []string // as its parent must be told
	generations map[int]*checkedLog
	filed       map[string]filing    // when mail came into the inbox, by what it is and which run of the id it is for
	filings     map[string]port.Item // whatever was filed, by filing
	taken       map[string]bool
	tooLate     map[string]bool // mail that may have been dropped when the run had ended, before a reset had it go on
	unanswered  map[string]bool // messages of callers that went away without an answer, by what they are
	dropped     map[string]bool // of these, what each says: another one of that kind, name and id may come later
	letters     []acceptedMail
	answers     map[string]engine.UpdateAnswer
	completed   map[string]bool     // activities whose completion was accepted, by the key of their result
	logged      map[string][]string // final answers to updates, by what they are, as the logs have them: one for each generation that gave it
	order       map[string]int      // of mail in the log, by what it is: how much was taken before, the first time
	excluded    map[string]bool     // signals that the record of a reset took, by what they are: no code reads them
	said        map[string][]string // what mail of a kind, name and id said that was taken
	count       int                 // of mail taken
	resets      []reset             // whose sender was told that they are accepted
}

// filing is when mail came, and what became of it.
type filing struct {
	event   int // at which it came first
	content string
	taken   int64 // the stamp with which it was taken
	before  int   // how much mail was taken before it
	again   bool  // it was taken a second time, long after the first: as another mail
}

// identity is what tells mail apart: its kind, its name and its id.
func (a act) identity() string { return string(a.do) + " " + a.id }

// content is what mail says beside.
func (a act) content(place reset) string {
	if a.do == toReset {
		return fmt.Sprint(place.of, place.record, place.excludes, place.definition)
	}
	return a.input()
}

// input is what a message says, as JSON.
func (a act) input() string {
	if a.unfit {
		return fmt.Sprintf(`"x%d"`, a.value)
	}
	if a.do == toSet || a.do == toSetNow {
		return a.write()
	}
	return strconv.Itoa(a.value)
}

// identityOf is the identity of mail in a log or an inbox, and what it says.
func identityOf(mail history.Mail) (identity, content string) {
	var do doing
	switch mail := mail.(type) {
	case *history.SignalReceived:
		do, content = doing("signal "+mail.Name), string(mail.Input)
	case *history.UpdateReceived:
		do, content = doing("update "+mail.Name), string(mail.Input)
	case *history.CancelRequested:
		do, content = toCancel, strings.TrimPrefix(mail.Reason, "enough ")
	case *history.TerminateRequested:
		do, content = toTerminate, strings.TrimPrefix(mail.Reason, "enough ")
	case *history.ResetRequested:
		do, content = toReset, fmt.Sprint(mail.Of, mail.Record, mail.ExcludeSignals, mail.Definition)
	}
	return act{do: do, id: mail.MailID()}.identity(), content
}

// addressed is the identity of mail, and which run of the id it is for.
func addressed(item port.Item) string {
	identity, _ := identityOf(item.Event.(history.Mail))
	return identity + item.Key[strings.LastIndex(item.Key, "#"):]
}

// acceptedMail is mail whose sender was told that it is accepted.
type acceptedMail struct {
	sender, identity, content string
	stamp                     int64
	overtakes                 bool // what ends a run is taken before all else
}

func newChecks(s *simulation) *checks {
	c := &checks{s: s, nodes: map[string]*node{}, runs: map[string]*checkedRun{},
		anew: map[string]bool{}, creators: map[string]bool{}, received: map[string]time.Time{}, began: map[string]time.Time{}, given: map[string]attributes{}, sent: map[string][]string{}}
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
	p.engine = c.s.newEngine(port.Ports{Catalog: c.s.store, Runs: c.s.store, Directory: c.s.store, Due: c.s.store, Tasks: c.s.store, Queue: direct{}, Clock: p, Authors: p.newAuthors(),
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

func (c *checks) created(summary *port.Summary) {
	c.runs[summary.Run] = &checkedRun{parent: summary.Parent, generations: map[int]*checkedLog{}, filed: map[string]filing{}, taken: map[string]bool{}, tooLate: map[string]bool{}, dropped: map[string]bool{}, unanswered: map[string]bool{},
		filings: map[string]port.Item{}, answers: map[string]engine.UpdateAnswer{}, completed: map[string]bool{}, logged: map[string][]string{}, order: map[string]int{},
		said: map[string][]string{}, excluded: map[string]bool{}}
}

func (c *checks) starts(run string) {
	if c.runs[run] == nil {
		c.s.violate("run %s was promised to its caller, and is not there", run)
	}
}

// answersStart compares what the caller of a start is told with what the store has accepted of it.
func (c *checks) answersStart(i *invocation, run string, created bool) {
	did := slices.ContainsFunc(i.starts, func(filing string) bool { return c.creators[filing] })
	if did != created {
		c.s.violate("created is %v for a start of run %s, and should be %v", created, run, did)
	}
}

func (c *checks) filed(by *process, run string, item port.Item) {
	c.runs[run].filings[item.Event.Filing()] = item
	c.answered(run, item)
	if signal, ok := item.Event.(*history.SignalReceived); ok {
		_, fits := reading(signal.Input)
		c.runs[run].unfit = c.runs[run].unfit || !fits
	}
	if _, resets := item.Event.(*history.ResetRequested); resets {
		return // it may be too late; quiet says whether it is lost
	}
	mail, is := item.Event.(history.Mail)
	if !is || !c.isFor(run, item.Key) {
		return // what was sent to the run that had the id before, nobody takes, unless its sender repeats it
	}
	key := addressed(item)
	again := c.runs[run].tooLate[key] && (by.role == roleAPI || by.role == roleNode) // by its sender, who will be told that it is accepted
	if again {                                                                       // it was first accepted by the generation that has ended: what its sender sent since came before it
		identity, _ := identityOf(mail)
		c.runs[run].unanswered[identity] = true
	}
	if of, there := c.runs[run].filed[key]; !there || again {
		of.event = c.s.events
		c.runs[run].filed[key], c.runs[run].tooLate[key] = of, false
	}
}

// isFor says whether the key of mail in an inbox is that of mail to the run which has the id now.
func (c *checks) isFor(run, key string) bool {
	return strings.HasSuffix(key, c.recipient(run))
}

// recipient ends the keys of mail to the run that has an id now.
func (c *checks) recipient(run string) string {
	return "#" + strconv.FormatInt(c.s.summary(run).Started.UnixNano(), 36)
}

// goesAway notes a message of a caller that does not repeat it, though no answer came. It may be taken
// before what the caller sends next, and be repeated as a part of that.
func (c *checks) goesAway(by *caller, a act) {
	if run := c.runs[by.to(a)]; run != nil {
		run.unanswered[a.identity()] = true
	}
}

// drop notes all mail that was filed and not taken: a reset continues an ended run, and the mail may
// have been too late for that.
func (r *checkedRun) drop() {
	for _, item := range r.filings { // order-insensitive: a set is made
		if mail, is := item.Event.(history.Mail); is && !r.taken[addressed(item)] {
			identity, content := identityOf(mail)
			r.dropped[identity+" "+content] = true
		}
	}
}

// late says whether mail of a kind, name and id may have been dropped.
func (r *checkedRun) late(identity string) bool {
	for key, late := range r.tooLate { // order-insensitive: whether there is one
		if late && strings.HasPrefix(key, identity+"#") {
			return true
		}
	}
	return false
}

func (c *checks) accepted(by *caller, a act, accepted engine.Accepted) {
	run := c.runs[by.run]
	if !slices.ContainsFunc(run.letters, func(l acceptedMail) bool { return l.identity == a.identity() && l.sender == by.name }) {
		run.letters = append(run.letters, acceptedMail{by.name, a.identity(), a.content(by.reset), accepted.Stamp, a.do == toTerminate})
	}
}

// sends notes what a caller is about to send, and gives what the run took with this kind, name and
// id instead; empty: nothing.
func (c *checks) sends(by *caller, a act) (other string) {
	if !a.sends() {
		return ""
	}
	key := by.to(a) + " " + a.identity()
	c.sent[key] = append(c.sent[key], a.content(by.reset))
	return c.takenInstead(by, a)
}

// takenInstead is what the run that has the id now took with a message's kind, name and id, as long
// as it must know of that.
func (c *checks) takenInstead(by *caller, a act) string {
	name := by.to(a)
	run := c.runs[name]
	if run == nil {
		return ""
	}
	key := a.identity() + c.recipient(name)
	filed := run.filed[key]
	if content := a.content(by.reset); run.taken[key] && run.count-1-filed.before < c.s.limits.known && filed.content != content &&
		!slices.Contains(run.said[a.identity()], content) {
		return filed.content
	}
	return ""
}

// mustConflict says whether a message should have been refused: another one was taken before the
// call, and is known after it.
func (c *checks) mustConflict(by *caller, a act) bool {
	return a.other != "" && !a.unique && c.takenInstead(by, a) == a.other
}

// otherwise says whether anybody has sent another message of this kind, name and id.
func (c *checks) otherwise(by *caller, a act) bool {
	return slices.ContainsFunc(c.sent[by.to(a)+" "+a.identity()], func(content string) bool { return content != a.content(by.reset) })
}

// resets notes a reset that was accepted, unless it is the same as one before.
func (c *checks) resets(by *caller, a act) {
	run := c.runs[by.reset.run]
	if !slices.ContainsFunc(run.letters, func(l acceptedMail) bool { return l.identity == a.identity() && l.content == a.content(by.reset) }) {
		run.resets = append(run.resets, by.reset)
	}
	run.letters = append(run.letters, acceptedMail{sender: by.name, identity: a.identity(), content: a.content(by.reset)})
}

func (c *checks) answers(run, id string, answer engine.UpdateAnswer) {
	if text, before := c.runs[run].answers[id]; before && !c.anew[run] && showAnswer(text) != showAnswer(answer) {
		c.s.violate("update %s of run %s was answered %s, and then %s", id, run, showAnswer(text), showAnswer(answer))
	}
	c.runs[run].answers[id] = answer
}

func showAnswer(answer engine.UpdateAnswer) string {
	return fmt.Sprintf("%s %s %t", answer.Phase, answer.Result, answer.Failure != nil)
}

// blocked checks why a run is blocked: only what faults can bring about is a reason.
func (c *checks) blocked(p *process, run string, mark *port.Block) {
	outdated := mark.Reason == port.ReasonNondeterminism && p.version == 1 && c.s.version == 2
	unfit := mark.Reason == port.ReasonUndecodable && c.runs[run].unfit && !c.s.mended(p.version)
	early := mark.Reason == port.ReasonUnregistered && (c.s.limits.published || c.s.limits.flows) // publishing resumes it
	if mark.Reason != port.ReasonUndeliverable && !outdated && !unfit && !early {
		c.s.violate("run %s is blocked by %s: %s: %s", run, p.name, mark.Reason, mark.Message)
	}
	c.runs[run].waited = c.runs[run].waited || unfit
	c.s.note("run %s is blocked: %s", run, mark.Reason)
}

// keyed checks that a call has the same key in all generations that a reset kept it for. The lock
// is held.
func (c *checks) keyed(run string, generation int, seq, key string) {
	number, err := strconv.ParseInt(seq, 10, 64)
	if err != nil {
		c.s.violate("the key %s does not end with the number of a call", key)
		return
	}
	log := c.runs[run].generations[generation]
	if log == nil {
		c.s.violate("call %s of generation %d of run %s has begun, and no log has it", seq, generation, run)
		return
	}
	if want := fmt.Sprintf("%s/%d/%s", run, log.asked[number].generation, seq); key != want {
		c.s.violate("call %s of generation %d of run %s has the key %s, and should have %s", seq, generation, run, key, want)
	}
}

// begins checks that no step is run by two living handlers at once. The lock is held.
func (c *checks) begins(w *job) {
	for _, other := range c.s.works {
		if w.step && other.key == w.key && !other.p.dead {
			c.s.violate("step %s is run by %s and %s at once", w.key, other.p.name, w.p.name)
		}
	}
}
