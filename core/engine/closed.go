package engine

import (
	"context"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/port"
)

// lookClosed tidies up after a run that has ended. It needs no code, which may be gone by now: nothing is taken any more,
// and what an item is, the log alone says. Again: the run has begun another generation meanwhile.
func (v *visit) lookClosed(ctx context.Context, view *port.View) (again bool, err error) {
	v.done, v.tidy = nil, nil
	v.steps.cancel()
	if len(view.Inbox) == 0 {
		return false, nil
	}
	generation := view.Summary.Generation
	closed, err := v.e.readLedger(ctx, v.run, generation)
	if err != nil {
		return false, err
	}
	p := &plan{now: v.e.Clock.Now()}
	var late []string
	for _, item := range view.Inbox {
		if item.Of() > generation { // of one that began after the summary was read
			return true, nil
		}
		isLate, err := v.considerClosed(ctx, p, item, closed, view.Summary)
		if err != nil {
			return false, err
		}
		if isLate {
			late = append(late, item.Key)
		}
	}
	if p.ended {
		return true, nil
	}
	if len(late) > 0 { // unless a generation has begun that takes it: its sender may have been told that it is there
		if began, err := isTaken(v.e.Runs.Discard(ctx, v.run, generation, late)); began || err != nil {
			return began, err
		}
	}
	v.tidy, v.wait = p.tidy, p.wait
	if len(p.finish) > 0 {
		p.earlier = append(p.earlier, generation)
	}
	for _, dead := range p.finish {
		if dead.name == v.author {
			set(&v.sent, generation, dead.newest)
		}
	}
	return false, v.finishEarlier(ctx, p.earlier, view.Summary)
}

// considerClosed decides what one inbox item of a closed run is. Late: it is mail that no generation has taken.
func (v *visit) considerClosed(
	ctx context.Context, p *plan, item port.Item, closed *ledger, run *port.Summary,
) (late bool, err error) {
	of, generation := item.Of(), run.Generation
	if of != 0 && of != generation {
		return false, v.lookBack(ctx, p, item, of, generation)
	}
	if claim, named := closed.items[item.Name()]; named && claim.filing == item.Event.Filing() &&
		!run.IsFormer(item) {
		v.considerTaken(p, item, claim, generation)
		return false, nil
	}
	if found, err := v.lookForMail(ctx, p, item, closed, run); found || err != nil {
		return false, err
	}
	if _, isMail := item.Event.(history.Mail); isMail {
		return true, nil
	}
	p.void(item) // too late, or another filing of what the log has
	v.forgetTask(item.Event, generation)
	return false, nil
}

// finishEarlier sends again what the closing records of some generations ask for.
func (v *visit) finishEarlier(ctx context.Context, generations []int, summary *port.Summary) error {
	for _, generation := range generations {
		fold, err := v.e.fold(ctx, v.run, generation)
		if err != nil {
			return err
		}
		if err := v.closeGeneration(ctx, generation, summary, fold.Closes, fold); err != nil {
			return err
		}
	}
	return nil
}

// closeGeneration sends what the closing record of a generation asks for, as its log alone says. Of what was asked for
// before, all is over by then but for the children that go on: whoever was to start them may have died.
func (v *visit) closeGeneration(ctx context.Context, generation int, summary *port.Summary, closes history.Terminal, fold *machine.Fold) error {
	o := &outbox{e: v.e, run: v.run, generation: generation}
	if err := o.startLeft(ctx, fold.Pending()); err != nil {
		return err
	}
	var unsent map[int64]bool
	if fold.Closes != nil {
		unsent = endUnsent(fold.Commands)
	}
	if err := o.close(ctx, summary, closes, sentOf(commandsOf(fold.Pending()), unsent)); err != nil {
		return err
	}
	return o.flush(ctx)
}

// startLeft starts the children among some commands that go on without their parent.
func (o *outbox) startLeft(ctx context.Context, pending []history.Pending) error {
	for _, p := range pending {
		if outlives(p.Command) {
			if err := o.child(ctx, p.Command.(*history.StartChild)); err != nil {
				return err
			}
		}
	}
	return nil
}

// outlives says whether a command starts a child that goes on when its parent ends.
func outlives(command history.Command) bool {
	child, ok := command.(*history.StartChild)
	return ok && child.ParentClosePolicy == history.AbandonChildren
}
