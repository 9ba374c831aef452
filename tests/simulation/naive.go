package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/reprise-run/reprise/core/history"
)

// naive is a second implementation of what author's code sees, without replay: it is given the events of one log, once and
// in order, and says which commands each record must have. It shares nothing with core/internal but the values of
// core/history; that it is slow and keeps everything does not matter.
type naive struct {
	code   *code
	flow   *naiveFlow // instead of code, if the program is a flow
	main   *strand    // of the workflow function
	mended bool       // it takes signals that do not fit
	unfit  string     // the id of a signal that it was given, and that does not fit

	strands  []*strand // not ended
	ready    []*strand // for the next round
	handlers int       // dispatched
	arrived  int       // signals
	root     *naiveScope
	pending  []*promise // operations, in order of their numbers
	waits    []*promise // for signals and conditions, in order
	signals  map[string]*naiveBox
	received []*promise  // of signals
	updates  []*letterOf // of this record, that nothing handles yet
	asked    []*letterOf // updates that are neither accepted nor rejected
	update   func(*letterOf)
	handled  string          // the name of the updates that it takes
	marks    map[string]bool // patches whose mark is in the log: true once the code has come to it

	next     int64
	time     time.Time
	commands []string
	size     int    // events and commands before this record's commands
	ended    string // the closing command
	later    func() // closes the run once no awaited strand is left
	awaited  func(*strand) bool
	// completing: the function has returned a result.
	completing bool
	draw       *rand.PCG
	state      int
	stateSet   bool
	keyed      attributes
}

func newNaive(p *program, mended bool, long int) *naive {
	n := &naive{mended: mended, code: &code{program: p, second: true}, root: &naiveScope{}, signals: map[string]*naiveBox{}, marks: map[string]bool{}}
	if p.Flow != nil {
		n.flow = &naiveFlow{n: n, def: p.Flow, longAfter: long, met: map[string]bool{}}
	}
	return n
}

// attributes are those of a run: "k", which programs change, and "g", which they leave alone.
type attributes struct{ k, g int }

// strand is a unit: a coroutine, and its place in the order of turns.
type strand struct {
	n        *naive
	path     []int // each step's kind and index
	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	ready    bool
	begun    bool
	done     bool
	branches int
	asyncs   int
	awaits   *naiveScope
}

// handles says whether it is a message's handler, or what a handler left running.
func (s *strand) handles() bool { return len(s.path) > 0 && s.path[len(s.path)-2] != ofBranch }

// Kinds of steps of a path, in the order of turns.
const (
	ofBranch = iota
	ofAsync
	ofHandler
)

// promise is something that comes later.
type promise struct {
	settled bool
	value   int
	text    history.Payload // of an operation
	err     error
	waiting []*strand
	notify  func()
	scope   *naiveScope
	// Of an operation:
	seq   int64
	node  *node
	asked bool
	cause error
	// Of a condition:
	holds func() bool
	// Of a signal: how many wait for it, what it was given, and whether the code has that.
	signal string
	held   int
	letter *letterOf
	read   bool
}

type naiveScope struct {
	parent *naiveScope
	err    error
}

type naiveBox struct {
	handle   func(*letterOf)
	waiting  []*promise
	buffered []*letterOf
}

// letterOf is a signal or an update.
type letterOf struct {
	id     string
	name   string // of an update
	value  int
	text   history.Payload
	number int
	unfit  bool
	// accepted: an update was validated before a reset.
	accepted bool
	by       *strand // that handles it
}

