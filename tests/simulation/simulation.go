package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-run/reprise/core/port/porttest/memory"
)

// simulation is one world: it decides on everything that happens in it, one event at a time. Whatever the engine asks of the
// world waits until the simulation answers; between two events all goroutines are quiet.
type simulation struct {
	c         Case
	limits    limits
	programs  map[string]*program
	random    *rand.Rand // which event comes next
	faults    *faults
	now       time.Time
	events    int
	store     *memory.Store
	past      []change
	queue     queue
	callers   []*caller
	acts      []string // of callers, as drawn
	checks    *checks
	published map[string]int  // the highest version of a definition whose publisher had its answer
	resets    map[string]bool // runs that an operator has reset to leave out what blocks them
	chores    map[string]bool // likewise: runs for which the chores were done once more
	version   int
	rebuilds  bool // the queues were lost, and are to be rebuilt

	mu          sync.Mutex
	processes   []*process
	parked      []*call
	making      *call // the call that is answered now
	most        int   // of its messages that are sent; 0: all
	works       []*job
	alarms      []*alarm
	invocations []*invocation // under way
	begun       int
	ended       []*invocation // and not yet looked at
	entrusted   []*caller     // with a token, and not yet among the callers
	over        bool

	journal   []string
	keeps     bool // the journal
	violation string
	nextFire  time.Time
}

// Result is what came of a simulation.
type Result struct {
	// Violation is what must never happen, and did; empty: all went well.
	Violation string
	Events    int
	Runs      int
	Records   int
	// Checkpoints that records have: each was compared with what the log before it has pending.
	Checkpoints int
	Faults      int // that happened
	Kills       int
	Met         Coverage
	Flows       flowCoverage
	// Struck are the numbers of the faults that happened; Places are the nodes and acts that there were.
	Struck  []int
	Places  []string
	Journal []string
	// Programs are those that ran, as JSON.
	Programs string
}

// mostEvents is where a simulation is held to have no end.
const mostEvents = 40_000

// Run carries out a case. The journal is kept on demand: it is what a failed one shows.
func Run(t *testing.T, c Case, journal bool) (result Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s := newSimulation(c, journal)
		defer s.close()
		s.play()
		result = Result{Violation: s.violation, Events: s.events, Runs: len(s.checks.runs), Records: s.checks.records,
			Checkpoints: s.checks.checkpoints, Met: s.faults.met, Flows: s.checks.flows(), Journal: s.journal}
		for _, kinds := range s.faults.met {
			for _, times := range kinds {
				result.Faults += times
			}
		}
		for _, p := range s.processes {
			if p.dead {
				result.Kills++
			}
		}
		result.Struck, result.Places = s.faults.struck, s.places()
		if journal {
			text, err := json.MarshalIndent(s.programs, "", " ")
			if err != nil {
				panic(err)
			}
			result.Programs = string(text)
		}
	})
	return result
}

// places lists what a smaller case may leave out: nodes of programs, and acts of callers.
func (s *simulation) places() (places []string) {
	for _, p := range s.programs {
		p.each(func(n *node) { places = append(places, p.Name+"."+n.ID) })
		if p.Flow != nil {
			places = append(places, p.Flow.places(p.Name)...)
		}
	}
	slices.Sort(places)
	return append(places, s.acts...)
}

func newSimulation(c Case, journal bool) *simulation {
	s := &simulation{c: c, limits: c.limits(), programs: map[string]*program{}, resets: map[string]bool{}, chores: map[string]bool{}, published: map[string]int{}, random: c.stream(ofSchedule), store: memory.New(), keeps: journal,
		now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), version: 2}
	if s.limits.deploys {
		s.version = 1
	}
	s.faults = &faults{random: c.stream(ofFaults), rates: s.limits.rates, only: c.Faults, met: Coverage{}}
	programs := generate(c.stream(ofPrograms), s.limits.programs, s.limits.deploys)
	if s.limits.restless {
		programs[0].shorten()
	}
	if s.limits.flows {
		drawFlows(programs, s.limits.long > 0, c.stream(ofFlows+1))
	}
	s.limits.specials.addTo(programs, c.stream(ofSpecials+1))
	knowFlows(programs)
	left := map[string]bool{}
	for _, place := range c.Without {
		left[place] = true
	}
	for _, p := range programs {
		p.without(left)
		s.programs[p.Name] = p
	}
	s.callers = newCallers(s, c.stream(ofCallers), c.stream(ofSpecials+2))
	s.checks = newChecks(s)
	return s
}

// play lets things happen, first with faults, then without, until all is quiet; then it ends what only waits for people.
func (s *simulation) play() {
	s.faults.over = s.limits.calm == 0
	s.settle()
	s.faults.over = true
	for _, stage := range []func(){func() {}, s.checks.quiet, s.cancelAll, s.terminateAll, s.lookAgain, s.checks.end} {
		if s.violation != "" {
			return
		}
		stage()
		s.settle()
		s.unblockAll()
	}
}

