package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// plan is what a visit makes of what it has looked at (PROTOCOL.md rules 2 and 4).
type plan struct {
	// now is when all of it is decided: an author who died meanwhile would be alive for its items, and dead for its steps.
	now time.Time
	// takes are the events of the record to come, in the order in which they count; items are those
	// of them that lie in the inbox.
	takes []history.Event
	items []port.Item
	// again names items of the dead, taken before, that are this author's from here on.
	again []history.Item
	// resumes are steps of the dead that this author runs, once a record says so.
	resumes []int64
	// steps are this author's own that it does not run yet: it lost an answer, or a race.
	steps []int64
	// finish lists the dead whose newest record's sends are to be made again, before anything else.
	finish []*author
	// earlier lists closed generations of which the same is true.
	earlier []int
	// tidy are items that nobody needs any more.
	tidy []finished
	// wait is until when a living author answers for an item that was found here; zero: none does.
	wait time.Time
	// ended: an author was found dead that may have been alive when the run was read. It may have
	// finished its work meanwhile: only another look tells.
	ended bool
}

func (p *plan) records() bool { return len(p.takes) > 0 || len(p.resumes) > 0 }

// What a visit does with an item of the inbox (rules 2 and 4). The columns are the author of the
// newest record that names the item: this visit, an invocation that may be alive, an expired one.
//
//	item named by             | this visit      | alive           | expired
//	--------------------------+-----------------+-----------------+------------------------
//	this generation's log     | delete; if the  | leave; a resume | send again what its
//	                          | put had no      | comes back at   | newest record asks for,
//	                          | answer, send    | its deadline    | name the item, delete
//	an earlier log            | delete          | leave, as above | send again what that
//	                          |                 |                 | log's end asks for,
//	                          |                 |                 | delete
//	a log, another filing     | delete          | delete          | delete
//	no log, can be taken      | the next record takes it; then it is this visit's
//	no log, cannot be taken   | delete; a message to a closed run: only if no generation follows
//	a later generation        | read again before any item counts as void
//	--------------------------+-----------------+-----------------+------------------------
//	a pending step            | run it, if it   | leave; its      | name it and the items in
//	                          | does not run    | items' resume   | a record, then run it
//	                          | here yet        | comes back      |

// decide sorts the inbox: what is news is taken, what is void is deleted, what is taken already is unfinished work of
// whoever took it.
func (v *visit) decide(ctx context.Context, view *port.View) (*plan, error) {
	p := &plan{now: v.e.Clock.Now()}
	var news []port.Item
	v.knowMail(view)
	for _, item := range view.Inbox {
		isNews, err := v.consider(ctx, p, item)
		if err != nil {
			return nil, err
		}
		if isNews {
			news = append(news, item)
		}
	}
	v.take(p, news)
	v.considerSteps(p)
	return p, v.knowTried(ctx, p)
}

// knowMail notes which mail earlier generations took, where the start that says so is still to be recorded.
func (v *visit) knowMail(view *port.View) {
	l := v.slot.live
	if l.position.Record > 0 {
		return
	}
	if start := view.Start(); start != nil {
		l.ledger.remember(start)
	}
}

// consider decides what one inbox item is.
func (v *visit) consider(ctx context.Context, p *plan, item port.Item) (news bool, err error) {
	l := v.slot.live
	generation := item.Of()
	if generation != 0 && generation != l.position.Generation {
		return false, v.lookBack(ctx, p, item, generation, l.position.Generation)
	}
	if l.summary.IsFormer(item) {
		if found, err := v.lookForMail(ctx, p, item, l.ledger, l.summary); found || err != nil {
			return false, err
		}
		p.void(item)
		return false, nil
	}
	if claim, named := l.ledger.items[item.Name()]; named {
		if claim.filing != item.Event.Filing() { // the log took another filing of it
			p.void(item)
			return false, nil
		}
		v.forgetAsked(item.Event)
		v.considerTaken(p, item, claim, l.position.Generation)
		return false, nil
	}
	switch event := item.Event.(type) {
	case *history.Started:
		news = l.position.Record == 0
	case history.Resolution:
		_, news = l.exec.Pending(event.Resolves())
		news = news && l.closes == nil
	case history.Mail:
		if found, err := v.lookForMail(ctx, p, item, l.ledger, l.summary); found || err != nil {
			return false, err
		}
		_, known := l.ledger.heard(event)
		news = !known && l.closes == nil
	}
	if !news {
		p.void(item)
		v.forgetTask(item.Event, l.position.Generation)
	}
	return news, nil
}

