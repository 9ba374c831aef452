package local_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
)

// restarting is a server that starts again and again on one store.
type restarting struct {
	t           *testing.T
	store       *memory.Store
	definitions []workflow.Definition
	node        *local.Node
}

// restarts runs a test on a server whose run r has begun.
func restarts(t *testing.T, run workflow.Definition, call workflow.Definition, test func(s *restarting)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &restarting{t: t, store: memory.New(), definitions: []workflow.Definition{run, call}}
		s.start()
		defer func() { require.NoError(t, s.node.Close()) }()
		_, _, err := s.node.Start(t.Context(), engine.StartRequest{Run: "r", Workflow: "calls"})
		require.NoError(t, err)
		synctest.Wait()
		test(s)
	})
}

func (s *restarting) start() {
	s.t.Helper()
	node, err := local.Start(s.t.Context(), local.Config{Store: s.store, Definitions: s.definitions, TokenKey: []byte("0123456789abcdef0123456789abcdef")})
	require.NoError(s.t, err)
	s.node = node
}

// restart ends the server, and starts it again after a while.
func (s *restarting) restart(after time.Duration) {
	s.t.Helper()
	require.NoError(s.t, s.node.Close())
	<-time.After(after)
	s.start()
	synctest.Wait()
}

// passes lets time go by.
func (s *restarting) passes(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// fails is what an attempt does that wants the next one an hour later.
func fails() error { return activity.RetryAfter(errors.New("429 Too Many Requests"), time.Hour) }

func TestTheWaitBeforeARetrySurvivesRestarts(t *testing.T) {
	for name, inline := range map[string]bool{"activity": false, "step": true} {
		t.Run(name, func(t *testing.T) {
			var (
				mu   sync.Mutex
				made []int
			)
			numbers := func() []int {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(made)
			}
			call := activity.New("call", func(ctx context.Context, _ struct{}) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				if made = append(made, activity.InfoOf(ctx).Attempt); len(made) < 3 {
					return 0, fails()
				}
				return len(made), nil
			}).With(activity.Options{Inline: inline, Retry: activity.Retry{MaxAttempts: 3}})
			calls := workflow.New("calls", func(ctx workflow.Context, _ struct{}) (int, error) { return workflow.Execute(ctx, call, struct{}{}) })
			restarts(t, calls, call, func(s *restarting) {
				require.Equal(s.t, []int{1}, numbers())
				s.restart(4 * time.Second)
				s.restart(4 * time.Second)
				s.passes(30 * time.Minute)
				require.Equal(s.t, []int{1}, numbers(), "an hour has not passed")
				s.passes(30 * time.Minute)
				require.Equal(s.t, []int{1, 2}, numbers())
				s.restart(59 * time.Minute)
				require.Equal(s.t, []int{1, 2}, numbers())
				s.passes(2 * time.Minute)
				require.Equal(s.t, []int{1, 2, 3}, numbers())
				summary, err := s.node.Wait(s.t.Context(), "r")
				require.NoError(s.t, err)
				require.Equal(s.t, "3", string(summary.Result), "%v", summary.Failure)
				require.Len(s.t, attemptsOf(s), 2, "history shows the attempts of every process")
				states, err := s.store.TasksOf(s.t.Context(), "r")
				require.NoError(s.t, err)
				require.Empty(s.t, states)
			})
		})
	}
}

// attemptsOf gives the failed attempts that the history of run r shows.
func attemptsOf(s *restarting) (attempts []history.Attempt) {
	records, err := s.store.Records(s.t.Context(), "r", 1, 0)
	require.NoError(s.t, err)
	for _, rec := range records {
		for _, event := range rec.Events {
			if resolved, ok := event.(*history.ActivityResolved); ok {
				attempts = append(attempts, resolved.Attempts...)
			}
		}
	}
	return attempts
}

func TestAnActivityThatWaitsForItsCompletionDoesNotRunAgain(t *testing.T) {
	var ran atomic.Int32
	tokens := make(chan string, 2)
	ask := activity.New("ask", func(ctx context.Context, _ struct{}) (string, error) {
		ran.Add(1)
		tokens <- activity.Token(ctx)
		return "", activity.ErrPending
	}).With(activity.Options{StartToClose: 3 * time.Hour, Retry: activity.Retry{MaxAttempts: 2}})
	asks := workflow.New("calls", func(ctx workflow.Context, _ struct{}) (string, error) { return workflow.Execute(ctx, ask, struct{}{}) })
	restarts(t, asks, ask, func(s *restarting) {
		for range 3 {
			s.restart(4 * time.Second)
			s.passes(30 * time.Minute)
		}
		require.EqualValues(s.t, 1, ran.Load())
		s.passes(2 * time.Hour)
		require.EqualValues(s.t, 2, ran.Load(), "the first attempt's time is over")
		s.restart(4 * time.Second)
		<-tokens
		require.NoError(s.t, s.node.CompleteActivity(s.t.Context(), <-tokens, history.Payload(`"yes"`), nil))
		summary, err := s.node.Wait(s.t.Context(), "r")
		require.NoError(s.t, err)
		require.Equal(s.t, `"yes"`, string(summary.Result), "%v", summary.Failure)
		require.EqualValues(s.t, 2, ran.Load())
		require.Equal(s.t, "start-to-close timeout of 3h0m0s", attemptsOf(s)[0].Failure.Message)
	})
}
