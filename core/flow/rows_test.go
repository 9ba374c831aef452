package flow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/workflow/workflowtest"
)

// S4.21: the id of a call's activity says which node run it is.
func TestCallIDs(t *testing.T) {
	for _, call := range []flow.ParsedCall{
		{Node: "n", Step: 1, Attempt: 1},
		{Node: "a#3[z]#b.c[1]/d~e", Step: 12, Attempt: 3},
		{Path: []string{"x/y", "z#1"}, Node: "n", Step: 5, Branch: "7", Attempt: 1},
		{Node: "n", Step: 2, Branch: "go:a/b#2].1", Attempt: 1},
		{Node: "n", Step: 2, Branch: "a[#3[b]", Attempt: 44},
		{Node: "\n\"", Step: 2, Branch: "\n", Attempt: 1},
	} {
		id := flow.CallID(call.Path, call.Node, call.Step, call.Branch, call.Attempt)
		parsed, ok := flow.ParseCall(id)
		require.True(t, ok, id)
		require.Equal(t, call, parsed, id)
	}
	for _, id := range []string{"", "activity-3", "n#1", "n.1", "n#x.1", "#1.1", "n#1[2.1",
		"n#99999999999999999999.1"} {
		_, ok := flow.ParseCall(id)
		require.False(t, ok, id)
	}
}

// S4.21: every row of a call names an activity of the log, and every activity has its row.
func TestRowsAndLogAgree(t *testing.T) {
	w := newWorld(t)
	_, err := w.run(`{"start": "a", "nodes": {
		"a": {"service": "flaky", "max_retries": 3, "prep": {"input_key": "$params.list"}, "post": {"action_static": "go"}},
		"b": {"kind": "subflow", "subflow": {"start": "p", "nodes": {"p": {"kind": "parallel", "parallel_services": ["sum", "fail"], "prep": {"input_key": "$params.list"}}}}}
	}, "edges": [{"from": "a", "to": "b"}]}`, `{"list": [1, 2]}`)
	require.Error(t, err)
	log, err := history.DecodeExport(workflowtest.Export(w.Env))
	require.NoError(t, err)
	var inLog, inRows []string
	for _, record := range log.Records {
		for _, command := range record.Commands {
			if scheduled, is := command.(*history.ScheduleActivity); is {
				inLog = append(inLog, scheduled.ID)
			}
		}
	}
	page, err := workflowtest.Query(w.Env, flow.RowsQuery, flow.Page{})
	require.NoError(t, err)
	for _, row := range page.Rows {
		if row.Call != "" {
			inRows = append(inRows, row.Call)
			call, ok := flow.ParseCall(row.Call)
			require.True(t, ok)
			require.Equal(t, []any{row.Path, row.Node, row.Branch, row.Attempt},
				[]any{call.Path, call.Node, call.Branch, call.Attempt})
			require.False(t, row.Finished.Before(row.Started))
		}
	}
	require.Equal(t, []string{"a#1.1", "a#1.2", "a#1.3", "b/p#3[sum].1", "b/p#3[fail].1"}, inLog)
	require.Equal(t, inLog, inRows)
	require.Equal(t, []string{"a 1 error  broken 1", "a 2 error  broken 2", "a 3 ok go",
		"b/p[sum] 1 ok", "b/p[fail] 1 error  broken", "b/p 1 error  1 of 2 calls failed, the " +
			"first listed is fail: broken"}, w.rows())
	after, err := workflowtest.Query(w.Env, flow.RowsQuery, flow.Page{After: 5})
	require.NoError(t, err)
	require.Len(t, after.Rows, 1)
	require.False(t, after.More)
	for last, ids := range map[int][]int{1: {6}, 2: {5, 6}, 100: {1, 2, 3, 4, 5, 6}} {
		newest, err := workflowtest.Query(w.Env, flow.RowsQuery, flow.Page{Last: last})
		require.NoError(t, err)
		var got []int
		for _, row := range newest.Rows {
			got = append(got, row.ID)
		}
		require.Equal(t, ids, got)
		require.False(t, newest.More)
	}
}
