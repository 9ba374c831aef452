package porttest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// racers is how many goroutines race.
const racers = 50

var raceCases = []namedCase{
	{"of many that put one record, one wins", func(s *subject) {
		s.create("r")
		for n := 1; n <= 5; n++ {
			winner := s.race(port.ErrTaken, func(i int) error {
				rec := recordOf(n, history.Payload(fmt.Sprint(i)))
				return s.Runs.Put(s.t.Context(), &port.Commit{Run: "r", Generation: 1, Record: rec})
			})
			rec := s.log("r", 1, n-1)[0]
			require.Equal(s.t, fmt.Sprint(winner), string(rec.Commands[0].(*history.ScheduleActivity).Input))
		}
		require.Equal(s.t, upTo(5), numbers(s.look("r", port.Position{}).Records))
	}},
	{"of many that create one run, one wins", func(s *subject) {
		winner := s.race(port.ErrTaken, func(i int) error {
			summary := newSummary("r")
			summary.Workflow = fmt.Sprint(i)
			return s.Runs.Create(s.t.Context(), summary, startItem(1))
		})
		require.Equal(s.t, fmt.Sprint(winner), s.look("r", port.Position{}).Summary.Workflow)
	}},
	{"of many that begin one generation, one wins", func(s *subject) {
		ended := s.end(s.create("r"))
		winner := s.race(port.ErrTaken, func(i int) error {
			commit := next(ended, 0)
			commit.Summary.Workflow = fmt.Sprint(i)
			return s.Runs.Put(s.t.Context(), commit)
		})
		require.Equal(s.t, fmt.Sprint(winner), s.look("r", port.Position{}).Summary.Workflow)
		s.put("r", 2, 1)
	}},
	{"of many that close one generation, one wins, and the log shows no other", func(s *subject) {
		summary := s.create("r")
		s.race(port.ErrTaken, func(i int) error {
			commit := next(summary, i%3+1) // not all at the same record: the summary decides, too
			return s.Runs.Put(s.t.Context(), commit)
		})
		require.Len(s.t, s.log("r", 1, 0), 1)
	}},
	{"of many that file one item, one is first", func(s *subject) {
		s.create("r")
		errThere := errors.New("there")
		s.race(errThere, func(i int) error {
			item := mail("a")
			item.Durable = i%2 == 0
			_, there, err := s.Runs.File(s.t.Context(), "r", item)
			if there {
				return errThere
			}
			return err
		})
		require.Equal(s.t, []string{"mail#a#signal#approve", "start#1"},
			keys(s.look("r", port.Position{}).Inbox))
	}},
	{"readers never see a gap, nor a result before what asked for it", func(s *subject) {
		const runs, length = 4, 60
		var writers, readers sync.WaitGroup
		var done atomic.Bool
		for i := range runs {
			run := fmt.Sprint("r", i)
			s.create(run)
			writers.Go(func() {
				for n := 1; n <= length; n++ {
					if !assert.NoError(s.t,
						s.Runs.Put(s.t.Context(),
							&port.Commit{Run: run, Generation: 1, Record: record(n)})) {
						return
					}
					// A result of record n is filed after it: whoever sees the item sees the record.
					item := fired(int64(n))
					item.Durable = n%2 == 0
					_, _, err := s.Runs.File(s.t.Context(), run, item)
					assert.NoError(s.t, err)
					if n > 3 {
						assert.NoError(s.t, s.Runs.Delete(s.t.Context(), run, []string{fired(int64(n - 3)).Key}))
					}
				}
			})
			for range 2 {
				readers.Go(func() {
					for known := 0; !done.Load(); {
						last := s.lookForGaps(run, known)
						if known = last - 3; known < 0 || s.t.Failed() {
							known = 0
						}
					}
				})
			}
		}
		writers.Wait()
		done.Store(true)
		readers.Wait()
		for i := range runs {
			require.Equal(s.t, upTo(length), numbers(s.log(fmt.Sprint("r", i), 1, 0)))
		}
	}},
	{"a transaction shows as a whole", func(s *subject) {
		summary := s.create("r")
		var readers sync.WaitGroup
		var done atomic.Bool
		for range 3 {
			readers.Go(func() {
				for !done.Load() && !s.t.Failed() {
					// The log may be read a little later than the summary: it may be longer, never shorter.
					view, err := s.Runs.Look(s.t.Context(), "r", port.Position{})
					if assert.NoError(s.t, err) && view.Summary.State != nil {
						assert.GreaterOrEqual(s.t, len(view.Records), int(view.Summary.State[0]-'0'))
					}
				}
			})
		}
		for n := 1; n <= 9; n++ {
			changed := *summary
			changed.State = history.Payload(fmt.Sprint(n))
			require.NoError(s.t,
				s.Runs.Put(s.t.Context(), &port.Commit{Run: "r", Generation: 1, Record: record(n),
					Summary: &changed}))
		}
		done.Store(true)
		readers.Wait()
	}},
}

// race has many goroutines do something that one of them can do, and gives that one.
func (s *subject) race(lost error, attempt func(i int) error) (winner int) {
	s.t.Helper()
	errs := make([]error, racers)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() {
			<-begin
			errs[i] = attempt(i)
		})
	}
	close(begin)
	all.Wait()
	winner = -1
	for i, err := range errs {
		if err == nil {
			require.Equal(s.t, -1, winner, "both %d and %d won", winner, i)
			winner = i
			continue
		}
		require.ErrorIs(s.t, err, lost)
	}
	require.NotEqual(s.t, -1, winner, "nobody won")
	return winner
}

// lookForGaps looks from a known record, and gives the last one.
func (s *subject) lookForGaps(run string, known int) int {
	view, err := s.Runs.Look(s.t.Context(), run, port.Position{Generation: 1, Record: known})
	if !assert.NoError(s.t, err) {
		return known
	}
	last := known
	for _, rec := range view.Records {
		assert.Equal(s.t, last+1, rec.Number, "a gap in the log")
		last = rec.Number
	}
	for _, item := range view.Inbox {
		if e, ok := item.Event.(*history.TimerFired); ok && !view.More {
			assert.LessOrEqual(s.t, e.Seq, int64(last), "the inbox is read before the log")
		}
	}
	return last
}