func (s *naiveScope) Err() error {
	for ; s != nil; s = s.parent {
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

func (s *naiveScope) within(outer *naiveScope) bool {
	for ; s != nil; s = s.parent {
		if s == outer {
			return true
		}
	}
	return false
}

// record carries out one record, and gives the commands that it must have.
func (n *naive) record(rec *history.Record) []string {
	n.size += len(n.commands)
	n.time, n.commands = rec.Time.Round(0).UTC(), nil
	for _, command := range rec.Commands {
		if mark, ok := command.(*history.MarkPatch); ok && !n.marks[mark.ID] {
			n.marks[mark.ID] = false
		}
	}
	for _, event := range rec.Events {
		if started, ok := event.(*history.Started); ok && n.flow != nil && n.ended != "" {
			n.continues(started)
		}
		if n.size++; n.ended == "" {
			n.apply(event)
		}
	}
	for n.ended == "" && (n.round() || n.meetConditions() || n.refuseUpdates()) {
		continue
	}
	if n.ended == "" && n.later != nil && !slices.ContainsFunc(n.strands, n.awaited) {
		n.later()
	}
	return n.commands
}

// close ends all strands.
func (n *naive) close() {
	for _, s := range n.strands {
		s.stop()
	}
}

func (n *naive) emit(format string, args ...any) {
	n.commands = append(n.commands, fmt.Sprintf(format, args...))
}

func (n *naive) apply(event history.Event) {
	switch event := event.(type) {
	case *history.Started:
		n.start(event)
	case *history.SignalReceived:
		n.signal(event)
	case *history.UpdateReceived:
		l := &letterOf{id: event.ID, name: event.Name, value: number(event.Input), text: event.Input, accepted: event.Accepted}
		n.asked = append(n.asked, l)
		switch {
		case n.completing:
			n.late(l)
		case n.update != nil && l.name == n.handled:
			n.update(l)
		default:
			n.updates = append(n.updates, l)
		}
	case *history.CancelRequested:
		n.cancel(n.root, history.CancelFailure(event.Reason))
	case *history.TerminateRequested:
		n.stop("terminate")
	case *history.ResetRequested:
		n.stop("reset")
	case *history.ActivityResolved:
		n.resolve(event.Seq, event.Result, event.Failure)
	case *history.ChildResolved:
		n.resolve(event.Seq, event.Result, event.Failure)
	case *history.TimerFired:
		n.resolve(event.Seq, nil, nil)
	}
}

func number(p history.Payload) (value int) {
	_ = json.Unmarshal(p, &value) // nothing is 0
	return value
}

func (n *naive) start(event *history.Started) {
	goesOn := n.draw != nil // after a reset
	n.draw = rand.NewPCG(event.Seed, 0x9e3779b97f4a7c15)
	if goesOn {
		for _, letter := range event.Letters {
			n.apply(letter)
		}
		return
	}
	n.main = n.spawn(nil, func(s *strand) {
		asked := func() bool { return n.root.err != nil }
		result, err := n.run(naiveSurface{s, n.root}, event.Input)
		switch {
		case err == nil:
			n.completing = true
			for _, l := range slices.Clone(n.asked) {
				n.late(l)
			}
			end := func() { n.finish("complete " + result) }
			if n.later, n.awaited = end, (*strand).handles; !slices.ContainsFunc(n.strands, n.awaited) {
				end()
			}
		case errors.Is(err, errContinue):
			before := asked()
			n.awaited = func(*strand) bool { return true }
			n.later = func() {
				if asked() && !before {
					n.end("cancel")
				} else {
					n.end("continue-as-new " + result)
				}
			}
		default:
			n.finish(n.ending(err))
		}
	})
	for _, signal := range event.Signals {
		n.signal(signal)
	}
}

// run is the workflow function: of a program, or of a flow.
func (n *naive) run(s naiveSurface, input history.Payload) (result string, err error) {
	if n.flow != nil {
		result, err := n.flow.main(s, input)
		return string(result), err
	}
	value, err := n.code.main(s, number(input))
	return strconv.Itoa(value), err
}

// continues begins the next generation of a flow. The same code continues.
func (n *naive) continues(event *history.Started) {
	n.ended, n.later, n.awaited = "", nil, nil
	n.next, n.handlers, n.size = 0, 0, 0
	n.signals, n.updates, n.asked, n.update = map[string]*naiveBox{}, nil, nil, nil
	n.flow.began = false
	n.main.wake()
	for _, signal := range event.Signals {
		n.signal(signal)
	}
}

func (n *naive) signal(event *history.SignalReceived) {
	n.arrived++
	value, fits := reading(event.Input)
	n.pass(event.Name, &letterOf{id: event.ID, value: value, text: event.Input, unfit: !fits && !n.mended, number: n.arrived})
}

// opens notes a signal that the code has been given.
func (n *naive) opens(l *letterOf) {
	if l != nil && l.unfit {
		n.unfit = l.id
	}
}

// read notes that the code has what a promise gives.
func (n *naive) read(p *promise) {
	p.read = true
	n.opens(p.letter)
}

func (n *naive) box(name string) *naiveBox {
	if n.signals[name] == nil {
		n.signals[name] = &naiveBox{}
	}
	return n.signals[name]
}

func (n *naive) pass(name string, l *letterOf) {
	b := n.box(name)
	switch {
	case b.handle != nil:
		b.handle(l)
	case len(b.waiting) > 0:
		n.give(b.waiting[0], l)
	default:
		b.buffered = append(b.buffered, l)
		slices.SortFunc(b.buffered, func(x, y *letterOf) int { return x.number - y.number })
	}
}

// hold has the promise of a signal take a letter that is there, or stand in line for the next.
func (n *naive) hold(p *promise) {
	if p.signal == "" {
		return
	}
	if p.held++; p.held > 1 || p.settled {
		return
	}
	b := n.box(p.signal)
	switch err := p.scope.Err(); {
	case err != nil:
		n.settle(p, 0, err)
	case len(b.buffered) > 0:
		l := b.buffered[0]
		b.buffered = b.buffered[1:]
		n.give(p, l)
	default:
		n.waits, b.waiting = append(n.waits, p), append(b.waiting, p)
		p.notify = func() { b.standDown(p) }
	}
}

// release undoes hold: a letter that the code has not read goes to others.
func (n *naive) release(p *promise) {
	if p.signal == "" {
		return
	}
	if p.held--; p.held > 0 || p.read {
		return
	}
	if l := p.letter; l != nil {
		p.letter, p.settled, p.value, p.waiting = nil, false, 0, nil
		n.pass(p.signal, l)
	} else if !p.settled {
		n.leave(p)
		n.box(p.signal).standDown(p)
	}
}

func (n *naive) give(p *promise, l *letterOf) {
	p.letter = l
	n.box(p.signal).standDown(p)
	n.leave(p)
	n.settle(p, l.value, nil)
}

func (b *naiveBox) standDown(p *promise) {
	b.waiting = slices.DeleteFunc(b.waiting, func(other *promise) bool { return other == p })
}

// leave takes a wait out of the list.
func (n *naive) leave(p *promise) {
	n.waits = slices.DeleteFunc(n.waits, func(other *promise) bool { return other == p })
}

func (n *naive) settle(p *promise, value int, err error) {
	if p.settled {
		return
	}
	p.settled, p.value, p.err = true, value, err
	if p.notify != nil {
		p.notify()
	}
	for _, s := range p.waiting {
		s.wake()
	}
}

func (n *naive) resolve(seq int64, result history.Payload, failure *history.Failure) {
	at := slices.IndexFunc(n.pending, func(p *promise) bool { return p.seq == seq })
	if at < 0 {
		return // the record dropped it before
	}
	p := n.pending[at]
	n.pending = slices.Delete(n.pending, at, at+1)
	switch {
	case failure == nil:
		p.text = result
		n.settle(p, number(result), nil)
	case p.asked && errors.Is(failure, history.ErrCancelled):
		n.settle(p, 0, p.cause)
	default:
		n.settle(p, 0, failure)
	}
}

// cancel cancels a scope, and what is within.
func (n *naive) cancel(scope *naiveScope, cause error) {
	if scope.Err() != nil {
		return
	}
	scope.err = cause
	for _, p := range slices.Clone(n.pending) {
		if p.scope.within(scope) && !p.settled && !p.asked {
			n.cancelOperation(p, cause)
		}
	}
	for _, p := range slices.Clone(n.waits) {
		if p.scope.within(scope) {
			n.leave(p)
			n.settle(p, 0, cause)
		}
	}
	for _, s := range n.strands {
		if s.awaits != nil && s.awaits.within(scope) {
			s.wake()
		}
	}
}

func (n *naive) cancelOperation(p *promise, cause error) {
	p.asked, p.cause = true, cause
	drop := func() {
		n.pending = slices.DeleteFunc(n.pending, func(other *promise) bool { return other == p })
	}
	const wait, try = 0, 1
	switch {
	case p.node.Verb == doChild:
		n.emit("cancel-child %d", p.seq)
	case p.node.Verb == doSleep:
		drop()
		n.emit("cancel-timer %d", p.seq)
		n.settle(p, 0, cause)
	case p.node.Mode == wait:
		n.emit("cancel-activity %d false", p.seq)
	default:
		drop()
		if p.node.Mode == try {
			n.emit("cancel-activity %d true", p.seq)
		}
		n.settle(p, 0, cause)
	}
}

// Strands and their turns.

func (n *naive) spawn(path []int, run func(*strand)) *strand {
	s := &strand{n: n, path: path}
	s.resume, s.stop = iter.Pull(func(yield func(struct{}) bool) {
		s.yield = yield
		defer func() {
			if p := recover(); p != nil && p != errStopped { //nolint:errorlint // the very value
				panic(p)
			}
		}()
		run(s)
	})
	n.strands = append(n.strands, s)
	s.wake()
	return s
}

func (s *strand) wake() {
	if !s.ready && !s.done {
		s.ready = true
		s.n.ready = append(s.n.ready, s)
	}
}

var errStopped = errors.New("stopped")

func (s *strand) pause() {
	if !s.yield(struct{}{}) {
		panic(errStopped)
	}
}

// round gives each strand that is ready one turn.
func (n *naive) round() bool {
	round := n.ready
	n.ready = nil
	slices.SortFunc(round, func(a, b *strand) int { return slices.Compare(a.path, b.path) })
	for _, s := range round {
		s.ready = false
		if s.done || n.ended != "" {
			continue
		}
		s.begun = true
		if _, more := s.resume(); !more {
			s.done = true
			n.strands = slices.DeleteFunc(n.strands, func(other *strand) bool { return other == s })
		}
	}
	return len(round) > 0
}

// meetConditions wakes one strand: the first with a condition that holds.
func (n *naive) meetConditions() (met bool) {
	for _, p := range n.waits {
		if p.holds != nil && !p.settled && p.holds() {
			n.leave(p)
			n.settle(p, 0, nil)
			return true
		}
	}
	return false
}

func (n *naive) refuseUpdates() bool {
	left := n.updates
	n.updates = nil
	for _, l := range left {
		n.answered(l)
		n.emit("respond-update %s %s rejected 0 failed:unhandled-update", l.name, l.id)
	}
	return len(left) > 0
}

// unread lists the signals that the code has not had, in the order in which they came.
func (n *naive) unread() (ids []string) {
	var all []*letterOf
	for _, b := range n.signals { // order-insensitive: they are sorted
		all = append(all, b.buffered...)
	}
	for _, p := range n.received {
		if p.letter != nil && !p.read {
			all = append(all, p.letter)
		}
	}
	slices.SortFunc(all, func(x, y *letterOf) int { return x.number - y.number })
	for _, l := range all {
		ids = append(ids, l.id)
	}
	return ids
}

// what the run waits for, but for other people.
func (n *naive) owed() (what []string) {
	for _, p := range n.pending {
		if p.node.Verb != doChild {
			what = append(what, fmt.Sprintf("%s (seq %d)", p.node.Verb, p.seq))
		}
	}
	return what
}
