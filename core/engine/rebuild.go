package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// Rebuilt says what a rebuild found.
type Rebuilt struct {
	// Open runs; messages that were sent for them; and runs that were blocked, and are tried again.
	Open, Sent, Unblocked int
}

func (r *Rebuilt) add(other Rebuilt) {
	r.Open += other.Open
	r.Sent += other.Sent
	r.Unblocked += other.Unblocked
}

// rebuildReserve is how much of the time that is left a page keeps for its last runs and its answer.
const rebuildReserve = 5 * time.Second

// Rebuild brings back what was in the queues, from logs and inboxes alone (rule 10): for each open run, what its log has
// pending is sent again; runs with something to do are resumed; and runs that are blocked are tried again. API calls that
// were in flight when the queues were lost must have ended. It may be done again, also where nothing was lost.
func (e *Engine) Rebuild(ctx context.Context) (done Rebuilt, err error) {
	for cursor := ""; ; {
		page, next, err := e.RebuildPage(ctx, cursor)
		done.add(page)
		if err != nil || next == "" {
			return done, err
		}
		cursor = next
	}
}

// RebuildPage is a part of [Engine.Rebuild], for callers with little time. With a deadline in its
// context, it continues until five seconds before that; it rebuilds one run at least. Without a
// deadline, it rebuilds the runs of one page of the store.
//
// RebuildPage begins at the cursor; "" is the beginning. It returns the cursor of the following
// part; "" means that all is done. After an error, the same cursor repeats the part, which does no
// harm.
func (e *Engine) RebuildPage(ctx context.Context, cursor string) (done Rebuilt, next string, err error) {
	var mu sync.Mutex
	next, err = e.sweep(ctx, cursor, e.sizeOfNewest, func(ctx context.Context, run string) error {
		of, err := e.rebuildRun(ctx, run)
		mu.Lock()
		defer mu.Unlock()
		if done.add(of); err != nil && !errors.Is(err, port.ErrNoRun) {
			return e.unavailable(err, fmt.Sprintf("run %q was not rebuilt", run))
		}
		return nil
	})
	return done, next, err
}

// eachOf does something with one run.
type eachOf func(ctx context.Context, run string) error

// sweep does something with the runs that are not finished, 16 at a time: with as many, and as many
// pages of the store, as [Engine.RebuildPage] says of the cursor and the deadline. Size is about
// how many bytes it reads of a run at a time.
func (e *Engine) sweep(
	ctx context.Context, cursor string, size func(ctx context.Context, run string) int64, do eachOf,
) (next string, err error) {
	last, place, ours := strings.Cut(cursor, "#")
	if cursor != "" && !ours {
		return "", port.Errorf(port.Invalid, "%q is not a cursor of unfinished runs: take it "+
			"from the page before", cursor)
	}
	for {
		runs, following, err := e.Directory.Unfinished(ctx, place)
		if err != nil {
			return "", e.unavailable(err, "the runs were not listed")
		}
		runs = runs[slices.Index(runs, last)+1:] // where it is not there any more, all of them: again does no harm
		n, err := e.sweepRuns(ctx, runs, size, do)
		switch _, limited := ctx.Deadline(); {
		case err != nil:
			return "", err
		case n < len(runs):
			return runs[n-1] + "#" + place, nil
		case following == "":
			return "", nil
		case !limited || e.nearsItsEnd(ctx):
			return "#" + following, nil
		}
		last, place = "", following
	}
}

// RebuildLabel is the label, in profiles and contexts, that names the run that a rebuild works on.
// Two children may read one parent at a time: the simulation tells these reads apart by it.
const RebuildLabel = "rebuilds"

// sweepRuns does something with runs, until the deadline is near: with the first n of them, one at
// least.
func (e *Engine) sweepRuns(
	ctx context.Context, runs []string, size func(ctx context.Context, run string) int64, do eachOf,
) (n int, err error) {
	at := newPlaces(e.config.Memory, true)
	var busy sync.WaitGroup
	var mu sync.Mutex
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return err != nil
	}
	for n < len(runs) && !failed() && (n == 0 || !e.nearsItsEnd(ctx)) {
		run := runs[n]
		at.free <- struct{}{}
		n++
		busy.Go(func() {
			defer at.leave()
			taken, bad := at.take(ctx, run, copiesOfRun*size(ctx, run))
			if bad == nil {
				pprof.Do(ctx, pprof.Labels(RebuildLabel, run), func(ctx context.Context) {
					bad = do(ctx, run)
				})
			}
			e.config.Memory.Give(taken)
			if bad != nil {
				mu.Lock()
				defer mu.Unlock()
				err = cmp.Or(err, bad)
			}
		})
	}
	busy.Wait()
	return n, err
}

