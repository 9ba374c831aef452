package script

import (
	"encoding/json"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// run is one generation of a run of a script. All code of the script runs in the unit of the
// workflow function, one turn after the other: a turn begins with what a call or a message brought,
// and ends when every part of the script waits.
type run struct {
	script *Script
	ctx    workflow.Context // the run's
	loop   workflow.Context // shielded: the script decides what a cancellation ends
	scopes map[int]workflow.Context
	box    *sandbox

	asked      []request        // what the script asked for in this turn, in order
	calls      map[int64]func() // cancel the calls that have not ended
	selector   *workflow.Selector
	letters    []*letter         // messages for handlers of the script, in order
	replies    int               // letters that have no reply yet
	open       map[int64]*letter // that the script has got
	lastLetter int64
	handlers   int
	ended      *ending
	next       bool // continueAsNew was called
}

// ending is how the script's function ended.
type ending struct {
	op    string // done, continued or failed
	value string
}

// letter is a message that a handler of the script answers.
type letter struct {
	kind, name string
	input      history.Payload
	replied    bool
	result     history.Payload
	err        error
}

func (s *Script) run(ctx workflow.Context, input history.Payload) (history.Payload, error) {
	r := &run{script: s, ctx: ctx, loop: workflow.Shield(ctx), scopes: map[int]workflow.Context{0: ctx},
		calls: map[int64]func(){}, open: map[int64]*letter{}, selector: workflow.NewSelector()}
	box, err := newSandbox(s.program, s.turn, r.answer)
	if err != nil {
		panic(s.broken(err))
	}
	r.box = box
	workflow.Hold(ctx, box)
	r.awaitLetters()
	r.turn("start", s.function, text(input))
	for r.ended == nil || r.replies > 0 {
		if len(r.calls) == 0 && r.replies == 0 && r.handlers == 0 {
			panic(&Broken{Reason: "the script waits for a promise that nothing settles: no task, timer, " +
				"signal or child is under way, and it handles no message"})
		}
		if err := r.selector.Select(r.loop); err != nil {
			return nil, err
		}
	}
	return r.end()
}

// turn has the script go on because of something, until every part of it waits. Then it begins what
// the script asked for.
func (r *run) turn(because string, args ...any) {
	r.enter(because, args...)
	for again := r.ask("conditions") != 0; again; again = r.ask("settled") == true {
		r.enter("look")
	}
	asked := r.asked
	r.asked = nil
	for _, request := range asked {
		r.begin(request)
	}
	if r.box.Bytes() > MaxMemory {
		panic(&Broken{Reason: overMemory})
	}
}

// enter calls a function of the prelude, and runs the script's jobs.
func (r *run) enter(function string, args ...any) {
	r.ask(function, args...)
	if err := r.box.jobs(); err != nil {
		panic(r.script.broken(r.interrupted(err)))
	}
}

// ask calls a function of the prelude.
func (r *run) ask(function string, args ...any) any {
	answer, err := r.box.call(function, args...)
	if err != nil {
		panic(r.script.broken(err))
	}
	return answer
}

// settle tells the script how a call ended.
func (r *run) settle(number int64, value history.Payload, err error) {
	delete(r.calls, number)
	if err != nil {
		r.turn("settle", number, false, encodeFailure(err))
		return
	}
	r.turn("settle", number, true, text(value))
}

// end gives what the workflow function returns.
func (r *run) end() (history.Payload, error) {
	if r.next && r.ended.op == "done" {
		panic(&Broken{Reason: "Workflow.continueAsNew was called, and its result was not returned: write " +
			"return Workflow.continueAsNew(input)"})
	}
	switch r.ended.op {
	case "continued":
		return workflow.ContinueAsNew(r.ctx, r.script.run, history.Payload(r.ended.value))
	case "failed":
		return nil, r.script.failure(r.ended.value)
	}
	return history.Payload(r.ended.value), nil
}

// awaitLetters has the loop take the messages that handlers of the script answer.
func (r *run) awaitLetters() {
	come := workflow.Condition(r.loop, func() bool { return len(r.letters) > 0 })
	workflow.AddFuture(r.selector, come, func(struct{}, error) {
		letters := r.letters
		r.letters = nil
		for _, l := range letters {
			r.deliver(l)
		}
		r.awaitLetters()
	})
}

func (r *run) deliver(l *letter) {
	number := r.number(l)
	r.turn("handle", number, l.kind, l.name, text(l.input))
}

// text is a payload as the prelude reads it.
func text(p history.Payload) string {
	if len(p) == 0 {
		return "null"
	}
	return string(p)
}

func decode[T any](argument string) (value T, err error) {
	err = json.Unmarshal([]byte(argument), &value)
	return value, err
}
