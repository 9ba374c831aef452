// Package workflowtest runs workflows in a test: in memory, in virtual time, with activities and children mocked where the
// test says so. There is no server, no goroutine and no waiting: a run that sleeps for a year is over in microseconds.
//
//	env := workflowtest.New(t)
//	workflowtest.Mock(env, Charge, func(ctx context.Context, o Order) (Receipt, error) { return Receipt{"r-1"}, nil })
//	env.At(2*time.Hour, func() { workflowtest.Signal(env, Approve, "ann") })
//	result, err := workflowtest.Run(env, Fulfil, Order{ID: "o-1"})
//
// Activities that are not mocked run their own code, if they are registered ([Env.Register]); steps always do, unless
// [MockStep] stands in. Failed attempts are retried as their policy says, timeouts and cancellation count in virtual time,
// and a mock passes time by [Sleep].
//
// After every activation the environment runs the code again over the log it has so far, read back from its stored form. Code
// that then decides differently (it followed a map's order, the wall clock, a global) fails the test with the place and the
// likely cause. [Replay] does the same with histories of real runs, against the code as it is now.
//
// It is for tests: nothing here is safe for use by several goroutines.
package workflowtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/workflow"
)

// TB is the part of testing.TB that is needed: a *testing.T, a *testing.B, or [Panic].
type TB interface {
	Helper()
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Panic is a [TB] for where there is no test, as in an example: what would fail the test panics, and what would be logged is not.
var Panic TB = panics{}

type panics struct{}

// failure is what Panic panics with, so that it is told from a panic of the code under test.
type failure string

func (panics) Helper()                           {}
func (panics) Cleanup(func())                    {}
func (panics) Logf(string, ...any)               {}
func (panics) Errorf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
func (panics) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// Env is where one run, and the children that it starts, take place. Fields are set before [Run].
type Env struct {
	// ID of the run. Default: "test".
	ID string
	// Start is when the run starts. Default: 2026-01-01, midnight UTC.
	Start time.Time
	// Seed of workflow.Random and workflow.UUID. Default: 1.
	Seed uint64
	// StopAtContinueAsNew ends the test run when the workflow goes on in a new generation: the error of [Run] is then a
	// *[ContinuedAsNew]. Default: later generations are run, too.
	StopAtContinueAsNew bool
	// SkipReplay leaves out the replay after each activation: for stepping through workflow code in a debugger.
	SkipReplay bool

	t           TB
	now         time.Time
	queue       []happening
	planned     []callback
	definitions []Definition
	registered  *registry.Registry
	mocks       mocks

	root     *run
	runs     map[string]*run
	order    []*run          // as they were started
	early    []history.Event // mail that was sent before the run started
	answers  map[string]*answer
	tokens   map[string]*call
	works    []*work
	ids      int
	turns    int // activations so far
	inside   bool
	problem  error
	finished bool
}

// mocks by name.
type mocks struct {
	activities map[string]registry.Activity
	steps      map[string]registry.Activity
	children   map[string]registry.Activity
}

type callback struct {
	at time.Duration
	do func()
}

// Definition is a workflow or an activity, as workflow.New and activity.New make them.
type Definition interface {
	registry.Definition
	Name() string
}

// New makes an environment for one run.
func New(t TB) *Env {
	env := &Env{
		ID: "test", Start: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), Seed: 1, t: t,
		mocks: mocks{map[string]registry.Activity{}, map[string]registry.Activity{}, map[string]registry.Activity{}},
		runs:  map[string]*run{}, answers: map[string]*answer{}, tokens: map[string]*call{},
	}
	t.Cleanup(env.close)
	return env
}

// Register adds activities and workflows that run their own code: what the workflow calls, and does not mock. The workflow
// that [Run] is given need not be registered.
func (env *Env) Register(definitions ...Definition) {
	env.definitions = append(env.definitions, definitions...)
}

// Mock has a function stand in for an activity, wherever the run calls it. It is given the context that the activity would
// be given: activity.InfoOf, Heartbeat and Token work, and [Sleep] lets it take time. A later Mock takes the place of an
// earlier one.
func Mock[I, O any](env *Env, mocked *activity.Activity[I, O], run func(context.Context, I) (O, error)) {
	env.t.Helper()
	env.mock(env.mocks.activities, mocked.Name(), mocked.Implement(run))
}

// MockStep has a function stand in for the steps of this name: those of workflow.Step and StartStep, whose own function is
// then not called.
func MockStep[T any](env *Env, name string, run func(context.Context) (T, error)) {
	env.t.Helper()
	env.mock(env.mocks.steps, name, activity.New(name, func(ctx context.Context, _ struct{}) (T, error) { return run(ctx) }))
}

// MockChild has a function stand in for the runs of a workflow as a child. It is a plain function, not workflow code: its
// context ends when the child is cancelled or terminated, and [Sleep] lets it take time. To stand in with workflow code,
// register child.Implement(function).
func MockChild[I, O any](env *Env, mocked *workflow.Workflow[I, O], run func(context.Context, I) (O, error)) {
	env.t.Helper()
	env.mock(env.mocks.children, mocked.Name(), activity.New(mocked.Name(), run))
}

