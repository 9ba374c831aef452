package workflow

import "errors"

// Selector waits for the first of several signals and futures, and calls a function with it. It is
// for loops that take whatever comes next:
//
//	s := workflow.NewSelector()
//	workflow.AddReceive(s, Bid, func(bid int) { best = max(best, bid) })
//	workflow.AddFuture(s, workflow.Timer(ctx, time.Hour), func(struct{}, error) { over = true })
//	for !over {
//		if err := s.Select(ctx); err != nil {
//			return 0, err
//		}
//	}
//
// Its functions run in the unit that calls Select, and may wait. Each run needs its own selector.
type Selector struct {
	cases     []*selectCase
	otherwise func()
}

// selectCase is one of the things that a selector waits for. Its begin gives the future for one
// Select, and what happens when that future wins.
type selectCase struct {
	begin func(Context) (Awaitable, func() error)
	once  bool
}

// NewSelector makes a selector without cases.
func NewSelector() *Selector { return &Selector{} }

// AddReceive has the selector take signals of this sort, one for each [Selector.Select].
func AddReceive[T any](s *Selector, signal *Signal[T], do func(T)) {
	s.cases = append(s.cases, &selectCase{begin: func(ctx Context) (Awaitable, func() error) {
		next := receive(ctx.unit, ctx, signal, false)
		return next, func() error {
			value, err := next.Await(ctx)
			if err == nil {
				do(value)
			}
			return err
		}
	}})
}

// AddFuture has the selector wait for a future, whose value or failure the function gets. A future
// that has won once does not win again.
func AddFuture[T any](s *Selector, future Future[T], do func(T, error)) {
	s.cases = append(s.cases, &selectCase{once: true, begin: func(ctx Context) (Awaitable, func() error) {
		return future, func() error {
			do(future.Await(ctx))
			return nil
		}
	}})
}

// AddDefault has Select call the function, instead of waiting, when no case is ready.
func (s *Selector) AddDefault(do func()) { s.otherwise = do }

// Select waits until one of the cases is ready, and calls its function. Of several that are ready, the
// one that was added first wins; the signals of the others stay for the next Select. It returns the
// scope's error when the scope is canceled meanwhile, and an error when no case is left.
func (s *Selector) Select(ctx Context) error {
	ctx.enter("Selector.Select")
	if len(s.cases) == 0 && s.otherwise == nil {
		return errors.New("workflow.Selector.Select without cases: none can become ready")
	}
	futures, fire := make([]Awaitable, len(s.cases)), make([]func() error, len(s.cases))
	ready := false
	for i, c := range s.cases {
		futures[i], fire[i] = c.begin(ctx)
		ready = ready || futures[i].ready()
	}
	if !ready && s.otherwise != nil {
		s.otherwise()
		return nil
	}
	first, err := Race(ctx, futures...)
	if err != nil {
		return err
	}
	if s.cases[first].once {
		s.cases = append(s.cases[:first:first], s.cases[first+1:]...)
	}
	return fire[first]()
}
