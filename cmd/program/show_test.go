package program

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/wire"
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

// findings are one of each kind, and many of one.
func findings(now time.Time) (all []wire.Finding) {
	of := func(run, kind, name string, failure string) {
		all = append(all, wire.Finding{Run: run, Workflow: "order", Generation: 1, Kind: kind,
			Name: name, Seq: 3,
			Since: now.Add(-10 * time.Minute), Attempt: 2, Failure: failure})
	}
	of("f0", engine.FindingUnread, "signal-received", "")
	of("f1", engine.FindingActivity, "charge", "")
	of("f2", engine.FindingAttempt, "charge", "")
	of("f3", engine.FindingStep, "note", "")
	of("f4", engine.FindingTimer, "", "")
	of("f5", engine.FindingChild, "f5.1.3", "")
	of("f6", engine.FindingUnregistered, "chrage", `activity "chrage" is not registered here`)
	of("f7", engine.FindingFailing, "charge", "the bank is busy")
	of("f8", engine.FindingUnreadable, "", "record 3 is damaged")
	of("f9", engine.FindingSignal, "aprove", "")
	for i := range 30 {
		of(fmt.Sprint("g", i), engine.FindingSignal, "aprove", "")
	}
	return all
}

// What a diagnosis can say, as no transcript can show it.
func TestDiagnosisSaysWhatToDo(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	p := &program{name: "reprise", now: func() time.Time { return now }}
	found := &wire.Diagnosis{MoreBlocked: true, Unseen: []string{"the queues: access denied"},
		Rebuild: true,
		Writes:  "reprise.db: the disk is full",
		Queues:  &wire.Queues{Backlog: wire.Backlog{Ready: 1, Delayed: 4, InFlight: 2}, Dead: 3}}
	for i, reason := range []string{port.ReasonNondeterminism, port.ReasonUnreadable,
		port.ReasonUndeliverable, port.ReasonStuck, port.ReasonActivation} {
		found.Blocked = append(found.Blocked, wire.BlockedRun{Run: fmt.Sprint("r", i),
			Workflow: "order",
			Reason:   reason,
			Message:  "what\n  where",
			Since:    now.Add(-time.Minute)})
	}
	found.Blocked[0].Version = "1.2"
	for i := range 12 {
		found.Overdue = append(found.Overdue, wire.OverdueTimer{Run: fmt.Sprint("t", i),
			Generation: 1, Seq: 3, At: now.Add(-time.Hour)})
	}
	text := &strings.Builder{}
	p.writeDiagnosis(text, found, inspected{Findings: findings(now), Checked: 10_050, More: true})
	require.Equal(t, `blocked: 5 runs and more (`+"`"+`reprise list --blocked`+"`"+` has them all) cannot advance; what arrives is kept

  r0 (workflow order), for 1m00s, under version 1.2: nondeterminism
    what
      where
    to do: deploy code that agrees with its history again (`+"`"+`reprise replay`+"`"+` checks that): it resumes automatically then; `+"`"+`reprise unblock r0`+"`"+` has it tried again at once; or `+"`"+`reprise reset r0 --to RECORD`+"`"+` has it continue from an earlier record

  r1 (workflow order), for 1m00s: unreadable-record
    what
      where
    to do: deploy the newer version if one wrote it: it resumes automatically then; `+"`"+`reprise unblock r1`+"`"+` has it tried again at once; if it is damaged, restore it from a backup, and then `+"`"+`reprise unblock r1`+"`"+`

  r2 (workflow order), for 1m00s: undeliverable-resume
    what
      where
    to do: see the log of functions/activate for the cause; once it is gone, `+"`"+`reprise unblock r2`+"`"+`

  r3 (workflow order), for 1m00s: stuck-unit
    what
      where
    to do: deploy fixed code: it resumes automatically then; `+"`"+`reprise unblock r3`+"`"+` has it tried again at once

  r4 (workflow order), for 1m00s: failed-activation
    what
      where
    to do: deploy fixed code, or remove the cause if it lies elsewhere: it resumes automatically then; `+"`"+`reprise unblock r4`+"`"+` has it tried again at once

overdue: 12 timers should have fired, the first one 1h00m ago

  t0 (timer 3), since 2026-01-02 02:04:05
  t1 (timer 3), since 2026-01-02 02:04:05
  t2 (timer 3), since 2026-01-02 02:04:05
  t3 (timer 3), since 2026-01-02 02:04:05
  t4 (timer 3), since 2026-01-02 02:04:05
  t5 (timer 3), since 2026-01-02 02:04:05
  t6 (timer 3), since 2026-01-02 02:04:05
  t7 (timer 3), since 2026-01-02 02:04:05
  t8 (timer 3), since 2026-01-02 02:04:05
  t9 (timer 3), since 2026-01-02 02:04:05
  … and 2 more

    to do: check that the schedule of functions/timer is enabled and that its log has no errors or throttling; what is overdue fires once it runs

hanging: 6 runs, waiting for something that does not come

  f0: signal-received has been in its inbox for 10m00s
  f1: activity charge (seq 3): attempt 2 has been due for 10m00s, and has no answer
  f2: activity charge (seq 3): attempt 2 began, and has been past its timeout for 10m00s: its function died
  f3: step note (seq 3) has been due for 10m00s, and no invocation runs it
  f4: timer (seq 3) has been due for 10m00s
  f5: child f5.1.3 (seq 3) has not started, or its end was not told, for 10m00s

    to do: messages in flight come again once their time is over, and a backlog takes its time; if neither explains it, `+"`"+`reprise rebuild`+"`"+` sends again, from the logs, what is missing, and does no harm

unregistered: 1 run, waiting for an activity that no program has

  f6: chrage (seq 3): attempt 1 failed; it has failed for 10m00s
      activity "chrage" is not registered here

    to do: register the activity (program.Main; functions/task), and deploy: it is tried again by itself

failing: 1 run, waiting for an activity that keeps failing

  f7: charge (seq 3): attempt 1 failed; it has failed for 10m00s
      the bank is busy

    to do: remove the cause: the activity is tried again by itself; or end the run with `+"`"+`reprise cancel RUN`+"`"+`

unreadable: 1 run, of which something stored cannot be read

  f8: record 3 is damaged

    to do: deploy the newer version if one wrote it; if it is damaged, restore it from a backup

unread: 31 runs, with a signal that the code does not take

  f9: signal aprove, for 10m00s
  g0: signal aprove, for 10m00s
  g1: signal aprove, for 10m00s
  g2: signal aprove, for 10m00s
  g3: signal aprove, for 10m00s
  g4: signal aprove, for 10m00s
  g5: signal aprove, for 10m00s
  g6: signal aprove, for 10m00s
  g7: signal aprove, for 10m00s
  g8: signal aprove, for 10m00s
  g9: signal aprove, for 10m00s
  g10: signal aprove, for 10m00s
  g11: signal aprove, for 10m00s
  g12: signal aprove, for 10m00s
  g13: signal aprove, for 10m00s
  g14: signal aprove, for 10m00s
  g15: signal aprove, for 10m00s
  g16: signal aprove, for 10m00s
  g17: signal aprove, for 10m00s
  g18: signal aprove, for 10m00s
  … and 11 more: --output json has them all

    to do: compare the signal's name with the names that the workflow's code takes; a run whose code takes it later needs nothing

dead: 3 messages that nobody could read, in the dead letter queue

    to do: look at them in the console of SQS, or with `+"`"+`aws sqs receive-message`+"`"+` (the log of functions/deadletter says what is wrong with each); if a newer version wrote them, deploy it and move them back to their queue (redrive); if they are not the program's, delete them; if they are damaged, delete them and `+"`"+`reprise rebuild`+"`"+` brings back what was lost with them

not stored: reprise.db: the disk is full

could not be looked at: the queues: access denied

runs: 10050 read that are not finished; there are more, and --runs says how many are read
queues: 1 message to be handled, 2 in flight, 4 for later
`, text.String())
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
	run := looked{Summary: &wire.Summary{Run: "r", Generation: 1, Workflow: "order",
		Status: history.Running, Started: begun,
		Blocked: &wire.Block{Since: begun.Add(5 * time.Second), Reason: port.ReasonNondeterminism,
			Message: "nondeterminism\n  recorded: x"}},
		Activities: []*wire.ActivityState{{Seq: 1, Attempt: 3, Next: begun.Add(14 * time.Second),
			Failure: "the bank is busy",
			Details: history.Payload("7"),
			Beat:    begun.Add(9 * time.Second)},
			{Seq: 2, Attempt: 1, Pending: true}}}
	shown := newTimeline(begun.Add(10*time.Second), run, 1)
	for _, rec := range export.Records {
		shown.add(rec)
	}
	shown.pending()
	text := &strings.Builder{}
	shown.write(text, export)
	require.Equal(t, `run r of workflow order, started 2026-01-02 03:04:05

   1  +0ms   started                      {"item":"book"}
   1  +0ms   activity charge              under way for 10s, attempt 3 begins in 4.0s
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
