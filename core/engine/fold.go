package engine

import (
	"context"
	"math"
	"slices"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/port"
)

// fold says where a generation stands without running its code. It reads the log from its end, back
// to the newest checkpoint.
func (e *Engine) fold(ctx context.Context, run string, generation int) (*machine.Fold, error) {
	return e.foldTo(ctx, run, history.Base{Generation: generation, Record: math.MaxInt - 1})
}

// foldView is fold for a run whose newest records are in a view.
func (e *Engine) foldView(ctx context.Context, run string, view *port.View) (*machine.Fold, error) {
	return e.foldFrom(ctx, run, history.Base{Generation: view.Summary.Generation,
		Record: math.MaxInt - 1}, view.Records)
}

// foldTo is fold up to one record.
func (e *Engine) foldTo(ctx context.Context, run string, to history.Base) (*machine.Fold, error) {
	newest, err := e.Runs.RecordsBefore(ctx, run, to.Generation, to.Record+1)
	if err != nil {
		return nil, err
	}
	return e.foldFrom(ctx, run, to, newest)
}

// foldFrom is foldTo for callers that have the last records. It keeps one page of the log at a
// time. Where the checkpoint is not on the last page, it reads the pages after it a second time.
func (e *Engine) foldFrom(
	ctx context.Context, run string, to history.Base, page []*history.Record,
) (*machine.Fold, error) {
	log := &logReader{runs: e.Runs, ctx: ctx, run: run, generation: to.Generation}
	fold := &machine.Fold{}
	for len(page) > 0 {
		log.page = page
		if at := newestCheckpoint(page); at >= 0 {
			fold.Begin(page[at].Checkpoint)
			log.page, log.last = page[at:], page[at].Number-1
			return fold, addTo(fold, log, to)
		}
		first := page[0].Number
		if first == 1 {
			break
		}
		var err error
		if page, err = e.Runs.RecordsBefore(ctx, run, to.Generation, first); err != nil {
			return nil, err
		}
		log.more = true
	}
	if base := history.BaseIn(log.page); base != nil {
		var err error
		if fold, err = e.foldTo(ctx, run, *base); err != nil {
			return nil, err
		}
	}
	return fold, addTo(fold, log, to)
}

// newestCheckpoint is the place of the newest record that has one; -1: none has.
func newestCheckpoint(page []*history.Record) int {
	for at, rec := range slices.Backward(page) {
		if rec.Checkpoint != nil {
			return at
		}
	}
	return -1
}

// addTo adds the records of one generation that a log gives, up to one of them.
func addTo(fold *machine.Fold, log *logReader, to history.Base) error {
	fold.Generation, fold.Records = to.Generation, 0
	return log.upTo(to.Record, func(_ int, rec *history.Record) error {
		fold.Add(rec)
		return nil
	})
}