func (env *Env) mock(into map[string]registry.Activity, name string, definition registry.Definition) {
	env.t.Helper()
	only, err := registry.New(definition)
	if err != nil {
		env.t.Fatalf("workflowtest: mock: %v", err)
		return
	}
	into[name], _ = only.FindActivity(name)
}

// At has a function called when so much virtual time has passed since the run's start: to send it mail, to ask it
// something, to check. It may call everything of this package but [Run], and everything of the test; never code of package
// workflow. Of what happens at the same time, callbacks come first, in the order in which they were planned. Zero is right
// after the first activation.
func (env *Env) At(after time.Duration, do func()) {
	if env.root == nil {
		env.planned = append(env.planned, callback{after, do})
		return
	}
	env.plan(callback{after, do})
}

func (env *Env) plan(c callback) {
	env.after(max(0, env.Start.Add(c.at).Sub(env.now)), nil, c.do)
}

// Now is the virtual time.
func (env *Env) Now() time.Time {
	if env.root == nil {
		return env.Start
	}
	return env.now
}

// Elapsed is how much virtual time has passed since the run's start.
func (env *Env) Elapsed() time.Duration { return env.Now().Sub(env.Start) }

// ContinuedAsNew is the error of [Run] when the workflow goes on in a new generation, and [Env.StopAtContinueAsNew] is set.
type ContinuedAsNew struct {
	Workflow string
	input    history.Payload
}

func (e *ContinuedAsNew) Error() string {
	return "workflow " + e.Workflow + " continued as new with " + string(e.input)
}

// NextInput is the input of the next generation; false if the error is not that of a workflow which continued as new.
func NextInput[I any](err error) (I, bool) {
	var none I
	var next *ContinuedAsNew
	if !errors.As(err, &next) {
		return none, false
	}
	input, decodingErr := history.Decode[I](next.input)
	return input, decodingErr == nil
}

// Run starts the workflow and goes on until it has closed and nothing is left under way: callbacks, children, activities
// that nobody waited for. Result and error are what a caller of the run would see: of an error, what crosses the border of
// a run (workflow.FailureType, FailureDetails, and errors.Is for workflow.ErrCancelled and ErrTimeout).
//
// The test fails, and Run does not return, if the run can never end, decides differently on replay,
// panics (but see workflow.Workflow.FailOnPanic), completes although a future of workflow.Receive was
// left with a signal, or calls what is neither registered nor mocked.
func Run[I, O any](env *Env, w *workflow.Workflow[I, O], input I) (O, error) {
	env.t.Helper()
	var none O
	payload, err := history.Encode(input)
	if err == nil {
		err = env.run(w, payload)
	}
	if err != nil {
		env.t.Fatalf("workflowtest: %v", err)
		return none, err
	}
	switch end := env.root.closed.(type) {
	case *history.CompleteRun:
		return history.Decode[O](end.Result)
	case *history.ContinueAsNew:
		return none, &ContinuedAsNew{Workflow: end.Workflow, input: end.Input}
	default:
		failure := failureOf(end)
		if failure.Stack != "" {
			env.t.Logf("workflow %s panicked: %s\n%s", w.Name(), failure.Message, failure.Stack)
		}
		return none, failure
	}
}

// RunActivity runs one activity by itself, its own code or its mock, with its retries and timeouts in virtual time.
func RunActivity[I, O any](env *Env, call *activity.Activity[I, O], input I) (O, error) {
	env.t.Helper()
	if env.mocks.activities[call.Name()] == nil {
		env.Register(call)
	}
	return Run(env, workflow.New("test of "+call.Name(), func(ctx workflow.Context, input I) (O, error) {
		return workflow.Execute(ctx, call, input)
	}), input)
}

// failureOf is how a run ended that did not complete.
func failureOf(end history.Terminal) *history.Failure {
	switch end := end.(type) {
	case *history.FailRun:
		return end.Failure
	case *history.CancelRun:
		return end.Failure
	case *history.TerminateRun:
		return end.Failure
	}
	return nil
}

// fail notes the first problem: the run goes no further, and Run reports it.
func (env *Env) fail(format string, args ...any) {
	if env.problem == nil {
		env.problem = fmt.Errorf(format, args...)
	}
}

// register builds the registry. What is mocked need not have code.
func (env *Env) register(root Definition) error {
	var definitions []registry.Definition
	known := false
	for _, d := range env.definitions {
		only, err := registry.New(d)
		if mocked := env.mocks.activities[d.Name()] != nil || env.mocks.children[d.Name()] != nil; err != nil && mocked {
			continue
		}
		definitions = append(definitions, d)
		if _, same := only.FindWorkflow(root.Name()); same {
			known = true
		}
	}
	if !known {
		definitions = append(definitions, root)
	}
	registered, err := registry.New(definitions...)
	env.registered = registered
	return err
}

// close ends everything that is still paused.
func (env *Env) close() {
	env.finished = true
	for _, w := range env.works {
		w.quit()
	}
	for _, r := range env.order {
		if r.live != nil {
			r.live.Close()
		}
	}
}
