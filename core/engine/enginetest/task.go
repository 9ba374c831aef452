package enginetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

var taskCases = []namedCase{
	{"there is none", func(t *testing.T, s *subject) {
		state, err := s.Tasks.LoadTask(t.Context(), engine.TaskKey{Run: "r", Generation: 1, Seq: 1})
		require.NoError(t, err)
		require.Nil(t, state)
		require.Empty(t, s.tasks(t, "r"))
		require.NoError(t, s.Tasks.DeleteTask(t.Context(), engine.TaskKey{Run: "r", Generation: 1, Seq: 1}))
	}},
	{"states come back whole, the last one saved", func(t *testing.T, s *subject) {
		full := fullTask("r", 1, 1)
		bare := &engine.TaskState{TaskKey: full.TaskKey}
		for _, want := range []*engine.TaskState{bare, full, bare} {
			require.NoError(t, s.Tasks.SaveTask(t.Context(), want))
			got, err := s.Tasks.LoadTask(t.Context(), want.TaskKey)
			require.NoError(t, err)
			require.JSONEq(t, jsonOf(t, want), jsonOf(t, got))
		}
	}},
	{"a task is of one run, one generation, one call", func(t *testing.T, s *subject) {
		for _, key := range []engine.TaskKey{{Run: "a", Generation: 1, Seq: 1}, {Run: "a", Generation: 1, Seq: 2}, {Run: "a", Generation: 2, Seq: 1}, {Run: "b", Generation: 1, Seq: 1}} {
			require.NoError(t, s.Tasks.SaveTask(t.Context(), fullTask(key.Run, key.Generation, key.Seq)))
		}
		require.Equal(t, []engine.TaskKey{{Run: "a", Generation: 1, Seq: 1}, {Run: "a", Generation: 1, Seq: 2}, {Run: "a", Generation: 2, Seq: 1}}, s.tasks(t, "a"))
		for range 2 {
			require.NoError(t, s.Tasks.DeleteTask(t.Context(), engine.TaskKey{Run: "a", Generation: 1, Seq: 1}))
			require.Equal(t, []engine.TaskKey{{Run: "a", Generation: 1, Seq: 2}, {Run: "a", Generation: 2, Seq: 1}}, s.tasks(t, "a"))
		}
		require.Equal(t, []engine.TaskKey{{Run: "b", Generation: 1, Seq: 1}}, s.tasks(t, "b"))
	}},
}

func fullTask(run string, generation int, seq int64) *engine.TaskState {
	return &engine.TaskState{TaskKey: engine.TaskKey{Run: run, Generation: generation, Seq: seq}, Activity: "charge", Attempt: 3, Started: epoch,
		Beat: epoch.Add(1), Details: history.Payload(`{"at":1}`), Failure: "no", Cancelled: true, Pending: seq%2 == 0}
}

// tasks gives the keys of a run's tasks, in order.
func (s *subject) tasks(t *testing.T, run string) (keys []engine.TaskKey) {
	t.Helper()
	states, err := s.Tasks.TasksOf(t.Context(), run)
	require.NoError(t, err)
	for _, state := range states {
		keys = append(keys, state.TaskKey)
	}
	slices.SortFunc(keys, func(a, b engine.TaskKey) int { return (a.Generation-b.Generation)*1000 + int(a.Seq-b.Seq) })
	return keys
}
