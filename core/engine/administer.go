package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/port"
)

// administrative finds, in an inbox, what ends a generation without its code being asked: also that of a blocked run. The
// earliest counts.
func administrative(view *port.View) *port.Item {
	var found []port.Item
	for _, item := range view.Inbox {
		if isAdministrative(item.Event) {
			found = append(found, item)
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, byStamp)
	return &found[0]
}

func byStamp(a, b port.Item) int {
	return cmp.Or(cmp.Compare(a.Stamp, b.Stamp), cmp.Compare(a.Key, b.Key))
}

func isAdministrative(event history.Event) bool {
	switch event.(type) {
	case *history.TerminateRequested, *history.ResetRequested:
		return true
	}
	return false
}

// administer terminates or resets a run: a closing record like any other, but for the code. Again: there may be more to do.
func (v *visit) administer(
	ctx context.Context, view *port.View, item port.Item,
) (again bool, err error) {
	v.slot.drop()
	v.steps.cancel()
	v.done = nil
	generation := view.Summary.Generation
	past, err := v.readPast(ctx, generation, item.Event)
	if err != nil {
		return false, err
	}
	// Read after the log, the summary shows all that its records have changed; and no other record can come before the one to be put.
	if view.Summary, err = v.e.Runs.Summary(ctx, v.run); err != nil {
		return false, err
	}
	if view.Summary.Generation != generation { // what is asked may be meant for the next one
		return true, nil
	}
	commit, closed, done, err := v.administrativeCommit(ctx, view, item, past)
	if err != nil {
		return false, err
	}
	if commit != nil {
		if lost, err := v.putAdministrative(ctx, commit); lost || err != nil {
			return lost, err
		}
	}
	v.tidy = nil
	if closed == 0 { // too late, unless a generation has begun meanwhile
		_, err := isTaken(v.e.Runs.Discard(ctx, v.run, generation, []string{item.Key}))
		return true, err
	}
	if err := v.closeAdministrative(ctx, closed, item); err != nil {
		return false, err
	}
	v.tidy = []finished{done}
	return true, v.tidyUp(ctx)
}

// past is what a generation's log tells whoever ends it without its code.
type past struct {
	fold   *machine.Fold
	ledger *ledger
	// letters came after the record that a reset goes on from; answers are those to the updates
	// among them.
	letters []history.Mail
	// input of an earlier generation that a reset continues from; nil: of the present one.
	input   history.Payload
	answers []*history.RespondUpdate
}

// readPast reads all that counts for a generation, once.
func (v *visit) readPast(ctx context.Context, generation int, asked history.Event) (p *past, err error) {
	p = &past{ledger: &ledger{}}
	reset, _ := asked.(*history.ResetRequested)
	base := history.Base{}
	if reset != nil {
		base = reset.Base()
		for g := base.Generation; g < generation && err == nil; g++ {
			err = p.readEarlier(ctx, v, g, base)
		}
		if err != nil {
			return nil, err
		}
	}
	p.fold, err = v.e.foldAll(ctx, v.run, generation, func(rec *history.Record) {
		p.ledger.add(generation, rec)
		if reset != nil && (base.Generation < generation || rec.Number > base.Record) {
			p.note(rec)
		}
	})
	return p, err
}

// readEarlier notes what a reset to a generation before the present one brings back of a
// generation.
func (p *past) readEarlier(ctx context.Context, v *visit, generation int, base history.Base) error {
	return v.e.eachRecord(ctx, v.run, generation, func(rec *history.Record) {
		if started := rec.Started(); started != nil && generation == base.Generation {
			p.input = started.Input
		}
		if generation > base.Generation || rec.Number > base.Record {
			p.note(rec)
		}
	})
}

// note keeps what a reset brings back of a record.
func (p *past) note(rec *history.Record) {
	for _, event := range rec.Events {
		if mail, ok := event.(history.Mail); ok {
			p.letters = append(p.letters, mail)
		}
	}
	for _, command := range rec.Commands {
		if respond, ok := command.(*history.RespondUpdate); ok {
			p.answers = append(p.answers, respond)
		}
	}
}

// phaseOf is how far an update had come.
func (p *past) phaseOf(update *history.UpdateReceived) (phase history.UpdatePhase) {
	for _, answer := range p.answers {
		if answer.Answers(update) {
			phase = answer.Phase
		}
	}
	return phase
}

// administrativeCommit makes the commit of a termination or a reset; nil if it comes too late, or a log has it already. Closed
// is the generation whose end is to be seen to, also if its author has done so: sending again does no harm. 0: none.
// Done is the item once that was seen to.
func (v *visit) administrativeCommit(
	ctx context.Context, view *port.View, item port.Item, past *past,
) (commit *port.Commit, closed int, done finished, err error) {
	old := view.Summary
	summary := *old
	commit = &port.Commit{Run: v.run, Generation: old.Generation, Summary: &summary}
	now := later(v.e.Clock.Now().UTC(), past.fold.Time)
	closes := past.fold.Closes
	taken := &history.Record{Number: past.fold.Records + 1, Time: now, Author: v.author,
		Until: v.until, Events: []history.Event{item.Event}}
	// what it says of earlier generations must not be lost
	if start := view.Start(); past.fold.Records == 0 && start != nil {
		taken.Events = []history.Event{start, item.Event}
		past.ledger.remember(start)
	}
	known, by, err := v.takenByLog(ctx, item, past.ledger, old)
	if err != nil || !known && old.IsFormer(item) {
		return nil, 0, done, err
	}
	done = takenBy(item, port.Position{Generation: old.Generation, Record: taken.Number})
	switch event := item.Event.(type) {
	case *history.TerminateRequested:
		if known {
			return nil, by.Generation, takenBy(item, by), nil
		}
		if closes != nil {
			return nil, 0, done, nil
		}
		command := &history.TerminateRun{Failure: history.TerminationFailure(event.Reason)}
		taken.Commands, commit.Record = []history.Command{command}, taken
		summary.End(command, now)
		closed = old.Generation
	case *history.ResetRequested:
		if event.Generation != old.Generation { // it was carried out: the run is in a later generation
			if known && by == (port.Position{}) {
				by = firstOf(event)
			}
			return nil, event.Generation, takenBy(item, by), nil
		}
		if closes == nil {
			if event.ExcludeSignals {
				if err := v.takeUnread(ctx, taken, view, item, past.ledger); err != nil {
					return nil, 0, done, err
				}
			}
			taken.Commands, commit.Record = []history.Command{&history.ResetRun{}}, taken
		}
		attributes, err := v.attributesAt(ctx, event.Base())
		if err != nil {
			return nil, 0, finished{}, err
		}
		next := v.resetItem(old, event, past, taken)
		next.Event.(*history.Started).Attributes, summary.Attributes = attributes, attributes
		if closes != nil {
			next.Event.(*history.Started).Reset = event
			done = takenBy(item, firstOf(event))
		}
		commit.Next, closed = &next, event.Generation
		summary.Generation++
		summary.Definition = next.Event.(*history.Started).Definition
		summary.Status, summary.Result, summary.Failure = history.Running, nil, nil
		summary.Closed = time.Time{}
		summary.Input = next.Event.(*history.Started).Input
	}
	return commit, closed, done, nil
}

// firstOf is the record that tells of a reset of a run that had ended: the start of the generation
// that the reset began.
func firstOf(reset *history.ResetRequested) port.Position {
	return port.Position{Generation: reset.Generation + 1, Record: 1}
}

// attributesAt are those that a run had after a record. A reset takes back what came later, also if
// the next generation ends before its code has run.
func (v *visit) attributesAt(
	ctx context.Context, base history.Base,
) (attributes history.Attributes, err error) {
	segments, err := v.e.segments(ctx, v.run, base)
	for i := 0; i < len(segments) && err == nil; i++ {
		log := &logReader{runs: v.e.Runs, ctx: ctx, run: v.run, generation: segments[i].Generation,
			more: true}
		err = log.upTo(segments[i].Record, func(_ int, rec *history.Record) error {
			if started := rec.Started(); started != nil && started.Base == nil {
				attributes = started.Attributes
			}
			for _, command := range rec.Commands {
				if change, ok := command.(*history.UpsertAttributes); ok {
					attributes = attributes.With(change.Attributes)
				}
			}
			return nil
		})
	}
	return attributes, err
}

// takeUnread has the record of a reset take the signals that came before it and that no record has:
// else the next generation takes them, one that blocks the run among them.
func (v *visit) takeUnread(
	ctx context.Context, taken *history.Record, view *port.View, reset port.Item, own *ledger,
) error {
	var unread []port.Item
	for _, item := range view.Inbox {
		if _, ok := item.Event.(*history.SignalReceived); !ok || item.Stamp >= reset.Stamp ||
			view.Summary.IsFormer(item) {
			continue
		}
		known, _, err := v.takenByLog(ctx, item, own, view.Summary)
		if err != nil {
			return err
		}
		if !known {
			unread = append(unread, item)
		}
	}
	slices.SortFunc(unread, byStamp)
	for _, item := range unread { // before the reset itself
		taken.Events = slices.Insert(taken.Events, len(taken.Events)-1, item.Event)
	}
	return nil
}

// takenByLog says whether a log has mail already, and where: the zero Position, if it is known by its
// id alone.
func (v *visit) takenByLog(
	ctx context.Context, item port.Item, own *ledger, run *port.Summary,
) (known bool, by port.Position, err error) {
	former := run.IsFormer(item)
	if claim, named := own.items[item.Name()]; named && !former {
		return true, port.Position{Generation: run.Generation, Record: claim.record}, nil
	}
	claim, generation, err := v.takenBefore(ctx, item, own, run)
	_, known = own.heard(item.Event.(history.Mail))
	return known && !former || generation > 0,
		port.Position{Generation: generation, Record: claim.record}, err
}

// resetItem is the start of the generation that goes on from a record: with the signals and updates that came after it.
func (v *visit) resetItem(
	old *port.Summary, event *history.ResetRequested, past *past, last *history.Record,
) port.Item {
	started := history.NewStarted(old.Generation+1, old.Workflow, old.Input, v.e.seed())
	started.Parent, started.Attributes = old.Parent, old.Attributes
	started.Definition = cmp.Or(event.Definition, old.Definition)
	base := event.Base()
	if started.Base = &base; base.Generation != event.Generation {
		started.Input = past.input
	}
	past.ledger.handOn(started, last, v.e.config)
	for _, letter := range past.letters { // requests to cancel or to end it are forgotten
		switch letter := letter.(type) {
		case *history.SignalReceived:
			if !event.ExcludeSignals {
				started.Letters = append(started.Letters, letter)
			}
		case *history.UpdateReceived:
			if phase := past.phaseOf(letter); phase != history.UpdateRejected {
				again := *letter
				again.Accepted = letter.Accepted || phase != ""
				started.Letters = append(started.Letters, &again)
			}
		}
	}
	return v.e.newItem(started, started.Generation, true)
}

func (v *visit) putAdministrative(ctx context.Context, commit *port.Commit) (lost bool, err error) {
	lost, err = isTaken(v.e.Runs.Put(ctx, commit))
	if !lost && err == nil {
		v.e.watch.changed(v.run)
	}
	return lost, err
}

// closeAdministrative does what the closing record asks for.
func (v *visit) closeAdministrative(ctx context.Context, generation int, item port.Item) error {
	summary, err := v.e.Runs.Summary(ctx, v.run)
	if err != nil {
		return err
	}
	fold, err := v.e.fold(ctx, v.run, generation)
	if err != nil {
		return err
	}
	closes := fold.Closes
	if _, reset := item.Event.(*history.ResetRequested); reset {
		closes = &history.ResetRun{}
	}
	if err := v.closeGeneration(ctx, generation, summary, closes, fold); err != nil || summary.Blocked == nil {
		return err
	}
	return v.e.Queue.SendResumes(ctx, unblocks(summary)) // what blocked it is over; the mark goes as any does (rule 7)
}
