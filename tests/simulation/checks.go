package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

// checks are what must hold, looked at after every event that changes a log, and once all is quiet.
type checks struct {
	s        *simulation
	nodes    map[string]*node // by program and id
	runs     map[string]*checkedRun
	anew     map[string]bool // runs that somebody has asked to be reset, or started under an id used before
	creators map[string]bool // filings of the starts that created a run, or reused its id
	records  int
	witness  *process // replays every record as soon as it is there
}

type checkedRun struct {
	generations map[int]*checkedLog
	filed       map[string]filing      // when mail came into the inbox, by the key of its event
	filings     map[string]engine.Item // whatever was filed, by filing
	taken       map[string]bool
	tooLate     map[string]bool // mail that may have been dropped when the run had ended, before a reset had it go on
	letters     []acceptedMail
	answers     map[string]engine.UpdateAnswer
	completed   map[string]bool     // activities whose completion was accepted, by the key of their result
	logged      map[string][]string // final answers to updates, as the logs have them: one for each generation that gave it
	order       map[string]int      // of mail in the log: how much was taken before, the first time
	count       int                 // of mail taken
	resets      []reset             // whose sender was told that they are accepted
}

// filing is when mail came, and what became of it.
type filing struct {
	event  int    // at which it came first
	key    string // in the inbox
	taken  int64  // the stamp with which it was taken
	before int    // how much mail was taken before it
	again  bool   // it was taken a second time, long after the first: as another mail
}

// mailKey is the key of mail, of whatever kind.
func mailKey(id string) string { return history.NewSignal(id, "", nil).Key(0) }

// acceptedMail is mail whose sender was told that it is accepted.
type acceptedMail struct {
	sender, id string
	stamp      int64
	overtakes  bool // what ends a run is taken before all else
}

func newChecks(s *simulation) *checks {
	c := &checks{s: s, nodes: map[string]*node{}, runs: map[string]*checkedRun{},
		anew: map[string]bool{}, creators: map[string]bool{}}
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
	p.engine = c.s.newEngine(engine.Ports{Runs: c.s.store, Directory: c.s.store, Due: c.s.store, Tasks: c.s.store, Queue: direct{}, Clock: p, Authors: p.newAuthors(),
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
		filings: map[string]engine.Item{}, answers: map[string]engine.UpdateAnswer{}, completed: map[string]bool{}, logged: map[string][]string{}, order: map[string]int{}}
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

func (c *checks) filed(by *process, run string, item engine.Item) {
	c.runs[run].filings[item.Event.Filing()] = item
	if _, resets := item.Event.(*history.ResetRequested); resets {
		return // it may be too late; quiet says whether it is lost
	}
	if _, mail := item.Event.(history.Mail); !mail || !c.isFor(run, item.Key) {
		return // what was sent to the run that had the id before, nobody takes, unless its sender repeats it
	}
	key := item.Event.Key(0)
	again := c.runs[run].tooLate[key] && (by.role == roleAPI || by.role == roleNode) // by its sender, who will be told that it is accepted
	if of := c.runs[run].filed[key]; of.key != item.Key || again {
		of.key, of.event = item.Key, c.s.events
		c.runs[run].filed[key], c.runs[run].tooLate[key] = of, false
	}
}

// isFor says whether the key of mail in an inbox is that of mail to the run which has the id now.
func (c *checks) isFor(run, key string) bool {
	return strings.HasSuffix(key, "#"+strconv.FormatInt(c.s.summary(run).Started.UnixNano(), 36))
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
