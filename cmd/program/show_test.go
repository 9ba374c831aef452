package program

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Microsecond: "0ms", 1500 * time.Microsecond: "1ms", 999 * time.Millisecond: "999ms", 9990 * time.Millisecond: "9.9s",
		10 * time.Second: "10s", 61 * time.Second: "1m01s", time.Hour: "1h00m", 25 * time.Hour: "1d01h", -time.Second: "-1.0s",
	} {
		require.Equal(t, want, span(d), d.String())
	}
	for d, want := range map[time.Duration]string{24 * time.Hour: "24h", 90 * time.Second: "1m30s", 90 * time.Minute: "1h30m",
		10 * time.Millisecond: "10ms", 10 * time.Second: "10s", 10 * time.Minute: "10m", 0: "0s"} {
		require.Equal(t, want, nominal(d), d.String())
	}
}

func TestAlign(t *testing.T) {
	require.Equal(t, []string{"a    bb  c", "äöü  b", "     b   cc"}, align([][]string{{"a", "bb", "c"}, {"äöü", "b", ""}, {"", "b", "cc"}}))
}

func TestFailureIsShownWithItsCauses(t *testing.T) {
	failure := &history.Failure{FailureKind: history.Application, Type: "*fmt.wrapError", Message: "shipping: activity box: no boxes", Cause: &history.Failure{
		FailureKind: history.ActivityKind, Type: "box", Message: "no boxes", Cause: &history.Failure{FailureKind: history.Application, Type: "Empty",
			Message: "no boxes", Details: history.Payload(`{"left":0}`), Cause: &history.Failure{FailureKind: history.Panic, Message: "index 3", Stack: "main.go:1\nmain.go:2"}}}}
	require.Equal(t, "shipping: activity box: no boxes (Empty)\n  details {\"left\":0}\n  panic: index 3\n    main.go:1\n    main.go:2", describeFailure(failure))
}

// What a run waits for, and what it is blocked for, as no transcript can show it without waiting itself.
func TestHistoryOfARunUnderWay(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	numbered := func(seq int64, command history.Sequenced) history.Command {
		command.Number(seq)
		return command
	}
	export := &history.Export{Run: "r", Generation: 1, Workflow: "order", Records: []*history.Record{
		{Number: 1, Time: begun, Events: []history.Event{&history.Started{Workflow: "order", Input: history.Payload(`{"item":"book"}`)}}, Commands: []history.Command{
			numbered(1, &history.ScheduleActivity{Activity: "charge"}), numbered(2, &history.ScheduleActivity{Activity: "review", ID: "second look"}),
			numbered(3, &history.StartTimer{Duration: 24 * time.Hour}), numbered(4, &history.StartChild{Workflow: "ship", Run: "ship-7"}),
			numbered(5, &history.StartTimer{Duration: time.Minute}), numbered(6, &history.ScheduleActivity{Activity: "note", Inline: true})}},
		{Number: 2, Time: begun.Add(1500 * time.Millisecond), Events: []history.Event{history.NewSignal("m", "hurry", nil),
			&history.ActivityResolved{Seq: 6, Result: history.Payload("1")}}, Commands: []history.Command{numbered(5, &history.CancelTimer{}),
			numbered(4, &history.CancelChild{}), &history.MarkPatch{ID: "faster"}}},
	}}
	run := looked{&engine.Summary{Run: "r", Generation: 1, Workflow: "order", Status: history.Running, Started: begun,
		Blocked: &engine.Block{Since: begun.Add(5 * time.Second), Reason: engine.ReasonNondeterminism, Message: "nondeterminism\n  recorded: x"}},
		[]*engine.TaskState{{TaskKey: engine.TaskKey{Seq: 1}, Attempt: 3, Failure: "the bank is busy", Details: history.Payload("7"), Beat: begun.Add(9 * time.Second)},
			{TaskKey: engine.TaskKey{Seq: 2}, Attempt: 1, Pending: true}}}
	shown := newTimeline(begun.Add(10*time.Second), run)
	for _, rec := range export.Records {
		shown.add(rec)
	}
	shown.pending()
	text := &strings.Builder{}
	shown.write(text, export)
	require.Equal(t, `run r of workflow order, started 2026-01-02 03:04:05

   1  +0ms   started                      {"item":"book"}
   1  +0ms   activity charge              under way for 10s, attempt 3
               attempt 2 failed: the bank is busy
               heartbeat 1.0s ago: 7
   1  +0ms   activity review second look  under way for 10s
               to be completed by its token
   1  +0ms   timer 24h                    fires in 23h59m
   1  +0ms   child ship ship-7            under way for 10s
               asked to stop after 1.5s
   1  +0ms   timer 1m                     cancelled after 1.5s
   1  +0ms   step note                    ok after 1.5s  1
   2  +1.5s  signal hurry
   2  +1.5s  patch faster

blocked for 5.0s: nondeterminism
  nondeterminism
    recorded: x
`, text.String())
}
