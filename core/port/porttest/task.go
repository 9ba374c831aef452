package porttest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

var taskCases = []namedCase{
	{"there is none", func(s *subject) {
		state, err := s.Tasks.LoadTask(s.t.Context(), port.TaskKey{Run: "r", Generation: 1, Seq: 1})
		require.NoError(s.t, err)
		require.Nil(s.t, state)
		require.Empty(s.t, s.tasks("r"))
		require.NoError(s.t,
			s.Tasks.DeleteTask(s.t.Context(), port.TaskKey{Run: "r", Generation: 1, Seq: 1}))
	}},
	{"states come back whole, the last one saved", func(s *subject) {
		full := fullTask("r", 1, 1)
		bare := &port.TaskState{TaskKey: full.TaskKey, Cancelled: true}
		for _, want := range []*port.TaskState{bare, full, bare} {
			require.NoError(s.t, s.Tasks.SaveTask(s.t.Context(), want))
			got, err := s.Tasks.LoadTask(s.t.Context(), want.TaskKey)
			require.NoError(s.t, err)
			require.JSONEq(s.t, jsonOf(s.t, want), jsonOf(s.t, got))
			require.Equal(s.t, want.Failed, got.Failed)
		}
	}},
	{"that it was asked to stop stays, whoever saves", func(s *subject) {
		key := port.TaskKey{Run: "r", Generation: 1, Seq: 1}
		want := func(state port.TaskState) {
			got, err := s.Tasks.LoadTask(s.t.Context(), key)
			require.NoError(s.t, err)
			require.JSONEq(s.t, jsonOf(s.t, state), jsonOf(s.t, got))
			all, err := s.Tasks.TasksOf(s.t.Context(), "r")
			require.NoError(s.t, err)
			require.JSONEq(s.t, jsonOf(s.t, []port.TaskState{state}), jsonOf(s.t, all))
		}
		first := port.TaskState{TaskKey: key, Activity: "charge", Attempt: 1}
		beat := port.TaskState{TaskKey: key, Activity: "charge", Attempt: 1, Beat: epoch,
			Details: history.Payload(`1`), Pending: true}
		for _, cancel := range []func() error{
			func() error { return s.Tasks.CancelTask(s.t.Context(), key) },
			func() error {
				return s.Tasks.SaveTask(s.t.Context(),
					&port.TaskState{TaskKey: key, Cancelled: true})
			},
		} {
			require.NoError(s.t, cancel())
			want(port.TaskState{TaskKey: key, Cancelled: true})
			for _, state := range []port.TaskState{first, beat, first} {
				require.NoError(s.t, s.Tasks.SaveTask(s.t.Context(), &state))
				state.Cancelled = true
				want(state)
			}
			require.NoError(s.t, s.Tasks.SaveTask(s.t.Context(), &beat))
			require.NoError(s.t, s.Tasks.CancelTask(s.t.Context(), key))
			marked := beat
			marked.Cancelled = true
			want(marked)
			require.NoError(s.t, s.Tasks.DeleteTask(s.t.Context(), key))
			require.NoError(s.t, s.Tasks.SaveTask(s.t.Context(), &first))
			want(first)
			require.NoError(s.t, s.Tasks.DeleteTask(s.t.Context(), key))
		}
	}},
	{"a task is of one run, one generation, one call", func(s *subject) {
		for _, key := range []port.TaskKey{{Run: "a", Generation: 1, Seq: 1},
			{Run: "a", Generation: 1, Seq: 2},
			{Run: "a", Generation: 2, Seq: 1},
			{Run: "b", Generation: 1, Seq: 1}} {
			require.NoError(s.t,
				s.Tasks.SaveTask(s.t.Context(), fullTask(key.Run, key.Generation, key.Seq)))
		}
		require.Equal(s.t, []port.TaskKey{{Run: "a", Generation: 1, Seq: 1},
			{Run: "a", Generation: 1, Seq: 2}, {Run: "a", Generation: 2, Seq: 1}}, s.tasks("a"))
		for range 2 {
			require.NoError(s.t,
				s.Tasks.DeleteTask(s.t.Context(), port.TaskKey{Run: "a", Generation: 1, Seq: 1}))
			require.Equal(s.t, []port.TaskKey{{Run: "a", Generation: 1, Seq: 2},
				{Run: "a", Generation: 2, Seq: 1}}, s.tasks("a"))
		}
		require.Equal(s.t, []port.TaskKey{{Run: "b", Generation: 1, Seq: 1}}, s.tasks("b"))
	}},
}

func fullTask(run string, generation int, seq int64) *port.TaskState {
	return &port.TaskState{TaskKey: port.TaskKey{Run: run, Generation: generation, Seq: seq},
		Activity: "charge", Attempt: 3, Started: epoch,
		Beat:      epoch.Add(1),
		Details:   history.Payload(`{"at":1}`),
		Failure:   "no",
		Cancelled: true,
		Pending:   seq%2 == 0,
		Next:      epoch.Add(2),
		Failed: []history.Attempt{{Number: 2, Started: epoch, Ended: epoch.Add(1), Worker: "w",
			Failure: failureWith("no")}}}
}

// tasks gives the keys of a run's tasks, in order.
func (s *subject) tasks(run string) (keys []port.TaskKey) {
	s.t.Helper()
	states, err := s.Tasks.TasksOf(s.t.Context(), run)
	require.NoError(s.t, err)
	for _, state := range states {
		keys = append(keys, state.TaskKey)
	}
	slices.SortFunc(keys, func(a, b port.TaskKey) int {
		return (a.Generation-b.Generation)*1000 + int(a.Seq-b.Seq)
	})
	return keys
}
