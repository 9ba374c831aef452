package engine

import (
	"context"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
)

// lookClosed tidies up after a run that has ended. It needs no code, which may be gone by now: nothing is taken any more,
// and what an item is, the log alone says.
func (v *visit) lookClosed(ctx context.Context, view *View) error {
	v.done, v.tidy = nil, nil
	v.steps.cancel()
	if len(view.Inbox) == 0 {
		return nil
	}
	generation := view.Summary.Generation
	closed, err := v.e.readLedger(ctx, v.run, generation)
	if err != nil {
		return err
	}
	p := &plan{}
	for _, item := range view.Inbox {
		if err := v.considerClosed(ctx, p, item, closed, generation); err != nil {
			return err
		}
	}
	v.tidy, v.wait = p.tidy, p.wait
	for _, a := range p.finish {
		if p.closed = append(p.closed, unfinished{generation, a}); a.name == v.author {
			v.sent = a.newest
		}
	}
	return v.finishClosed(ctx, p.closed, view.Summary)
}

// unfinished is what an author may have left unsent in a generation that has ended.
type unfinished struct {
	generation int
	author     *author
}

func (u unfinished) same(other unfinished) bool {
	return u.generation == other.generation && u.author.name == other.author.name
}

func (v *visit) considerClosed(ctx context.Context, p *plan, item Item, closed *ledger, generation int) error {
	if of := generationOf(item.Key); of != 0 && of != generation {
		return v.lookBack(ctx, p, item, of, generation)
	}
	if claim, named := closed.items[item.Key]; named && claim.filing == item.Event.Filing() {
		v.considerTaken(p, item, claim.author)
		return nil
	}
	if mail, ok := item.Event.(history.Mail); ok {
		if here, known := closed.mail[mail.MailID()]; known && !here {
			return v.lookBack(ctx, p, item, 0, generation)
		}
	}
	p.tidy = append(p.tidy, item.Key) // too late, or another filing of what the log has
	v.forgetTask(item.Event, generation)
	return nil
}

// closes says whether the author's newest record closes its generation.
func (a *author) closes() bool {
	if len(a.asks) == 0 {
		return false
	}
	_, terminal := a.asks[len(a.asks)-1].(history.Terminal)
	return terminal
}

// finishClosed sends again what of the newest records of some authors still counts where the generation has ended: children
// that it leaves to themselves, and what its end asks for.
func (v *visit) finishClosed(ctx context.Context, all []unfinished, summary *Summary) error {
	for _, work := range all {
		fold, err := v.e.fold(ctx, v.run, work.generation)
		if err != nil {
			return err
		}
		o := &outbox{e: v.e, run: v.run, generation: work.generation}
		for _, command := range work.author.asks {
			child, ok := command.(*history.StartChild)
			if !ok || child.OnClose != history.LeaveChildren {
				continue
			}
			if _, pending := fold.Find(child.Seq()); !pending {
				continue
			}
			if err := o.child(ctx, child); err != nil {
				return err
			}
		}
		if err := o.flush(ctx); err != nil {
			return err
		}
		if !work.author.closes() {
			continue
		}
		if err := v.closeGeneration(ctx, work.generation, summary, fold.Closes, fold); err != nil {
			return err
		}
	}
	return nil
}

// closeGeneration sends what the closing record of a generation asks for, as its log alone says.
func (v *visit) closeGeneration(ctx context.Context, generation int, summary *Summary, closes history.Terminal, fold *machine.Fold) error {
	o := &outbox{e: v.e, run: v.run, generation: generation}
	if err := o.close(ctx, summary, closes, commandsOf(fold.Pending())); err != nil {
		return err
	}
	return o.flush(ctx)
}
