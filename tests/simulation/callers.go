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

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// caller is somebody outside who starts a run, or writes to one: one act after the other, each repeated until it has an
// answer.
type caller struct {
	name    string
	run     string
	input   history.Payload // of the run that it starts
	acts    []act
	at      time.Time // when it goes on
	stamp   int64     // of its last mail
	reset   reset
	token   string // of an attempt, which it completes
	created bool   // as the last start was answered
	busy    bool
	tries   int
}

// reset is where a run is to go on from: the caller's own, or a child of that; from this record of this generation.
type reset struct {
	run                string
	generation, record int
	of                 int // the generation of the record, where it is an earlier one
	excludes           bool
	definition         int // the version that it goes on with; 0: the one that it has
}

// point is the place as a request names it: the present generation needs no name.
func (r reset) point() engine.ResetPoint {
	return engine.ResetPoint{Generation: r.of, Record: r.record, ExcludeSignals: r.excludes, Definition: r.definition}
}

// act is one thing that a caller does.
type act struct {
	do     doing
	id     string // of its message
	place  string // what a smaller case leaves it out by
	unique bool   // nobody else has this id
	unfit  bool   // a signal: it does not fit its type
	mends  bool   // a reset: it leaves out the signals that block the run
	once   bool   // it is not repeated where no answer came
	value  int
	// other: when the call began, the run had taken a message of this kind, name and id that says
	// something else.
	other     string
	fails     string // an attempt: the type of its failure
	publishes *program
	after     time.Duration // since the last one
}

type doing string

const (
	toStart     doing = "start"
	toStartAnew doing = "start anew"
	toSignalS   doing = "signal s"
	toSignalH   doing = "signal h"
	toSignalP   doing = "signal p"
	toUpdate    doing = "update u"
	toUpdateV   doing = "update v" // which no program handles
	toQuery     doing = "query"
	toCancel    doing = "cancel"
	toTerminate doing = "terminate"
	toReset     doing = "reset"
	toUnblock   doing = "unblock"
	toHeartbeat doing = "heartbeat"
	toComplete  doing = "complete"
	toPublish   doing = "publish"
	toSet       doing = "signal set" // writes a key of a flow
	toSetNow    doing = "update set"
)

var acting = []doing{toSignalS, toSignalS, toSignalS, toSignalH, toSignalH, toSignalP, toSignalP, toUpdate, toUpdate, toUpdateV, toQuery, toQuery, toCancel, toTerminate, toReset, toStartAnew}

// again is what callers do in restless cases.
var again = []doing{toStartAnew, toStartAnew, toReset, toTerminate}

// newCallers draws those who start the runs r0, r1, … of the first program, and others who write to them.
func newCallers(s *simulation, r, special *rand.Rand) (callers []*caller) {
	if s.limits.published || s.limits.flows {
		callers = newPublishers(s)
	}
	first := len(callers)
	for i := range s.limits.callers {
		run := fmt.Sprintf("r%d", i*2/3)
		c := &caller{name: fmt.Sprintf("c%d", i), run: run, input: s.programs["p0"].input(), at: s.now}
		if i == 0 || callers[first+i-1].run != run {
			c.acts = append(c.acts, act{do: toStart, id: run})
		}
		for j := range r.IntN(9) {
			a := act{do: acting[r.IntN(len(acting))], place: fmt.Sprintf("%s.%d", c.name, j), value: 10*i + j + 1, unique: r.IntN(2) == 0}
			if a.id = a.place; r.IntN(3) == 0 { // also another's
				a.id, a.unique = fmt.Sprintf("x%d", r.IntN(2)), false
				if r.IntN(2) == 0 { // and so may be what it says
					a.value = 1 + r.IntN(2)
				}
			}
			if r.IntN(3) == 0 {
				a.after = time.Duration(r.IntN(60_000)) * time.Millisecond
			}
			if (a.do == toCancel || a.do == toTerminate) && r.IntN(3) > 0 {
				a.do = toSignalS
			}
			if s.programs["p0"].Flow != nil {
				a.do = a.do.toFlow()
			}
			if s.limits.restless && special.IntN(3) > 0 {
				a.do, a.after = again[special.IntN(len(again))], time.Duration(special.IntN(3000))*time.Millisecond
			}
			a.unfit = s.limits.unfit && a.signals() && special.IntN(3) == 0
			a.once = s.limits.impatient && special.IntN(2) == 0
			if !s.c.leavesOut(a.place) {
				c.acts = append(c.acts, a)
				s.acts = append(s.acts, a.place)
			}
		}
		callers = append(callers, c)
	}
	return callers
}

