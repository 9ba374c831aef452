package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// descends starts itself as a child, forever.
func descends(_ *world, ctx workflow.Context, depth int) (int, error) {
	return workflow.ExecuteChild(ctx, workflow.Declare[int, int]("main"), depth+1)
}

// TestWorkflowsThatStartEachOtherInACircle: the deepest one is refused, with what to do. The ids of
// the others can be used by callers.
func TestWorkflowsThatStartEachOtherInACircle(t *testing.T) {
	inBoth(t, only("main", descends), func(w *world) {
		w.start("r", "main", "0")
		w.settle()
		w.finished()
		root := w.summary("r")
		require.Equal(w.t, history.Failed, root.Status)
		cause := root.Failure
		for cause.Cause != nil {
			cause = cause.Cause
		}
		require.Equal(w.t, history.TooManyAncestors, cause.Type)
		require.Contains(w.t, cause.Message, "101 runs would wait for it")
		require.Contains(w.t, cause.Message, "start each other in a circle")
		deepest := 0
		for _, run := range w.runs() {
			require.LessOrEqual(w.t, len(run), port.LongestID)
			deepest = max(deepest, w.summary(run).Ancestors)
		}
		require.Equal(w.t, port.MostAncestors, deepest)
		require.Len(w.t, w.runs(), port.MostAncestors+1)
	})
}

// TestChildrenThatGoOnByThemselvesHaveNoAncestors: such a chain does not wait.
func TestChildrenThatGoOnByThemselvesHaveNoAncestors(t *testing.T) {
	alone := func(_ *world, ctx workflow.Context, depth int) (int, error) {
		if depth > port.MostAncestors+10 {
			return depth, nil
		}
		next := workflow.Declare[int, int]("main").
			With(workflow.ChildOptions{ParentClosePolicy: workflow.AbandonChild})
		workflow.StartChild(ctx, next, depth+1)
		return depth, nil
	}
	inBoth(t, only("main", alone), func(w *world) {
		w.start("r", "main", "0")
		w.settle()
		w.finished()
		require.Len(w.t, w.runs(), port.MostAncestors+12)
	})
}

// TestChildrenOfALongID: a child's id has no more bytes than callers may give.
func TestChildrenOfALongID(t *testing.T) {
	once := func(_ *world, ctx workflow.Context, depth int) (int, error) {
		if depth > 0 {
			return depth, nil
		}
		return descends(nil, ctx, depth)
	}
	inBoth(t, only("main", once), func(w *world) {
		long := strings.Repeat("x", port.LongestID)
		w.start(long, "main", "0")
		w.settle()
		w.finished()
		require.Equal(w.t, "1", string(w.summary(long).Result))
		require.Len(w.t, w.runs(), 2)
		for _, run := range w.runs() {
			require.LessOrEqual(w.t, len(run), port.LongestID)
		}
	})
}
