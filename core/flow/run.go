package flow

import (
	"errors"
	"fmt"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow"
)

// Payloads is the workflow that a flow is: from params to shared state, both JSON objects.
type Payloads = workflow.Workflow[history.Payload, history.Payload]

// Workflow makes a workflow of a definition's source, for a program to register under this name.
// Its input is the task's params, a JSON object. Its result is the shared state at the end. The
// error is of type [Problems].
func Workflow(name string, source []byte) (*Payloads, error) {
	d, err := Parse(source)
	if err != nil {
		return nil, err
	}
	return d.Workflow(name), nil
}

// MustWorkflow is [Workflow] for package variables. It panics if the definition is not valid.
func MustWorkflow(name string, source []byte) *Payloads {
	w, err := Workflow(name, source)
	if err != nil {
		panic(fmt.Sprintf("flow %s: %v", name, err))
	}
	return w
}

// Workflow makes a workflow of the definition.
func (d *Definition) Workflow(name string) *Payloads {
	return workflow.New(name, d.run)
}

// run is one generation of a run of a flow.
type run struct {
	*progress
	node     *Node  // that runs
	waitsFor string // the reference that it looks at
	ended    bool
	writes   int  // counts what messages wrote
	after    int  // how many events and commands make a log long; 0: as workflow.Info says
	stays    bool // the state is too large for the next generation: the log may grow
	long     bool // the log is long: the run continues as new at the next place where it can
	pace     pace
}

// errLong ends a generation: the position lies in the frames, and the next generation takes it up.
var errLong = errors.New("the flow continues as new")

// run runs the flow to its end, or to the end of the generation.
func (d *Definition) run(ctx workflow.Context, input history.Payload) (history.Payload, error) {
	p, err := begin(d, []byte(input), workflow.InfoOf(ctx).Generation)
	return d.resume(ctx, p, err)
}

// resume runs the flow from where its progress is. With an error, it ends the run.
func (d *Definition) resume(ctx workflow.Context, p *progress, err error) (history.Payload, error) {
	r := &run{progress: p, ended: err != nil, after: d.longAfter}
	r.handle(ctx)
	if err != nil {
		r.publish(ctx)
		return nil, inputFailure(err)
	}
	workflow.Yield(ctx) // messages that came before the first node are handled before it runs
	failure, err := r.flow(ctx, d, p.Frame, p.Params)
	workflow.Yield(ctx) // messages of this activation count, before the state is carried or given
	if errors.Is(err, errLong) && ctx.Err() != nil {
		err = ctx.Err() // the next generation would not know that it was canceled
	}
	if errors.Is(err, errLong) {
		next, fits := p.carry()
		if fits {
			r.publish(ctx) // what the last node wrote, for readers between the generations
			return workflow.ContinueAsNew(ctx, d.run, next)
		}
		r.long, r.stays = false, true
		failure, err = r.flow(ctx, d, p.Frame, p.Params)
		workflow.Yield(ctx)
	}
	switch stuck := (*stuckError)(nil); {
	case errors.As(err, &stuck):
		failure = &NodeFailure{Node: nameOf(p.innermost()), Error: stuck.Error()}
	case err != nil:
		r.cancel(ctx)
		return nil, err
	}
	r.ended = true
	r.publish(ctx)
	if failure != nil {
		return nil, failure.err()
	}
	return history.Payload(p.Frame.Shared.JSON()), nil
}

// cancel notes the end of a run that was canceled (S4.25).
func (r *run) cancel(ctx workflow.Context) {
	f := r.innermost()
	now := workflow.Now(ctx)
	r.note(Row{Node: f.Node, Path: path(f), Status: RowCanceled, Action: RowCanceled,
		Started: now, Finished: now})
	r.ended, r.Last = true, RowCanceled
	r.publish(ctx)
}

// flow runs the nodes of a flow from where its frame is. The failure is that of a node which no
// other one follows. The error is the scope's, or errLong.
func (r *run) flow(
	ctx workflow.Context, d *Definition, f *frame, params object,
) (*NodeFailure, error) {
	for f.Node != "" {
		n := d.Node(f.Node)
		ended, err := r.enter(ctx, n, f, params)
		if err != nil {
			return nil, err
		}
		r.Last = ended.action
		next, _ := d.Next(n.Key, ended.action)
		if next == "" && ended.failure != nil {
			if ended.failure.Node == "" { // else it is that of a node inside this one
				ended.failure.Node = nameOf(f)
			}
			return ended.failure, nil
		}
		f.Node, f.Now = next, nil
		if r.measure(ctx); r.long && next != "" {
			return nil, errLong
		}
	}
	return nil, nil
}

// measure notes whether the log is long.
func (r *run) measure(ctx workflow.Context) {
	info := workflow.InfoOf(ctx)
	long := info.ContinueAsNewSuggested || r.after > 0 && info.LogSize >= r.after
	r.long = r.long || !r.stays && long
}

// nameOf is the key of a frame's node, with those of the subflows around it.
func nameOf(f *frame) (name string) {
	for _, outer := range path(f) {
		name += outer + "/"
	}
	return name + f.Node
}

// pace bounds the work of a flow between two waits. A circle of nodes that never wait must not keep
// an invocation busy.
type pace struct {
	work   int // since the last wait
	pauses int // without another wait between them
}

const (
	workOfStep = 64 << 10 // that a node counts for, in bytes read
	// workOfParam is what a param counts for where params of task and node are merged.
	workOfParam = 100
	workPerGo   = 32 << 20 // before the run pauses
	pauseOf     = time.Second
	mostPauses  = 20
)

// waited notes that the flow has waited for so long. Short waits do not make up for work: a circle
// of short timers has a pause now and then, too.
func (p *pace) waited(d time.Duration) {
	if p.pauses = 0; d >= pauseOf {
		p.work = 0
	}
}

// rest pauses a run that has worked for long, and ends one that never waits.
func (p *pace) rest(ctx workflow.Context) error {
	if p.work += workOfStep; p.work < workPerGo {
		return nil
	}
	if p.work, p.pauses = 0, p.pauses+1; p.pauses > mostPauses {
		return &stuckError{}
	}
	return workflow.Sleep(ctx, pauseOf)
}

// stuckError ends a run, whatever edges its nodes have.
type stuckError struct{}

// Error says what to do.
func (*stuckError) Error() string {
	return fmt.Sprintf("the flow has paused %d times for its work alone, without waiting for "+
		"anything: it runs in a circle, or its values are too large; let the circle contain a "+
		"service, a timer or a wait", mostPauses)
}
