package local

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/memory"
	"github.com/reprise-run/reprise/core/port"
)

// laptop has a clock that went on while the machine slept, and timers that did not.
type laptop struct{ slept atomic.Int64 }

func (l *laptop) Now() time.Time { return time.Now().Add(time.Duration(l.slept.Load())).UTC() }

func (l *laptop) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

func TestWhatCameDueWhileTheMachineSleptComesSoonAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, came := &laptop{}, make(chan string, 2)
		q := newQueue(machine, 1, 1, nil)
		defer q.close()
		q.open(handlers{resume: func(_ context.Context, m port.Resume) error {
			came <- m.Run
			return nil
		}})
		require.NoError(t, q.SendResumes(t.Context(),
			port.Resume{Run: "tea", Delay: 10 * time.Minute}, port.Resume{Run: "year",
				Delay: 24 * time.Hour}))
		machine.slept.Store(int64(8 * time.Hour))
		begun := time.Now()
		require.Equal(t, "tea", <-came)
		require.LessOrEqual(t, time.Since(begun), longestNap)
		require.Equal(t, "year", <-came)
		require.GreaterOrEqual(t, time.Since(begun), 16*time.Hour)
	})
}

// TestATimerThatIsSentAgainIsForgottenWhole: what a dead author may not have sent is sent again; what nobody waits for any more must
// not stay behind for that.
func TestATimerThatIsSentAgainIsForgottenWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(&laptop{}, 1, 1, nil)
		defer q.close()
		came := 0
		q.open(handlers{resume: func(context.Context, port.Resume) error {
			came++
			return nil
		}})
		send := func(seq int64) {
			firing := &history.TimerFired{Seq: seq}
			require.NoError(t, q.SendResumes(t.Context(), port.Resume{Run: "r", Delay: time.Minute,
				Carries: &port.Item{Key: firing.Key(1), Event: firing}}))
		}
		for range 2 {
			send(1)
			send(2)
		}
		require.Empty(t, q.forget([]port.DueTimer{{Run: "r", Generation: 1, Seq: 1}}))
		_, delayed, _ := q.backlog()
		require.Equal(t, 1, delayed)
		<-time.After(time.Hour)
		synctest.Wait()
		require.Equal(t, 1, came)
	})
}

// A backlog that is worked off and never ends must not hold what was worked off.
func TestALastingBacklogHoldsNoMoreThanItself(t *testing.T) {
	const backlog = 100
	var l lane[int]
	for i := range backlog {
		l.push(received[int]{message: i})
	}
	for i := range 100_000 {
		l.push(received[int]{message: backlog + i})
		require.Equal(t, i, l.pop().message)
	}
	require.Less(t, cap(l.ready), 10*backlog)
}

// TestQueuedInputsAreCounted: a task holds its input from when it is sent until it is done, however
// often it comes again.
func TestQueuedInputsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := memory.New(1000)
		q := newQueue(&laptop{}, 1, 1, budget)
		defer q.close()
		task := port.Task{Command: &history.ScheduleActivity{Input: history.Payload(`"0123456789"`)}}
		require.NoError(t, q.SendTasks(t.Context(), task, task))
		require.EqualValues(t, 24, budget.Used())
		failed, done := make(chan struct{}), make(chan struct{})
		times := 0
		q.open(handlers{
			resume: func(context.Context, port.Resume) error { return nil },
			task: func(context.Context, port.Task) error {
				if times++; times == 1 {
					return errors.New("once more")
				}
				<-done
				return nil
			},
			failed: func(string, int, error) { close(failed) },
		})
		<-failed
		synctest.Wait()
		require.EqualValues(t, 24, budget.Used(), "one that failed comes again")
		close(done)
		<-time.After(longestPause)
		synctest.Wait()
		require.Zero(t, budget.Used())
	})
}