func (c *caller) waits() bool              { return len(c.acts) > 0 && !c.busy }
func (c *caller) ready(now time.Time) bool { return c.waits() && !c.at.After(now) }
func (s *simulation) callersBetween() bool {
	return slices.ContainsFunc(s.callers, func(c *caller) bool { return c.busy })
}

// patience is how long the door keeps a caller waiting.
const patience = 29 * time.Second

// act makes the caller's next call.
func (c *caller) act(s *simulation) {
	role := roleAPI
	p := s.free(role)
	if p == nil {
		c.at = s.now.Add(time.Second)
		return
	}
	a := c.acts[0]
	c.busy = true
	c.tries++
	switch {
	case a.do == toStartAnew:
		s.checks.anew[c.run] = true
	case a.do == toReset && c.tries == 1:
		if c.reset = s.placeIn(s.anyOf(c.run, a.value), a.value); a.mends {
			c.reset = reset{run: c.run, generation: s.summary(c.run).Generation, record: 1, excludes: true}
		}
		s.checks.anew[c.reset.run] = true
	}
	a.other = s.checks.sends(c, a)
	var answer engine.UpdateAnswer
	var of *invocation
	s.invoke(p, fmt.Sprintf("%s %s %s %s", c.name, a.do, c.run, a.id), 0, nil, func(ctx context.Context, _ time.Time) []error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s.cutShort(ctx, p, patience, cancel)
		var err error
		of = ctx.Value(invocationKey{}).(*invocation)
		of.gives = s.gives(a)
		answer, err = c.ask(ctx, p.engine, a, of.gives)
		if err != nil && ctx.Err() != nil && port.CodeOf(err) != port.Closed {
			err = errNoAnswer
		}
		return []error{err}
	}, func(err error) {
		c.busy = false
		if (a.do == toStart || a.do == toStartAnew) && err == nil {
			s.checks.answersStart(of, c.run, c.created)
		}
		if s.answered(c, a, answer, err) {
			c.acts = c.acts[1:]
			c.tries = 0
			if len(c.acts) > 0 {
				c.at = s.now.Add(c.acts[0].after)
			}
			return
		}
		c.at = s.now.Add(time.Duration(200+s.random.IntN(1000)) * time.Millisecond * time.Duration(cmp.Or(c.tries, 1)))
	})
}

