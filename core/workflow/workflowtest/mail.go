package workflowtest

import (
	"fmt"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// Target is a run that can be sent mail, asked and looked at: an [*Env] stands for its own run, and [Env.Child] gives those of
// children.
type Target interface {
	target() (*Env, string)
}

func (env *Env) target() (*Env, string) { return env, env.ID }

// Child is a child run, by its id: what ChildOptions.ID says, else the parent's id, its generation and the number of the call,
// as in "test.1.0". It must be a registered workflow; a mock takes no mail.
func (env *Env) Child(id string) Target { return childRun{env, id} }

type childRun struct {
	env *Env
	id  string
}

func (c childRun) target() (*Env, string) { return c.env, c.id }

// Signal sends a signal. Sent before [Run], it arrives with the start.
func Signal[T any](to Target, signal *workflow.Signal[T], value T) {
	env, id := to.target()
	env.t.Helper()
	env.enter("Signal")
	env.send(id, "signal "+signal.Name(), history.NewSignal(env.newID("signal"), signal.Name(), env.encode("signal "+signal.Name(), value)))
}

// Cancel asks the run to cancel; its code may clean up.
func Cancel(to Target, reason string) {
	env, id := to.target()
	env.t.Helper()
	env.enter("Cancel")
	env.send(id, "cancel", history.NewCancel(env.newID("cancel"), reason))
}

// Terminate ends the run without asking its code.
func Terminate(to Target, reason string) {
	env, id := to.target()
	env.t.Helper()
	env.enter("Terminate")
	env.send(id, "terminate", history.NewTerminate(env.newID("terminate"), reason))
}

// Update sends an update and has the run look at it at once, so that a rejection, and the answer of a handler that does
// not wait, can be read from the outcome right away; else read it in a later callback, or after [Run].
func Update[I, O any](to Target, update *workflow.Update[I, O], input I) *Outcome[O] {
	env, id := to.target()
	env.t.Helper()
	env.enter("Update")
	mailID := env.newID("update")
	outcome := &Outcome[O]{env: env, update: update.Name(), answer: &answer{run: id}}
	env.answers[mailID] = outcome.answer
	env.send(id, "update "+update.Name(), history.NewUpdate(mailID, update.Name(), env.encode("update "+update.Name(), input)))
	env.look()
	return outcome
}

// Query asks the run, in the state that all mail sent before has led to. A closed run answers, too.
func Query[I, O any](to Target, query *workflow.Query[I, O], input I) (O, error) {
	env, id := to.target()
	env.t.Helper()
	env.enter("Query")
	var none O
	payload := env.encode("query "+query.Name(), input)
	r := env.find(id)
	if r == nil {
		return none, fmt.Errorf("no run %q", id)
	}
	env.inside = true
	result, err := r.live.Ask(query.Name(), payload)
	env.inside = false
	if err != nil {
		return none, err
	}
	return history.Decode[O](result)
}

// State is what the run has published last: workflow.PublishState. Before it has, it is the zero value.
func State[S any](of Target) S {
	env, id := of.target()
	env.t.Helper()
	env.enter("State")
	var state S
	if r := env.find(id); r != nil {
		var err error
		if state, err = history.Decode[S](r.state); err != nil {
			env.t.Fatalf("workflowtest.State: %v", err)
		}
	}
	return state
}

// Attribute is what the run is searched by under this name; false if it is not.
func Attribute[T workflow.AttributeType](of Target, attribute *workflow.Attribute[T]) (T, bool) {
	env, id := of.target()
	env.t.Helper()
	env.enter("Attribute")
	var value T
	r := env.find(id)
	if r == nil {
		return value, false
	}
	payload, ok := r.live.Attributes()[attribute.Name()]
	if !ok {
		return value, false
	}
	value, err := history.Decode[T](payload)
	if err != nil {
		env.t.Fatalf("workflowtest.Attribute: %v", err)
	}
	return value, true
}

// answer is how far an update has come.
type answer struct {
	run     string
	phase   history.UpdatePhase
	result  history.Payload
	failure *history.Failure
}

// Outcome is that of an update.
type Outcome[O any] struct {
	env    *Env
	update string
	answer *answer
}

// Accepted says whether the update passed its validators, and its handler has begun.
func (o *Outcome[O]) Accepted() bool {
	return o.answer.phase == history.UpdateAccepted || o.answer.phase == history.UpdateCompleted
}

// Done says whether the update is completed or rejected.
func (o *Outcome[O]) Done() bool {
	return o.answer.phase == history.UpdateCompleted || o.answer.phase == history.UpdateRejected
}

// Result is the update's answer, or the error that it was rejected or failed with. The test fails if there is none yet.
func (o *Outcome[O]) Result() (O, error) {
	o.env.t.Helper()
	var none O
	switch {
	case !o.Done():
		err := fmt.Errorf("update %s has no answer yet: its handler still waits; read the result in a later env.At, or after Run", o.update)
		o.env.t.Fatalf("workflowtest: %v", err)
		return none, err
	case o.answer.failure != nil:
		return none, o.answer.failure
	}
	return history.Decode[O](o.answer.result)
}

func (env *Env) answer(command *history.RespondUpdate) {
	if a := env.answers[command.ID]; a != nil {
		a.phase, a.result, a.failure = command.Phase, command.Result, command.Failure
	}
}

// closeUpdates answers the updates that a run left open when it closed.
func (env *Env) closeUpdates(r *run) {
	for _, a := range env.answers { // order-insensitive: each is given the same answer
		if a.run == r.id && a.phase != history.UpdateCompleted && a.phase != history.UpdateRejected {
			a.phase = history.UpdateRejected
			a.failure = &history.Failure{FailureKind: history.Application, Type: "run-closed", NonRetryable: true,
				Message: "run " + r.id + " closed before it had answered the update"}
		}
	}
}

// enter is the first line of what tests call while the run is under way.
func (env *Env) enter(call string) {
	if env.inside {
		panic("workflowtest." + call + " was called by workflow code: it is for env.At, mocks and steps, and for after Run")
	}
}

// send files mail.
func (env *Env) send(id, what string, mail history.Event) {
	env.t.Helper()
	r := env.runs[id]
	switch {
	case env.root == nil && id == env.ID:
		env.early = append(env.early, mail)
	case r == nil:
		env.t.Fatalf("workflowtest: %s is sent to run %q, which does not exist: it has not been started, or its workflow is mocked", what, id)
	case r.closed != nil:
		env.t.Fatalf("workflowtest: %s is sent to run %q after it has closed (%s), at %s", what, id, r.closed.Status(), env.Elapsed())
	default:
		r.inbox = append(r.inbox, mail)
	}
}

// find gives a run, once it has seen all mail.
func (env *Env) find(id string) *run {
	env.t.Helper()
	env.look()
	r := env.runs[id]
	if r == nil {
		env.t.Fatalf("workflowtest: there is no run %q: it has not been started, or its workflow is mocked", id)
	}
	return r
}

// look has runs see their mail while a callback or a mock goes on.
func (env *Env) look() {
	if env.root != nil && !env.finished {
		env.settle()
	}
}

func (env *Env) encode(what string, value any) history.Payload {
	env.t.Helper()
	payload, err := history.Encode(value)
	if err != nil {
		env.t.Fatalf("workflowtest: %s: %v", what, err)
	}
	return payload
}

func (env *Env) newID(what string) string {
	env.ids++
	return fmt.Sprintf("%s-%d", what, env.ids)
}
