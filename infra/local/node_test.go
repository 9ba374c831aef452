package local_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/infra/local"
)

var (
	double = activity.New("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	flaky  = activity.New("flaky", func(ctx context.Context, n int) (int, error) {
		if activity.InfoOf(ctx).Attempt < 3 {
			return 0, errors.New("not yet")
		}
		return n, nil
	}).With(activity.Options{Retry: activity.Retry{InitialInterval: time.Millisecond}})
	approve = workflow.NewSignal[string]("approve")
	addTo   = workflow.NewUpdate[int, int]("add")
	total   = workflow.NewQuery[struct{}, int]("total")
	child   = workflow.New("child", func(ctx workflow.Context, n int) (int, error) {
		return n * 10, workflow.Sleep(ctx, time.Millisecond)
	})
	all = workflow.New("all", func(ctx workflow.Context, n int) (string, error) {
		sum := 0
		workflow.HandleQuery(ctx, total, func(struct{}) (int, error) { return sum, nil })
		workflow.HandleUpdate(ctx, addTo, func(ctx workflow.Context, k int) (int, error) {
			d, err := workflow.Execute(ctx, double, k)
			sum += d
			return sum, err
		}, func(k int) error {
			if k < 0 {
				return errors.New("negative")
			}
			return nil
		})
		for i := range n {
			v, err := workflow.Step(ctx, "step", func(context.Context) (int, error) { return i, nil })
			if err != nil {
				return "", err
			}
			sum += v
		}
		d, err := workflow.Execute(ctx, double, sum)
		if err != nil {
			return "", err
		}
		f, err := workflow.Execute(ctx, flaky, 1)
		if err != nil {
			return "", err
		}
		c, err := workflow.ExecuteChild(ctx, child, 5)
		if err != nil {
			return "", err
		}
		sum = d + f + c
		workflow.PublishState(ctx, map[string]int{"sum": sum})
		who, err := workflow.AwaitSignal(ctx, approve)
		return fmt.Sprint(who, " ", sum), err
	})
	loop = workflow.New("loop", countDown)
)

func countDown(ctx workflow.Context, n int) (int, error) {
	if n == 0 {
		return workflow.InfoOf(ctx).Generation, nil
	}
	return workflow.ContinueAsNew(ctx, countDown, n-1)
}

func start(t *testing.T) *local.Node {
	t.Helper()
	n, err := local.Start(t.Context(), local.Config{Store: memory.New(), Definitions: []workflow.Definition{double, flaky, child, all, loop},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

func TestNode(t *testing.T) {
	n := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, created, err := n.Start(ctx, engine.StartRequest{Run: "r", Workflow: "all", Input: history.Payload("4")})
	require.NoError(t, err)
	require.True(t, created)
	answer, err := n.Update(ctx, engine.MessageRequest{Run: "r"}, "add", history.Payload("-3"))
	require.NoError(t, err)
	require.Equal(t, history.UpdateRejected, answer.Phase)
	_, err = n.Signal(ctx, engine.MessageRequest{Run: "r"}, "approve", history.Payload(`"me"`))
	require.NoError(t, err)
	s, err := n.Wait(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, `"me 63"`, string(s.Result), "%+v %v", s, s.Blocked)
	q, err := n.Query(ctx, "r", "total", nil)
	require.NoError(t, err)
	require.Equal(t, "63", string(q))
	_, _, err = n.Start(ctx, engine.StartRequest{Run: "l", Workflow: "loop", Input: history.Payload("3")})
	require.NoError(t, err)
	s, err = n.Wait(ctx, "l")
	require.NoError(t, err)
	require.Equal(t, "4", string(s.Result))
}

func TestEndedRunsGoWhenTheirTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := local.Start(t.Context(), local.Config{Store: memory.New(), Definitions: []workflow.Definition{loop}, Retention: time.Minute})
		require.NoError(t, err)
		defer func() { require.NoError(t, n.Close()) }()
		const runs = 250
		for i := range runs {
			_, _, err := n.Start(t.Context(), engine.StartRequest{Run: fmt.Sprint(i), Workflow: "loop", Input: history.Payload("0")})
			require.NoError(t, err)
		}
		synctest.Wait()
		left := func() int {
			page, _, err := n.List(t.Context(), port.ListQuery{Limit: engine.LongestPage})
			require.NoError(t, err)
			return len(page)
		}
		<-time.After(59 * time.Second)
		require.Equal(t, runs, left())
		<-time.After(8 * time.Second)
		require.Zero(t, left())
	})
}