// forgetTask has the state of an activity deleted that has answered: whoever asked it to stop may have left it behind.
func (v *visit) forgetTask(event history.Event, generation int) {
	if answer, ok := event.(*history.ActivityResolved); ok {
		v.forgetStep(generation, answer.Seq)
	}
}

// forgetAsked is forgetTask where the run has asked the activity to stop.
func (v *visit) forgetAsked(event history.Event) {
	if answer, ok := event.(*history.ActivityResolved); ok && v.slot.live.ledger.asked[answer.Seq] {
		v.forgetTask(event, v.slot.live.position.Generation)
	}
}

// considerTaken decides who tidies an item that a generation's log has.
func (v *visit) considerTaken(p *plan, item port.Item, by claim, generation int) {
	a, done := by.author, takenBy(item, port.Position{Generation: generation, Record: by.record})
	switch {
	case a.name == v.author:
		if p.tidy = append(p.tidy, done); a.newest > v.sent[generation] { // its own, put without an answer
			p.finish = appendOnce(p.finish, a)
		}
	case !v.gone(p, a):
		p.leave(a.until)
	default:
		p.tidy = append(p.tidy, done)
		p.again = append(p.again, history.Item{Key: item.Name(), Filing: item.Event.Filing()})
		p.finish = appendOnce(p.finish, a)
	}
}

// gone says whether an author answers for nothing any more, so that all in its name is taken over: it is dead; or it has handed over
// until a step is to be tried again, and that step is to stop instead. Its items go with its steps: the death of an author that
// runs a step and has no item in its name would be noticed by nobody.
func (v *visit) gone(p *plan, a *author) bool {
	return a.stops || v.e.Authors.Dead(a.name, a.until, p.now) && v.wasDead(p, a)
}

// wasDead says whether an author that is dead was so before the run was read.
func (v *visit) wasDead(p *plan, a *author) bool {
	if v.dead[a.name] {
		return true
	}
	set(&v.dead, a.name, true)
	p.ended = true
	return false
}

// leave notes that a living author answers for something: who finds it comes back after that author's deadline. One without
// a deadline lives in this process, and nothing of it is left when that dies.
func (p *plan) leave(until time.Time) {
	if until.After(p.wait) {
		p.wait = until
	}
}

// lookBack decides on an item that belongs to a generation before the present one. It is rare: it means that the author of
// that generation's end is still tidying up, or died.
func (v *visit) lookBack(
	ctx context.Context, p *plan, item port.Item, generation, present int,
) error {
	if generation < present {
		log, err := v.e.readLedger(ctx, v.run, generation)
		if err != nil {
			return err
		}
		if claim, named := log.items[item.Name()]; named {
			v.considerEarlier(p, item, claim, generation)
			return nil
		}
	}
	p.void(item) // too late
	v.forgetTask(item.Event, generation)
	return nil
}

// lookForMail decides on mail that the present generation has not taken, if one before it has.
func (v *visit) lookForMail(
	ctx context.Context, p *plan, item port.Item, own *ledger, run *port.Summary,
) (found bool, err error) {
	taken, by, err := v.takenBefore(ctx, item, own, run)
	if err != nil || by == 0 {
		return false, err
	}
	v.considerEarlier(p, item, taken, by)
	return true, nil
}

