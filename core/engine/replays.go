package engine

import (
	"context"
	"errors"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
)

// mostReplays is how many runs are brought back from their logs at one time. It is more than the messages of one batch on AWS
// (10), so it never delays those.
const mostReplays = 16

// copiesOfRun is how many bytes the turn of a run takes for each byte that the store has of it: the
// text as it is stored, the values in it, what workflow code makes of them, and the next record on
// its way to the store. Most values are stored twice, in the summary and in a record.
const copiesOfRun = 2

// places are what may be taken at one time; the caller that waits longest is next. So many runs at
// a time are read and replayed from their logs, and so many bytes of them, so that thousands of
// them, due at once after a restart, neither fill the memory nor take the processors from everybody
// else. What is live need not wait, nor does a run that has just begun wait for a place.
type places struct {
	free   chan struct{}
	memory *memory.Budget
	// patient: a caller may wait for bytes, since it holds none.
	patient bool
}

func newPlaces(budget *memory.Budget, patient bool) *places {
	return &places{make(chan struct{}, mostReplays), budget, patient}
}

func (p *places) enter(ctx context.Context) error {
	select {
	case p.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try enters if nobody need be waited for.
func (p *places) try() bool {
	select {
	case p.free <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *places) leave() { <-p.free }

// take takes bytes for a turn, half of all at most: a run may be larger than the memory. A caller
// that may not wait gets an error instead.
func (p *places) take(ctx context.Context, run string, bytes int64) (taken int64, err error) {
	if most := p.memory.Total() / 2; most > 0 {
		bytes = min(bytes, most)
	}
	switch {
	case p.patient:
		return p.memory.Take(ctx, bytes)
	case p.memory.TryTake(bytes):
		return bytes, nil
	}
	return 0, port.Errorf(port.Unavailable, "the memory of this server is taken, and run %q "+
		"needs some %d bytes to be replayed: try again", run, bytes)
}

// hold waits until nobody else holds the run; and if it is to be replayed, until there are a place
// and the memory for that. Nobody waits for these who holds a run: others could not ask it
// meanwhile.
func (e *Engine) hold(ctx context.Context, run string, in *places) (*slot, error) {
	s, err := e.live.hold(ctx, run)
	if err != nil || s.isLive() {
		return s, err
	}
	seated, bytes := !e.live.isNew(run), copiesOfRun*e.size(ctx, run)
	if !seated || in.try() {
		if in.memory.TryTake(bytes) {
			s.take(in, seated, bytes)
			return s, nil
		}
		if seated {
			in.leave()
		}
	}
	e.live.release(s)
	if seated {
		if err := in.enter(ctx); err != nil {
			return nil, err
		}
	}
	taken, err := in.take(ctx, run, bytes)
	if err == nil {
		s, err = e.live.hold(ctx, run)
	}
	if err != nil || s.isLive() { // somebody else has replayed it
		in.memory.Give(taken)
		if seated {
			in.leave()
		}
		return s, err
	}
	s.take(in, seated, taken)
	return s, nil
}

// Size is about how many bytes are stored of a run: summary, inbox and the log of its current
// generation. Zero: the store cannot tell.
func (e *Engine) Size(ctx context.Context, run string) (int64, error) {
	return e.sizeOf(ctx, run, port.Sizer.Size)
}

// SizeOfSummary is [Engine.Size] without the log: about what [Engine.Get] reads.
func (e *Engine) SizeOfSummary(ctx context.Context, run string) (int64, error) {
	return e.sizeOf(ctx, run, port.Sizer.SizeOfSummary)
}

func (e *Engine) sizeOf(
	ctx context.Context, run string, ask func(port.Sizer, context.Context, string) (int64, error),
) (int64, error) {
	if err := validID("run id", run); err != nil {
		return 0, err
	}
	store, ok := e.Runs.(port.Sizer)
	if !ok {
		return 0, nil
	}
	size, err := ask(store, ctx, run)
	if err != nil && !errors.Is(err, history.ErrUnreadable) {
		return 0, e.found(err, run)
	}
	return size, nil
}

// SizeOfRecords is about how many bytes are stored of a part of a generation's log: see
// [Engine.History]. Zero: the store cannot tell.
func (e *Engine) SizeOfRecords(ctx context.Context, run string, generation, after int) (int64, error) {
	store, ok := e.Runs.(port.Sizer)
	if !ok {
		return 0, nil
	}
	size, err := store.SizeOfRecords(ctx, run, generation, after)
	return size, e.unavailable(err, "the log was not read")
}

// size is about how many bytes the store has of a run. Zero where nothing is bounded, or where the
// store cannot tell.
func (e *Engine) size(ctx context.Context, run string) int64 {
	return e.boundedSize(ctx, run, port.Sizer.Size)
}

// sizeOfNewest is size for callers that read a log from its end.
func (e *Engine) sizeOfNewest(ctx context.Context, run string) int64 {
	return e.boundedSize(ctx, run, port.Sizer.SizeOfNewest)
}

func (e *Engine) boundedSize(
	ctx context.Context, run string, ask func(port.Sizer, context.Context, string) (int64, error),
) int64 {
	if e.config.Memory == nil {
		return 0
	}
	size, err := e.sizeOf(ctx, run, ask)
	if err != nil {
		return 0 // the read that follows meets the same error, and reports it
	}
	return size
}

func (s *slot) isLive() bool { return s.live != nil && s.live.exec != nil }

// take notes what the holder has taken for its turn.
func (s *slot) take(in *places, seated bool, bytes int64) {
	s.claimed = bytes
	if seated {
		s.replaying = in
	}
}

// replayed gives the place back that the slot's run was to be replayed in, if it has one still.
func (s *slot) replayed() {
	if s.replaying != nil {
		s.replaying.leave()
		s.replaying = nil
	}
}

// create creates a run. Where its first visit is this process's, it is known then that there is nothing to replay.
func (e *Engine) create(ctx context.Context, summary *port.Summary, start port.Item) error {
	err := e.Runs.Create(ctx, summary, start)
	if err == nil && e.Together {
		e.live.begins(summary.Run)
	}
	return err
}