// settle lets everything happen that follows.
func (s *simulation) settle() {
	for s.violation == "" {
		synctest.Wait()
		s.takeEnded()
		s.takeEntrusted()
		synctest.Wait() // for what a process still does that has just been ended
		if s.events++; s.events > mostEvents {
			s.violate("there is no end to it after %d events: %d messages, %d calls, %d activities", s.events, len(s.queue.letters), len(s.parked), len(s.works))
			return
		}
		if s.events >= s.limits.calm {
			s.faults.over = true
		}
		if !s.step() {
			return
		}
	}
}

// option is an event that may come next.
type option struct {
	weight int
	do     func()
}

// step has one event happen. It says whether there was any.
func (s *simulation) step() bool {
	var options []option
	add := func(weight int, do func()) { options = append(options, option{weight, do}) }
	s.mu.Lock()
	slices.SortStableFunc(s.parked, compareCalls)
	slices.SortStableFunc(s.works, func(a, b *job) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.number, b.number)) })
	for _, c := range s.parked {
		add(10, func() { s.perform(c) })
	}
	for _, w := range s.works {
		if !w.due.After(s.now) {
			add(6, func() { s.proceed(w) })
		}
	}
	s.mu.Unlock()
	if ready := s.queue.ready(s); len(ready) > 0 {
		add(8, func() { s.deliver(ready) })
	}
	for _, c := range s.callers {
		if c.ready(s.now) {
			add(3, func() { c.act(s) })
		}
	}
	s.addChores(add)
	next, more := s.nextInstant()
	switch {
	case len(options) == 0 && !more:
		return false
	case more && (len(options) == 0 || !s.faults.over): // while faults happen, time may pass before a call is answered
		add(1, func() { s.pass(next) })
	}
	s.choose(options)
	return true
}

func (s *simulation) choose(options []option) {
	sum := 0
	for _, o := range options {
		sum += o.weight
	}
	at := s.random.IntN(sum)
	for _, o := range options {
		if at -= o.weight; at < 0 {
			o.do()
			return
		}
	}
}

// addChores adds what happens now and then to the system as a whole.
func (s *simulation) addChores(add func(int, func())) {
	switch {
	case s.limits.together:
		if s.node() == nil {
			add(2, s.restart)
		}
	case s.rebuilds && !s.callersBetween():
		add(2, s.rebuild)
	}
	if s.version == 1 && s.events > s.limits.calm/3 && s.events > 60 {
		add(1, s.deploy)
	}
	if at, more := s.dueAt(); more && !at.After(s.now) {
		add(2, s.fire)
	}
	if !s.limits.together && !s.faults.over {
		if s.random.IntN(40) == 0 && s.faults.strikes(coldStart, processes) {
			add(4, s.replaceIdle)
		}
		if s.random.IntN(12) == 0 && s.faults.strikes(purged, queues) {
			add(4, s.purge)
		}
	}
}

// nextInstant is when something is to happen that nothing brings forward.
func (s *simulation) nextInstant() (next time.Time, more bool) {
	at := func(t time.Time) {
		if t.After(s.now) && (!more || t.Before(next)) {
			next, more = t, true
		}
	}
	s.mu.Lock()
	for _, a := range s.alarms {
		at(a.at)
	}
	for _, w := range s.works {
		at(w.due)
	}
	for _, i := range s.invocations {
		at(i.ends)
	}
	s.mu.Unlock()
	for _, l := range s.queue.letters {
		at(l.ready)
	}
	for _, c := range s.callers {
		if c.waits() {
			at(c.at)
		}
	}
	if due, more := s.dueAt(); more {
		at(due)
	}
	return next, more
}

// pass has time go on: alarms ring, and invocations that have had their time are ended.
func (s *simulation) pass(to time.Time) {
	s.now = to
	s.mu.Lock()
	slices.SortStableFunc(s.alarms, func(a, b *alarm) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.p.name, b.p.name), cmp.Compare(a.number, b.number))
	})
	var ringing []*alarm
	s.alarms = slices.DeleteFunc(s.alarms, func(a *alarm) bool {
		if a.at.After(to) {
			return false
		}
		ringing = append(ringing, a)
		return true
	})
	var timedOut []*invocation
	for _, i := range s.invocations {
		if !i.ends.IsZero() && !i.ends.After(to) {
			timedOut = append(timedOut, i)
		}
	}
	s.mu.Unlock()
	for _, a := range ringing {
		go a.ring()
		synctest.Wait()
	}
	for _, i := range timedOut {
		s.note("%s has had its time", i.p.name)
		s.kill(i.p)
	}
}

func (s *simulation) note(format string, args ...any) {
	if s.keeps {
		s.journal = append(s.journal, fmt.Sprintf("%5d %s ", s.events, s.now.Format("15:04:05.000"))+fmt.Sprintf(format, args...))
	}
}

func (s *simulation) violate(format string, args ...any) {
	if s.violation == "" {
		s.violation = fmt.Sprintf(format, args...)
		s.note("VIOLATION %s", s.violation)
	}
}

// close ends all goroutines.
func (s *simulation) close() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	for _, p := range s.processes {
		s.kill(p)
	}
	for range 3 {
		synctest.Wait()
		s.mu.Lock()
		ringing := s.alarms
		s.alarms = nil
		s.mu.Unlock()
		for _, a := range ringing {
			go a.ring()
		}
	}
	synctest.Wait()
	for _, p := range s.processes {
		p.engine.Close()
	}
	s.checks.close()
}