// ask makes the call itself. What was accepted, if it is mail, is a part of the answer.
func (c *caller) ask(ctx context.Context, e *engine.Engine, a act, gives attributes) (answer engine.UpdateAnswer, err error) {
	start := engine.StartRequest{Run: c.run, Workflow: "p0", Input: c.input, Attributes: gives.payloads()}
	mail := engine.MessageRequest{Run: c.run, ID: a.id, After: c.stamp, Unique: a.unique}
	input := history.Payload(a.input())
	switch a.do {
	case toStart:
		_, c.created, err = e.Start(ctx, start)
	case toStartAnew:
		start.Reuse = true
		_, c.created, err = e.Start(ctx, start)
	case toSignalS, toSignalH, toSignalP, toSet:
		answer.Accepted, err = e.Signal(ctx, mail, a.do.name(), input)
	case toUpdate, toUpdateV, toSetNow:
		answer, err = e.Update(ctx, mail, a.do.name(), input)
	case toQuery:
		_, err = e.Query(ctx, c.run, "none", nil)
		if port.CodeOf(err) == port.NotFound || port.CodeOf(err) == port.Blocked {
			err = nil
		}
	case toCancel:
		answer.Accepted, err = e.Cancel(ctx, mail, a.reason())
	case toTerminate:
		answer.Accepted, err = e.Terminate(ctx, mail, a.reason())
	case toReset:
		mail.Run = c.reset.run
		answer.Accepted, err = e.Reset(ctx, mail, c.reset.point(), "again")
	case toUnblock:
		err = e.Unblock(ctx, c.run)
	case toPublish:
		err = a.publish(ctx, e)
	case toHeartbeat:
		_, err = e.HeartbeatActivity(ctx, c.token, nil)
	case toComplete:
		var failure *history.Failure
		if a.fails != "" {
			input, failure = nil, &history.Failure{FailureKind: history.Application, Type: a.fails, NonRetryable: true}
		}
		err = e.CompleteActivity(ctx, c.token, input, failure)
	}
	return answer, err
}

// gives are the attributes that a caller starts a run with.
func (s *simulation) gives(a act) attributes {
	if !s.limits.attributed || a.do != toStart && a.do != toStartAnew {
		return attributes{}
	}
	return attributes{k: 100 + a.value, g: 200 + a.value}
}

func (a attributes) payloads() history.Attributes {
	if a == (attributes{}) {
		return nil
	}
	return history.Attributes{keyed.Name(): history.Payload(strconv.Itoa(a.k)), given.Name(): history.Payload(strconv.Itoa(a.g))}
}

// attributesOf are those that a summary shows.
func attributesOf(summary *port.Summary) attributes {
	return attributes{number(summary.Attributes[keyed.Name()]), number(summary.Attributes[given.Name()])}
}

// to is the run that an act is for.
func (c *caller) to(a act) string {
	if a.do == toReset {
		return c.reset.run
	}
	return c.run
}

// sends says whether an act sends a message.
func (a act) sends() bool {
	switch a.do {
	case toSignalS, toSignalH, toSignalP, toSet, toUpdate, toUpdateV, toSetNow, toCancel, toTerminate, toReset:
		return true
	default:
		return false
	}
}

// name is the name of a message.
func (d doing) name() string { return strings.Fields(string(d))[1] }

func (a act) reason() string { return fmt.Sprint("enough ", a.value) }

// anyOf picks a run, or one of the runs that it has started.
func (s *simulation) anyOf(run string, value int) string {
	family := []string{run}
	for _, name := range s.checks.names() {
		if strings.HasPrefix(name, run+".") {
			family = append(family, name)
		}
	}
	return family[value%len(family)]
}

// placeIn picks a record that a run could go on from, as far as its log is now.
func (s *simulation) placeIn(run string, value int) reset {
	summary := s.summary(run)
	if summary == nil {
		return reset{run: run, record: 1}
	}
	r := reset{run: run, generation: summary.Generation, record: 1, excludes: value%5 == 0}
	if s.limits.published && value%2 == 0 {
		r.definition = 1 + value/2%2
	}
	generation := r.generation
	if value%3 == 0 && generation > 1 { // of an earlier one, if it is within reach
		r.of = generation - value%min(generation, 3)
		generation = r.of
	}
	if log := s.checks.runs[run].generations[generation]; log != nil {
		r.record += value % max(log.last, 1)
	}
	return r
}

// cutShort ends a wait after a while, but no call that is under way: whether the engine then heeds its context first or the
// answer is left to chance, and a case must go the same way each time.
func (s *simulation) cutShort(ctx context.Context, p *process, after time.Duration, cancel func()) {
	stop := p.AfterFunc(after, func() {
		s.mu.Lock()
		busy := slices.ContainsFunc(s.parked, func(c *call) bool { return c.invocation == ctx.Value(invocationKey{}) })
		s.mu.Unlock()
		if busy && !s.over {
			s.cutShort(ctx, p, time.Second, cancel)
		} else {
			cancel()
		}
	})
	context.AfterFunc(ctx, func() { stop() })
}

