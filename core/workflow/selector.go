package workflow

import (
	"container/heap"
	"errors"
	"maps"
	"slices"

	"github.com/reprise-run/reprise/core/internal/scheduler"
)

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
// Its functions run in the unit that calls Select, and may wait. Each run needs its own selector. The
// work of one Select does not grow with the number of futures.
type Selector struct {
	added     int           // cases so far
	asked     []*selectCase // of signals: each Select asks whether one is there
	open      map[int]*selectCase
	settled   settledCases    // whose futures have settled, and have not won yet
	unit      *scheduler.Unit // that is in Select
	otherwise func()
}

// selectCase is one of the things that a selector waits for.
type selectCase struct {
	selector *Selector
	order    int // in which it was added
	once     bool
	// begin gives the future for one Select, and what happens when that future wins.
	begin func(Context) (Awaitable, func() error)
}

// NewSelector makes a selector without cases.
func NewSelector() *Selector { return &Selector{open: map[int]*selectCase{}} }

func (s *Selector) add(once bool, begin func(Context) (Awaitable, func() error)) *selectCase {
	s.added++
	return &selectCase{s, s.added, once, begin}
}

// AddReceive has the selector take signals of this sort, one for each [Selector.Select].
func AddReceive[T any](s *Selector, signal *Signal[T], do func(T)) {
	s.asked = append(s.asked, s.add(false, func(ctx Context) (Awaitable, func() error) {
		next := receive(ctx.unit, ctx, signal, false)
		return next, func() error {
			value, err := next.Await(ctx)
			if err == nil {
				do(value)
			}
			return err
		}
	}))
}

// AddFuture has the selector wait for a future, whose value or failure the function gets. A future
// that has won once does not win again.
func AddFuture[T any](s *Selector, future Future[T], do func(T, error)) {
	c := s.add(true, func(ctx Context) (Awaitable, func() error) {
		return future, func() error {
			do(future.Await(ctx))
			return nil
		}
	})
	if future.signal != nil || future.empty() {
		s.asked = append(s.asked, c)
		return
	}
	s.open[c.order] = c
	future.join(c)
}

// Wake implements machine.Waiter: the future of the case has settled.
func (c *selectCase) Wake() {
	s := c.selector
	delete(s.open, c.order)
	heap.Push(&s.settled, c)
	if s.unit != nil {
		s.unit.Wake()
	}
}

// AddDefault has Select call the function, instead of waiting, when no case is ready.
func (s *Selector) AddDefault(do func()) { s.otherwise = do }

// Select waits until one of the cases is ready, and calls its function. Of several that are ready, the
// one that was added first wins; the signals of the others stay for the next Select. It returns the
// scope's error when the scope is canceled meanwhile, and an error when no case is left.
func (s *Selector) Select(ctx Context) error {
	ctx.enter("Selector.Select")
	if len(s.asked)+len(s.open)+len(s.settled) == 0 && s.otherwise == nil {
		return errors.New("workflow.Selector.Select without cases: none can become ready")
	}
	futures, fire := make([]Awaitable, len(s.asked)), make([]func() error, len(s.asked))
	ready := len(s.settled) > 0
	for i, c := range s.asked {
		futures[i], fire[i] = c.begin(ctx)
		ready = ready || futures[i].ready()
	}
	if !ready && s.otherwise != nil {
		s.otherwise()
		return nil
	}
	first, err := s.first(ctx, futures)
	if err != nil {
		return err
	}
	if first < 0 {
		_, won := heap.Pop(&s.settled).(*selectCase).begin(ctx)
		return won()
	}
	if s.asked[first].once {
		s.asked = slices.Delete(s.asked, first, first+1)
	}
	return fire[first]()
}

// first waits until a case is ready. It gives the number of the one of asked that wins; -1 if it is
// the first of the settled ones.
func (s *Selector) first(ctx Context, asked []Awaitable) (winner int, err error) {
	s.unit, winner = ctx.unit, -1
	defer func() { s.unit = nil }()
	err = until(ctx, &opens{s, asked}, asked, func() bool {
		winner = slices.IndexFunc(asked, Awaitable.settled)
		if len(s.settled) > 0 && (winner < 0 || s.settled[0].order < s.asked[winner].order) {
			winner = -1
			return true
		}
		return winner >= 0
	})
	for i, f := range asked {
		if i != winner {
			f.release(ctx.unit)
		}
	}
	return winner, err
}

// opens is what a selector waits for, for diagnostics.
type opens struct {
	selector *Selector
	asked    []Awaitable
}

func (o *opens) String() string {
	open := o.asked
	for _, order := range slices.Sorted(maps.Keys(o.selector.open)) {
		future, _ := o.selector.open[order].begin(Context{})
		open = append(open, future)
	}
	return waitsFor{"the first of", open}.String()
}

// settledCases is a heap: the one that was added first is on top.
type settledCases []*selectCase

func (h settledCases) Len() int           { return len(h) }
func (h settledCases) Less(i, j int) bool { return h[i].order < h[j].order }
func (h settledCases) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *settledCases) Push(c any)        { *h = append(*h, c.(*selectCase)) }
func (h *settledCases) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
