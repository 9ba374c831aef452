package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/port"
)

// segments lists the parts of earlier generations that make up a base, the oldest first.
func (e *Engine) segments(ctx context.Context, run string, base history.Base) ([]history.Base, error) {
	segments := []history.Base{base}
	for {
		first, err := e.Runs.Records(ctx, run, segments[0].Generation, 0)
		if err != nil || len(first) == 0 {
			return segments, err
		}
		earlier := history.BaseIn(first)
		if earlier == nil {
			return segments, nil
		}
		segments = append([]history.Base{*earlier}, segments...)
	}
}

// logReader gives the records of one generation one at a time, and reads page after page.
type logReader struct {
	runs       port.Runs
	ctx        context.Context //nolint:containedctx // lives as long as one replay
	run        string
	generation int
	page       []*history.Record
	more       bool
	last       int
	err        error
}

func (r *logReader) next() (*history.Record, error) {
	for len(r.page) == 0 {
		if !r.more {
			return nil, nil
		}
		if r.page, r.err = r.runs.Records(r.ctx, r.run, r.generation, r.last); r.err != nil {
			return nil, r.err
		}
		r.more = len(r.page) > 0
	}
	rec := r.page[0]
	r.page = r.page[1:]
	if rec.Number != r.last+1 {
		r.err = fmt.Errorf("%w: the log of generation %d goes from record %d to record %d", history.ErrUnreadable, r.generation, r.last, rec.Number)
		return nil, r.err
	}
	r.last = rec.Number
	return rec, nil
}

// eachRecord goes through one generation's own log.
func (e *Engine) eachRecord(ctx context.Context, run string, generation int, do func(*history.Record)) error {
	log := &logReader{runs: e.Runs, ctx: ctx, run: run, generation: generation, more: true}
	for {
		rec, err := log.next()
		if rec == nil || err != nil {
			return err
		}
		do(rec)
	}
}

// Export goes through all records that count for a generation, in order, after a place, with the place of each: where a
// reset began the generation, those of the earlier generations that it goes on from come first. The zero Position is before
// all of them; generation 0 is the current one. An error that each returns ends it, and is returned.
func (e *Engine) Export(ctx context.Context, run string, generation int, after port.Position, each func(port.Position, *history.Record) error) error {
	generation, err := e.whichGeneration(ctx, run, generation)
	if err != nil {
		return err
	}
	var refused error
	err = e.eachThatCounts(ctx, run, generation, after, func(generation int, rec *history.Record) error {
		refused = each(port.Position{Generation: generation, Record: rec.Number}, rec)
		return refused
	})
	if refused != nil {
		return refused
	}
	return e.unavailable(err, "the log was not read")
}

// DefinitionOf gives the version of a published definition that a generation has, with its source.
// Nil: it runs the program's own code, or has no records. If the version was deleted, only its
// number is known. Generation 0 is the current one.
func (e *Engine) DefinitionOf(
	ctx context.Context, run string, generation int,
) (*history.ExportedDefinition, error) {
	generation, err := e.whichGeneration(ctx, run, generation)
	if err != nil {
		return nil, err
	}
	records, err := e.Runs.Records(ctx, run, generation, 0)
	if err != nil {
		return nil, e.unavailable(err, "the log was not read")
	}
	started := history.StartIn(records)
	if started == nil || started.Definition == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	exported := &history.ExportedDefinition{Version: started.Definition}
	definition, err := e.readDefinition(ctx, pin{started.Workflow, started.Definition})
	if err == nil {
		exported.Kind, exported.Source = definition.Kind, definition.Source
	} else if errors.Is(err, port.ErrNoDefinition) {
		err = nil
	}
	return exported, e.unavailable(err, "the definition was not read")
}

// eachThatCounts goes through the records after a place that count for a generation.
func (e *Engine) eachThatCounts(ctx context.Context, run string, generation int, after port.Position, each func(generation int, rec *history.Record) error) error {
	own := &logReader{runs: e.Runs, ctx: ctx, run: run, generation: generation, more: true}
	if after.Generation == generation {
		own.last = after.Record
		return own.upTo(math.MaxInt, each)
	}
	if own.page, own.err = e.Runs.Records(ctx, run, generation, 0); own.err != nil {
		return own.err
	}
	if base := history.BaseIn(own.page); base != nil {
		earlier, err := e.segments(ctx, run, *base)
		if err != nil {
			return err
		}
		for _, segment := range earlier {
			if segment.Generation < after.Generation {
				continue
			}
			log := &logReader{runs: e.Runs, ctx: ctx, run: run, generation: segment.Generation, more: true}
			if segment.Generation == after.Generation {
				log.last = after.Record
			}
			if err := log.upTo(segment.Record, each); err != nil {
				return err
			}
		}
	}
	return own.upTo(math.MaxInt, each)
}

// upTo goes through the records up to a number.
func (r *logReader) upTo(last int, each func(generation int, rec *history.Record) error) error {
	for {
		rec, err := r.next()
		if rec == nil || err != nil || rec.Number > last {
			return err
		}
		if err := each(r.generation, rec); err != nil {
			return err
		}
	}
}

// foldAll is fold for callers that need each of the generation's own records. It reads all that
// counts for the generation.
func (e *Engine) foldAll(
	ctx context.Context, run string, generation int, own func(*history.Record),
) (*machine.Fold, error) {
	whole, last := &machine.Fold{}, 0
	err := e.eachThatCounts(ctx, run, generation, port.Position{},
		func(g int, rec *history.Record) error {
			whole.Generation = g
			if whole.Add(rec); g == generation {
				last = rec.Number
				own(rec)
			}
			return nil
		})
	whole.Records = last
	return whole, err
}

// readLedger makes the ledger of one generation from its log.
func (e *Engine) readLedger(ctx context.Context, run string, generation int) (*ledger, error) {
	l := &ledger{}
	err := e.eachRecord(ctx, run, generation, func(rec *history.Record) { l.add(generation, rec) })
	return l, err
}
