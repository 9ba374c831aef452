package workflow

import (
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// Phase is a part of a workflow that waits for messages and folds each into a state of type S, one after the other, until
// one of them ends it, it runs out of time, or it is cancelled. Handlers may leave work running; the phase ends when that
// has ended, too.
//
//	cart := workflow.NewPhase(Cart{})
//	workflow.OnSignal(cart, AddItem, func(ctx workflow.Context, item Item, c Cart) workflow.Next[Cart] {
//		return workflow.Continue(append(c, item))
//	})
//	workflow.OnUpdate(cart, Checkout, func(ctx workflow.Context, in Payment, c Cart) workflow.Answer[Cart, Total] {
//		return workflow.ReplyAndFinish(c.total(), c)
//	})
//	items, err := cart.Within(24 * time.Hour).Run(ctx)
type Phase[S any] struct {
	state   S
	limited bool
	timeout time.Duration
	signals []route
	updates []route

	running bool
	stopped bool
	busy    bool
	queue   []*machine.Promise // handlers that wait for their turn, in the order of dispatch
	asyncs  int
}

// route is a handler of one name.
type route struct {
	name   string
	handle func(ctx Context, u *scheduler.Unit, m *scheduler.Message)
}

// NewPhase makes a phase that begins with this state.
func NewPhase[S any](state S) *Phase[S] { return &Phase[S]{state: state} }

// Within ends the phase with [ErrTimeout] after a while. With a duration of zero or less the phase
// ends at once, and takes no message. It gives the same phase.
func (p *Phase[S]) Within(d time.Duration) *Phase[S] {
	p.limited, p.timeout = true, d
	return p
}

// State is the state as it stands now.
func (p *Phase[S]) State() S { return p.state }

// Next is what a signal's handler decides.
type Next[S any] struct {
	state S
	stop  bool
	later func(ctx Context) error
}

// Continue keeps the phase open with this state.
func Continue[S any](state S) Next[S] { return Next[S]{state: state} }

// Finish ends the phase with this state.
func Finish[S any](state S) Next[S] { return Next[S]{state: state, stop: true} }

// ContinueAsync keeps the phase open with this state, and leaves work running beside the phase;
// its error is logged. See [Phase.Update].
func ContinueAsync[S any](state S, work func(ctx Context) error) Next[S] {
	return Next[S]{state: state, later: work}
}

// Answer is what an update's handler decides.
type Answer[S, O any] struct {
	state S
	stop  bool
	out   O
	err   error
	later func(ctx Context) (O, error)
}

// Reply keeps the phase open with this state, and completes the update.
func Reply[S, O any](out O, state S) Answer[S, O] { return Answer[S, O]{out: out, state: state} }

// ReplyAndFinish completes the update, and ends the phase with this state.
func ReplyAndFinish[S, O any](out O, state S) Answer[S, O] {
	return Answer[S, O]{out: out, state: state, stop: true}
}

// Reject fails the update, and keeps the phase open with this state.
func Reject[S, O any](err error, state S) Answer[S, O] { return Answer[S, O]{err: err, state: state} }

// ReplyAsync keeps the phase open with this state, and leaves work running that completes the update. See [Phase.Update].
func ReplyAsync[S, O any](state S, work func(ctx Context) (O, error)) Answer[S, O] {
	return Answer[S, O]{state: state, later: work}
}

// OnSignal has a phase handle a signal.
func OnSignal[S, T any](p *Phase[S], signal *Signal[T], handle func(Context, T, S) Next[S]) {
	p.signals = append(p.signals,
		route{signal.name, func(ctx Context, u *scheduler.Unit, m *scheduler.Message) {
			input, err := decodeSignal[T](u, m)
			if err != nil {
				u.LogError("signal "+m.Name+" was not handled", err)
				return
			}
			next := handle(ctx, input, p.state)
			p.state = next.state
			p.stopped = p.stopped || next.stop
			if next.later != nil {
				p.leave(u, func(u *scheduler.Unit) {
					if err := next.later(Context{unit: u, scope: ctx.scope}); err != nil {
						u.LogError("signal "+m.Name+": the work that its handler left running failed", err)
					}
				})
			}
		}})
}

// OnUpdate has a phase handle an update; the validators are as in [HandleUpdate]. They run when it is
// the update's turn, after the handlers of the messages that came before it: they may read the phase's
// state, and what they read is what the handler gets. So a caller behind a slow handler waits as long
// for the answer whether its update is accepted. To accept at once, keep handlers short: leave slow work
// running with [ReplyAsync] or [ContinueAsync].
func OnUpdate[S, I, O any](p *Phase[S], update *Update[I, O], handle func(Context, I, S) Answer[S, O], validators ...func(I) error) {
	p.updates = append(p.updates,
		route{update.name, func(ctx Context, u *scheduler.Unit, m *scheduler.Message) {
			input, ok := accept(u, m, validators)
			if !ok {
				return
			}
			reply := handle(ctx, input, p.state)
			p.state = reply.state
			p.stopped = p.stopped || reply.stop
			if reply.later == nil {
				answer(u, m, reply.out, reply.err)
				return
			}
			p.leave(u, func(u *scheduler.Unit) {
				defer m.CompleteIfPanicking(u)
				out, err := reply.later(Context{unit: u, scope: ctx.scope})
				answer(u, m, out, err)
			})
		}})
}

// Update changes the state from work that a handler left running. The function must be quick and only
// compute. A call of this package in it blocks the run until fixed code is deployed: the change is one
// step, and a call that waits would let another handler see, or overwrite, a state that is half
// changed. Call first, and change the state with what the call gave.
func (p *Phase[S]) Update(ctx Context, change func(S) S) {
	u := ctx.enter("Phase.Update")
	_ = u.ReadOnly(func() error {
		p.state = change(p.state)
		return nil
	})
}

// leave runs what a handler leaves running.
func (p *Phase[S]) leave(u *scheduler.Unit, work func(u *scheduler.Unit)) {
	p.asyncs++
	u.SpawnAsync(func(u *scheduler.Unit) (any, error) {
		defer func() { p.asyncs-- }()
		work(u)
		return nil, nil
	})
}

// Run waits until a handler stops the phase: then the error is nil. It is [ErrTimeout] when the phase ran out of time, and
// [ErrCancelled] when its scope was cancelled; the state is given all the same. Signals that came too late are kept for
// others, updates that came too late are rejected. Phases of one run come one after the other, never inside each other.
func (p *Phase[S]) Run(ctx Context) (S, error) {
	u := ctx.enter("Phase.Run")
	if err := ctx.scope.Err(); err != nil {
		return p.state, err
	}
	if p.limited && p.timeout <= 0 && u.Run().Since(1) {
		return p.state, history.TimeoutFailure(history.ScopeTimeout, p.timeout)
	}
	u.BeginPhase()
	defer u.EndPhase()
	limited, cancel := ctx, func() {}
	if p.timeout > 0 {
		limited, cancel = WithTimeout(ctx, p.timeout)
	}
	p.running = true
	for _, r := range p.signals {
		u.HandleSignal(r.name, p.serially(ctx, r))
	}
	for _, r := range p.updates {
		u.HandleUpdate(r.name, p.serially(ctx, r))
	}
	err := AwaitCondition(limited, func() bool { return p.stopped })
	p.refuse(u)
	cancel()
	if asyncErr := AwaitCondition(Shield(ctx), func() bool { return p.asyncs == 0 && !p.busy }); err == nil {
		err = asyncErr
	}
	return p.state, err
}

// serially lets one handler run at a time, in the order of dispatch.
func (p *Phase[S]) serially(ctx Context, r route) scheduler.Handler {
	return func(u *scheduler.Unit, m *scheduler.Message) {
		given := false
		if p.running && p.busy {
			turn := &machine.Promise{}
			p.queue = append(p.queue, turn)
			_ = u.Await(turn, ctx.scope, ctx.scope, label("the phase's other handlers"))
			_, value, _ := turn.Outcome()
			given = value != nil
		}
		if p.running || given {
			p.busy = true
			defer p.pass()
		}
		if !p.running {
			m.Requeue()
			m.Reject(u, Fail("phase-over", "the phase that handles %s is over", m.Name))
			return
		}
		r.handle(Context{unit: u, scope: ctx.scope}, u, m)
		if p.stopped {
			p.refuse(u)
		}
	}
}

// refuse takes no more messages: what comes from here on belongs to who waits after the phase.
func (p *Phase[S]) refuse(u *scheduler.Unit) {
	if !p.running {
		return
	}
	p.running = false
	for _, r := range p.signals {
		u.HandleSignal(r.name, nil)
	}
	for _, r := range p.updates {
		u.HandleUpdate(r.name, nil)
	}
	for _, turn := range p.queue {
		turn.Keep(nil) // to find that the phase is over
	}
	p.queue = nil
}

// pass gives the turn to the next handler. The phase stays busy meanwhile: a handler dispatched just now comes after it.
func (p *Phase[S]) pass() {
	if len(p.queue) == 0 {
		p.busy = false
		return
	}
	turn := p.queue[0]
	p.queue = p.queue[1:]
	turn.KeepValue(p)
}