// takenBefore finds the generation before the present one that took an item of mail; 0: none is
// known to have. What was sent to a run that had the id before, that run's generations alone can
// have taken, and no other message of the name is the same: its filing tells.
func (v *visit) takenBefore(
	ctx context.Context, item port.Item, own *ledger, run *port.Summary,
) (taken claim, by int, err error) {
	maybe, since := own.mayBeOfEarlier(item)
	newest, oldest := run.Generation-1, max(own.oldest(), own.origin)
	former := run.IsFormer(item)
	if former {
		maybe, since = true, time.Unix(0, item.Stamp).Add(-mailSkew)
		oldest = own.oldest()
		if own.origin > 0 {
			newest = own.origin - 1
		}
	}
	for by = newest; maybe && by >= oldest; by-- {
		log, err := v.e.readLedger(ctx, v.run, by)
		if err != nil {
			return claim{}, 0, err
		}
		if taken, named := log.items[item.Name()]; named &&
			(!former || taken.filing == item.Event.Filing()) {
			return taken, by, nil
		}
		maybe = !log.began.Before(since)
	}
	return claim{}, 0, nil
}

// considerEarlier decides who tidies an item that an earlier generation's log has.
func (v *visit) considerEarlier(p *plan, item port.Item, by claim, generation int) {
	a, done := by.author, takenBy(item, port.Position{Generation: generation, Record: by.record})
	switch {
	case by.filing != item.Event.Filing():
		p.void(item)
	case a.name == v.author && a.newest <= v.sent[generation]:
		p.tidy = append(p.tidy, done)
	case a.name != v.author && !v.gone(p, a):
		p.leave(a.until)
	default:
		p.tidy = append(p.tidy, done)
		if !slices.Contains(p.earlier, generation) {
			p.earlier = append(p.earlier, generation)
		}
	}
}

// take puts the news into the order in which they count: the start, then by the time of filing.
func (v *visit) take(p *plan, news []port.Item) {
	slices.SortFunc(news, func(a, b port.Item) int {
		_, aStarts := a.Event.(*history.Started)
		_, bStarts := b.Event.(*history.Started)
		if aStarts != bStarts {
			if aStarts {
				return -1
			}
			return 1
		}
		return byStamp(a, b)
	})
	if v.slot.live.position.Record == 0 {
		if len(news) == 0 {
			return
		}
		if _, starts := news[0].Event.(*history.Started); !starts {
			return // its start is still to come: all waits
		}
	}
	for _, item := range news {
		p.takes = append(p.takes, item.Event)
	}
	p.items = news
	p.takes = append(p.takes, v.results()...)
}

// considerSteps decides which of the run's pending steps are this author's to run.
func (v *visit) considerSteps(p *plan) {
	l := v.slot.live
	if l.closes != nil {
		return
	}
	for _, seq := range slices.Sorted(maps.Keys(l.ledger.steps)) {
		if _, pending := l.exec.Pending(seq); !pending || v.holds(seq) {
			continue
		}
		switch a := l.ledger.steps[seq].author; {
		case a.name == v.author:
			p.steps = append(p.steps, seq)
		case v.gone(p, a):
			p.resumes = append(p.resumes, seq)
		}
	}
}

// knowTried has steps that are taken over continue from their failed attempts, which the table has.
func (v *visit) knowTried(ctx context.Context, p *plan) error {
	if len(p.resumes) == 0 {
		return nil
	}
	states, err := v.e.statesOf(ctx, v.run, v.slot.live.position.Generation)
	if err != nil {
		return err
	}
	for _, seq := range p.resumes {
		state, open := states[seq], v.slot.live.ledger.steps[seq]
		if state == nil {
			continue
		}
		v.steps.keep(state.TaskKey)
		if tried := (history.Tried{Seq: seq, Attempts: state.Failed, Next: state.Next}); tried.Count() > open.tried.Count() {
			open.tried = tried
		}
	}
	return nil
}

func appendOnce(authors []*author, a *author) []*author {
	if slices.Contains(authors, a) {
		return authors
	}
	return append(authors, a)
}
