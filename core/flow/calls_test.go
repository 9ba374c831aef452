package flow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/history"
)

// A log tells what became of each call, and which worker was asked.
func TestLoggedCalls(t *testing.T) {
	at := time.Unix(1, 0)
	schedule := func(seq int64, id, activity string) history.Command {
		command := &history.ScheduleActivity{ID: id, Activity: activity}
		command.Number(seq)
		return command
	}
	calls := &flow.LoggedCalls{}
	calls.Add(&history.Record{Number: 1, Time: at, Commands: []history.Command{
		schedule(0, "sub/a#1.1", "http:sum"), schedule(1, "b#2[0].2", "http:sum"), schedule(2, "c#3.1", "pay"),
		schedule(3, "d#4.1", "http:sum"), schedule(4, "e#5.1", "http:sum"), schedule(5, "none", "other")}})
	calls.Add(&history.Record{Number: 2, Time: at.Add(time.Second), Events: []history.Event{
		&history.ActivityResolved{Seq: 0, Worker: "host", Result: history.Payload(`{"result":3,"tries":[{"worker_id":"w1","worker_url":"u1","error":"x"},{"worker_id":"w2","worker_url":"u2"}]}`)},
		&history.ActivityResolved{Seq: 1, Worker: "host", Result: history.Payload(`{"result":null,"error":"no worker"}`)},
		&history.ActivityResolved{Seq: 2, Worker: "host", Failure: &history.Failure{Message: "refused"}},
		&history.ActivityResolved{Seq: 3, Failure: &history.Failure{FailureKind: history.Cancel, Message: "stopped"}},
		&history.ActivityResolved{Seq: 5},
	}, Commands: []history.Command{schedule(6, "c#3.1", "pay")}})

	var got []string
	for _, call := range calls.All {
		row := call.Row()
		id, url := call.Worker()
		got = append(got, row.Call+" "+row.Node+" "+row.Branch+" "+row.Status+" "+row.Error+" "+id+" "+url)
	}
	require.Equal(t, []string{
		"sub/a#1.1 a  ok  w2 u2", "b#2[0].2 b 0 error no worker  ", "c#3.1 c  error refused host ", "d#4.1 d  canceled stopped  ",
		"e#5.1 e     ", "c#3.1 c     ",
	}, got)
	require.Equal(t, []string{"sub"}, calls.All[0].Path)
	require.Equal(t, at.Add(time.Second), calls.All[0].Row().Finished)
	require.Equal(t, 2, calls.All[1].Row().Attempt)
	require.True(t, calls.All[2].Repeated)
	require.Same(t, calls.All[5], calls.ByID["c#3.1"])
	require.Nil(t, calls.ByID["none"])
}
