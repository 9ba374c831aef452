package engine

import "context"

// mostReplays is how many runs are brought back from their logs at one time. It is more than the messages of one batch on AWS
// (10), so it never delays those; and few enough that their logs, in memory whole, are no burden.
const mostReplays = 16

// places are what may be taken at one time; whoever waits longest is next. So many runs at a time are read and replayed from
// their logs, so that thousands of them, due at once after a restart, neither fill the memory nor take the processors from
// everybody else. What is live need not wait, nor does a run that has just begun.
type places chan struct{}

func newPlaces() places { return make(places, mostReplays) }

func (p places) enter(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// try enters if nobody need be waited for.
func (p places) try() bool {
	select {
	case p <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p places) leave() { <-p }

// hold waits until nobody else holds the run; and if it is to be replayed, until there is a place for that. Nobody waits for a
// place who holds a run: others could not ask it meanwhile.
func (e *Engine) hold(ctx context.Context, run string, in places) (*slot, error) {
	s, err := e.live.hold(ctx, run)
	if err != nil || s.isLive() || e.live.isNew(run) {
		return s, err
	}
	if !in.try() {
		e.live.release(s)
		if err := in.enter(ctx); err != nil {
			return nil, err
		}
		if s, err = e.live.hold(ctx, run); err != nil || s.isLive() { // somebody else has replayed it
			in.leave()
			return s, err
		}
	}
	s.replaying = in
	return s, nil
}

func (s *slot) isLive() bool { return s.live != nil && s.live.exec != nil }

// replayed gives the place back that the slot's run was to be replayed in, if it has one still.
func (s *slot) replayed() {
	if s.replaying != nil {
		s.replaying.leave()
		s.replaying = nil
	}
}

// create creates a run. Where its first visit is this process's, it is known then that there is nothing to replay.
func (e *Engine) create(ctx context.Context, summary *Summary, start Item) error {
	err := e.Runs.Create(ctx, summary, start)
	if err == nil && e.Together {
		e.live.begins(summary.Run)
	}
	return err
}