func (e *Engine) nearsItsEnd(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && deadline.Sub(e.Clock.Now()) < rebuildReserve
}

func (e *Engine) rebuildRun(ctx context.Context, run string) (done Rebuilt, err error) {
	view, err := e.Runs.Look(ctx, run, port.Newest)
	if errors.Is(err, history.ErrUnreadable) { // one such run must not keep the others from being brought back
		return done, e.blockUnreadable(ctx, run, err)
	} else if err != nil {
		return done, err
	}
	o := &outbox{e: e, run: run, generation: view.Summary.Generation,
		ancestors: view.Summary.Ancestors, again: true}
	if view.Summary.Blocked != nil {
		done.Unblocked++
		o.resumes = append(o.resumes, unblocks(view.Summary))
	}
	last, steps := 0, false
	if !view.Summary.Status.Closed() {
		done.Open++
		if last, steps, err = e.resend(ctx, o, view); errors.Is(err, errMovedOn) {
			return e.rebuildRun(ctx, run)
		} else if errors.Is(err, history.ErrUnreadable) {
			return done, e.blockUnreadable(ctx, run, err)
		} else if err != nil {
			return done, err
		}
	}
	done.Sent += len(o.tasks) + len(o.resumes)
	if steps || len(view.Inbox) > 0 { // a run that only waits is not replayed for it
		o.resumes = append(o.resumes, port.Resume{Run: run})
	}
	if err = o.flush(ctx); err == nil && len(view.Inbox) > 0 && e.Together {
		e.resent.add(run, port.Position{Generation: o.generation, Record: last})
	}
	return done, err
}

// resent are runs of which a rebuild has sent the pending activities, each with the last record of
// its log then. In one process no message is lost while it lives: an author that finishes the work
// of a dead one does not send these activities, which would else run twice at a time.
type resent struct {
	mu   sync.Mutex
	upTo map[string]port.Position
}

func (r *resent) add(run string, upTo port.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	set(&r.upTo, run, upTo)
}

// has says whether what a record asks for was sent.
func (r *resent) has(run string, generation, record int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	upTo := r.upTo[run]
	return upTo.Generation == generation && record <= upTo.Record
}

// drop forgets a run. Its inbox is tidied: nothing of a dead author is left to finish.
func (r *resent) drop(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.upTo, run)
}

// errMovedOn says that a generation has ended since the summary was read, which says that it is
// open. What its last record asks for is not pending (rules 2 and 6).
var errMovedOn = errors.New("the run has moved on")

// resend sends what the log of an open run has pending. It gives the number of the last record, and
// says whether steps are pending. What its parent asked of it may be lost, too: the parent's own
// log is all that has it, if nothing of it was filed on disk.
func (e *Engine) resend(
	ctx context.Context, o *outbox, view *port.View,
) (last int, steps bool, err error) {
	fold, err := e.foldView(ctx, o.run, view)
	if err != nil {
		return 0, false, err
	}
	if fold.Closes != nil {
		return 0, false, errMovedOn
	}
	o.pending = fold.Find
	answered := answers(view)
	for _, p := range fold.Pending() {
		if answered[p.Command.Seq()] {
			continue
		}
		steps = steps || isStep(p.Command)
		if err := o.addPending(ctx, p); err != nil {
			return 0, false, err
		}
	}
	if parent := view.Summary.Parent; parent != nil {
		err = e.orphan(ctx, o, *parent)
	}
	return fold.Records, steps, err
}

// answers are the pending commands of the current generation whose answers wait in the inbox.
func answers(view *port.View) map[int64]bool {
	answered := map[int64]bool{}
	for _, item := range view.Inbox {
		if answer, ok := item.Event.(history.Resolution); ok &&
			item.Of() == view.Summary.Generation {
			answered[answer.Resolves()] = true
		}
	}
	return answered
}

// orphan tells an open child that its parent has closed, as the parent's closing record asks.
func (e *Engine) orphan(ctx context.Context, o *outbox, parent history.Parent) error {
	there, err := e.Runs.Summary(ctx, parent.Run)
	if there != nil && errors.Is(err, history.ErrUnreadable) { // where it stands is known all the same
		err = nil
	}
	if errors.Is(err, port.ErrNoRun) || err == nil && there.Generation == parent.Generation &&
		!there.Status.Closed() {
		return nil
	}
	if err != nil {
		return err
	}
	fold, err := e.fold(ctx, parent.Run, parent.Generation)
	if err != nil {
		return err
	}
	command, pending := fold.Find(parent.Seq)
	if !pending {
		return nil
	}
	of := &outbox{e: e, run: parent.Run, generation: parent.Generation}
	if err := of.leaveChild(ctx, command.(*history.StartChild)); err != nil {
		return err
	}
	o.resumes = append(o.resumes, of.resumes...)
	return nil
}
