package workflow_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// inRun runs a piece of workflow code to its end.
func inRun(t *testing.T, code func(ctx workflow.Context) error) (took time.Duration) {
	t.Helper()
	env := workflowtest.New(t)
	_, err := workflowtest.Run(env, workflow.New("piece", func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		return workflow.None{}, code(ctx)
	}), workflow.None{})
	require.NoError(t, err)
	return env.Elapsed()
}

// TestFailFast: the first failure cancels the other branches and is the error; without the option,
// all branches run to their ends.
func TestFailFast(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		options workflow.ParallelOptions
		took    time.Duration
		ended   []int // branches that ran to their ends
	}{
		"all run":                {workflow.ParallelOptions{}, 5 * time.Hour, []int{0, 1, 3, 4}},
		"fail fast":              {workflow.ParallelOptions{FailFast: true}, 3 * time.Hour, []int{0, 1}},
		"two at a time":          {workflow.ParallelOptions{Concurrency: 2}, 9 * time.Hour, []int{0, 1, 3, 4}},
		"two at a time, fail":    {workflow.ParallelOptions{Concurrency: 2, FailFast: true}, 4 * time.Hour, []int{0, 1}},
		"one at a time, fail":    {workflow.ParallelOptions{Concurrency: 1, FailFast: true}, 6 * time.Hour, []int{0, 1}},
		"more than there are":    {workflow.ParallelOptions{Concurrency: 9}, 5 * time.Hour, []int{0, 1, 3, 4}},
		"fewer than one at once": {workflow.ParallelOptions{Concurrency: -1}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var ended []int
			var err error
			running, most := 0, 0
			took := inRun(t, func(ctx workflow.Context) error {
				ended, running, most = nil, 0, 0 // the code runs again, on replay
				_, err = workflow.MapWith(ctx, c.options, []int{0, 1, 2, 3, 4}, func(ctx workflow.Context, i int) (int, error) {
					running++
					most = max(most, running)
					defer func() { running-- }()
					if err := workflow.Sleep(ctx, time.Duration(i+1)*time.Hour); err != nil {
						return 0, err
					}
					if i == 2 {
						return 0, broken
					}
					ended = append(ended, i)
					return i, nil
				})
				return nil
			})

			require.Equal(t, c.took, took)
			require.Equal(t, c.ended, ended)
			if c.options.Concurrency < 0 {
				require.EqualError(t, err, "workflow.MapWith: Concurrency is -1, it must be 0 or more")
				return
			}
			require.ErrorIs(t, err, broken)
			require.NotErrorIs(t, err, workflow.ErrCancelled, "branches that were canceled for it are not the error")
			failed := (*workflow.BranchError)(nil)
			require.ErrorAs(t, err, &failed)
			require.Equal(t, 2, failed.Branch)
			if c.options.Concurrency > 0 {
				require.LessOrEqual(t, most, c.options.Concurrency)
			}
		})
	}
}

// TestWaitsWithALimit: what comes in time is given, and what does not is a timeout that cancels
// nothing.
func TestWaitsWithALimit(t *testing.T) {
	took := inRun(t, func(ctx workflow.Context) error {
		late, ready := workflow.Timer(ctx, 2*time.Hour), false
		_, err := late.AwaitWithin(ctx, time.Hour)
		require.ErrorIs(t, err, workflow.ErrTimeout)
		require.ErrorIs(t, workflow.AwaitConditionWithin(ctx, 30*time.Minute, func() bool { return ready }), workflow.ErrTimeout)
		require.ErrorIs(t, workflow.AwaitConditionWithin(ctx, 0, func() bool { return ready }), workflow.ErrTimeout)
		_, err = late.AwaitWithin(ctx, time.Hour)
		require.NoError(t, err, "the timer lived on")
		_, err = late.AwaitWithin(ctx, -1)
		require.NoError(t, err, "it is there already")
		workflow.Go(ctx, func(ctx workflow.Context) (workflow.None, error) {
			err := workflow.Sleep(ctx, time.Minute)
			ready = true
			return workflow.None{}, err
		})
		require.NoError(t, workflow.AwaitConditionWithin(ctx, time.Hour, func() bool { return ready }))
		return workflow.AwaitConditionWithin(ctx, 0, func() bool { return ready })
	})
	require.Equal(t, 2*time.Hour+time.Minute, took)
}