// answered takes what a call gave. It says whether the caller is done with it.
func (s *simulation) answered(c *caller, a act, answer engine.UpdateAnswer, err error) bool {
	switch code := port.CodeOf(err); {
	case err == nil:
	case code == port.Unavailable || code == port.Internal:
		if a.once {
			s.checks.goesAway(c, a)
		}
		return a.once || a.do == toQuery && c.tries > 3 // the run may be blocked, and not have begun
	case code == port.Closed:
		return true
	case c.token != "" && (code == port.NotFound || code == port.Expired): // too late
		return true
	case code == port.NotFound: // nobody has started it yet
		return !slices.ContainsFunc(s.callers, func(other *caller) bool {
			return other.run == c.run && slices.ContainsFunc(other.acts, func(a act) bool { return a.do == toStart })
		})
	case code == port.Conflict && s.checks.otherwise(c, a):
		return true
	case a.do == toReset && code == port.Invalid: // its log has not begun, or it is the last record that was picked
		return true
	default:
		s.violate("%s of %s is refused: %v", a.do, c.run, err)
		return true
	}
	if s.checks.mustConflict(c, a) {
		s.violate("%s of %s with the id %s is accepted, and the run took another one, which says %s", a.do, c.run, a.id, a.other)
	}
	switch a.do {
	case toStart, toStartAnew:
		s.checks.starts(c.run)
	case toUpdate, toUpdateV, toSetNow:
		s.checks.accepted(c, a, answer.Accepted)
		c.stamp = answer.Stamp
		if answer.Phase != history.UpdateCompleted && answer.Phase != history.UpdateRejected {
			return s.faults.over && c.tries > 3 // it is accepted, and its handler may wait for ever
		}
		s.checks.answers(c.run, a.identity(), answer)
	case toPublish:
		s.published[a.id] = max(s.published[a.id], a.value)
	case toQuery, toUnblock, toHeartbeat:
	case toComplete:
		s.checks.runs[c.run].completed[a.id] = true
	case toReset:
		s.checks.resets(c, a)
		c.stamp = answer.Stamp
	default:
		s.checks.accepted(c, a, answer.Accepted)
		c.stamp = answer.Stamp
	}
	return true
}

// ask adds acts for all open runs, and lets them be carried out.
func (s *simulation) ask(do doing, which func(*port.Summary) bool) (asked bool) {
	for _, run := range s.checks.names() {
		if summary := s.summary(run); which(summary) {
			s.operate(run, act{do: do, id: fmt.Sprintf("%s.%s", do, run)})
			asked = true
		}
	}
	return asked
}

// operate adds what an operator does to a run.
func (s *simulation) operate(run string, a act) {
	s.callers = append(s.callers, &caller{name: "operator", run: run, at: s.now, acts: []act{a}})
}

func open(summary *port.Summary) bool { return !summary.Status.Closed() }

func (s *simulation) cancelAll() { s.ask(toCancel, open) }

// terminateAll ends what is open, and what was started meanwhile and left to itself.
func (s *simulation) terminateAll() {
	for s.violation == "" && s.ask(toTerminate, open) {
		s.settle()
	}
}

// outdated says whether a run is blocked under the first version, so that functions/timer unblocks it.
func (s *simulation) outdated() bool {
	return s.version == 2 && s.limits.deploys && slices.ContainsFunc(s.checks.names(), func(run string) bool {
		blocked := s.summary(run).Blocked
		return blocked != nil && blocked.Version == "1"
	})
}

// lookAgain has every run looked at once more: that does no harm, and tidies what nobody had to look at any more.
func (s *simulation) lookAgain() {
	for _, run := range s.checks.names() {
		s.post(&letter{resume: &port.Resume{Run: run}}, 0)
	}
}
