package machine_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
)

// call schedules an activity, and gives what the code would see of it.
func call(m *machine.Machine, name, input string) (*machine.Operation, error) {
	op := &machine.Operation{}
	return op, m.Schedule(&history.ScheduleActivity{Activity: name, Input: history.Payload(input)}, op)
}

// TestMatch holds code against logs: each line is what is recorded, what is attempted, and the mismatch.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		recorded, attempted string // activities by name, marks as !id, attributes as @name
		want                machine.Mismatch
		position            int
	}{
		{"", "", "", 0}, {"A B", "A B", "", 0},
		{"A B", "A", machine.Missing, 2}, {"A", "", machine.Missing, 1},
		{"A", "A B", machine.Extra, 2}, {"", "A", machine.Extra, 1},
		{"A B", "B A", machine.Reordered, 1}, {"A B C", "A C B", machine.Reordered, 2}, {"@x @y", "@y @x", machine.Reordered, 1},
		{"A B", "A X", machine.Changed, 2}, {"@x", "@y", machine.Changed, 1},
		{"A", "@x A", machine.Extra, 1},
		// One call removed among others of its kind looks like one that moved; the advice names both.
		{"A B C", "A C", machine.Reordered, 2},
		// Marks: one that is deprecated may be gone from the code, at any place; one that is not may not.
		{"~p A", "A", "", 0}, {"A ~p", "A", "", 0}, {"A ~p B", "A B", "", 0}, {"~p ~q A", "A", "", 0}, {"~p A", "~p A", "", 0}, {"~p A", "!p A", "", 0},
		{"!p A", "~p A", "", 0}, {"!p A", "A", machine.Missing, 1}, {"A !p", "A", machine.Missing, 2},
	} {
		t.Run(c.recorded+" then "+c.attempted, func(t *testing.T) {
			var first, again machine.Machine
			first.Begin(1)
			require.NoError(t, emit(&first, c.recorded))
			commands, err := first.Finish()
			require.NoError(t, err)
			again.Replay(1, commands)
			require.True(t, again.Replaying())
			err = emit(&again, c.attempted)
			if err == nil {
				_, err = again.Finish()
			}
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			var found *machine.Nondeterminism
			require.ErrorAs(t, err, &found)
			require.Equal(t, c.want, found.Mismatch)
			require.Equal(t, c.position, found.Position)
		})
	}
}

func emit(m *machine.Machine, commands string) (err error) {
	for _, command := range strings.Fields(commands) {
		if err != nil {
			return err
		}
		switch command[0] {
		case '!':
			err = m.Emit(&history.MarkPatch{ID: command[1:]})
		case '~':
			err = m.Emit(&history.MarkPatch{ID: command[1:], Deprecated: true})
		case '@':
			err = m.Emit(&history.UpsertAttributes{Attributes: history.Attributes{command[1:]: history.Payload(`1`)}})
		default:
			_, err = call(m, command, `1`)
		}
	}
	return err
}

// TestReport: what a tired person reads.
func TestReport(t *testing.T) {
	var first, again machine.Machine
	first.Begin(7)
	command := &history.ScheduleActivity{Activity: "charge", ID: "payment", Input: history.Payload(`{"amount":` + strings.Repeat("1", 300) + `}`),
		Options: history.ActivityOptions{Retry: history.RetryPolicy{MaxAttempts: 3}}}
	command.Emitter("p1.p0")
	require.NoError(t, first.Schedule(command, &machine.Operation{}))
	commands, err := first.Finish()
	require.NoError(t, err)
	again.Replay(7, commands)
	changed := &history.ScheduleActivity{Activity: "charge", Input: history.Payload(`{}`), Inline: true}
	changed.Emitter("p1")
	err = again.Schedule(changed, &machine.Operation{})
	require.Error(t, err)
	golden, readErr := os.ReadFile("testdata/report.txt")
	require.NoError(t, readErr)
	require.Equal(t, string(golden), err.Error()+"\n")
}

// TestMatchForgives what storing, or a tool, changes in a text.
func TestMatchForgives(t *testing.T) {
	var m machine.Machine
	recorded := &history.ScheduleActivity{Activity: "a\ufffd", Input: history.Payload("{ \"a\": 1,\n \"b\": [ ] }"), ID: "x"}
	m.Replay(1, []history.Command{recorded, &history.FailRun{Failure: &history.Failure{FailureKind: history.Panic, Message: "m", Stack: "here"}}})
	require.NoError(t, m.Schedule(&history.ScheduleActivity{Activity: "a\xff", Input: history.Payload(`{"a":1,"b":[]}`), ID: "x"}, &machine.Operation{}))
	require.NoError(t, m.Emit(&history.FailRun{Failure: &history.Failure{FailureKind: history.Panic, Message: "m", Stack: "elsewhere"}}))
	_, err := m.Finish()
	require.NoError(t, err)
}

// waiter counts how often it was woken.
type waiter struct{ woken int }

func (w *waiter) Wake() { w.woken++ }

// TestResolve is the table of which event answers which command: every other pair is an error, and changes nothing.
func TestResolve(t *testing.T) {
	commands := map[string]func() history.Sequenced{
		"activity": func() history.Sequenced { return &history.ScheduleActivity{Activity: "A"} },
		"timer":    func() history.Sequenced { return &history.StartTimer{} },
		"child":    func() history.Sequenced { return &history.StartChild{Workflow: "W"} },
	}
	events := map[string]history.Resolution{
		"activity": &history.ActivityResolved{Result: history.Payload(`1`)}, "timer": &history.TimerFired{}, "child": &history.ChildResolved{Failure: &history.Failure{Message: "no"}}}
	for command, make := range commands {
		for event, resolution := range events {
			var m machine.Machine
			m.Begin(1)
			op, other, w := &machine.Operation{}, &machine.Operation{}, &waiter{}
			require.NoError(t, m.Schedule(make(), op))
			require.NoError(t, m.Schedule(make(), other))
			op.Wait(w)
			err := m.Resolve(resolution)
			require.Equal(t, command == event, err == nil, "%s by %s", command, event)
			require.Equal(t, command == event, op.Settled())
			require.Equal(t, err == nil, w.woken == 1)
			require.False(t, other.Settled(), "another one's answer")
			require.Equal(t, command == event, m.Operation(0) == nil)
			if err == nil {
				require.ErrorContains(t, m.Resolve(resolution), "which is not pending")
			}
		}
	}
}

func TestPromise(t *testing.T) {
	var p machine.Promise
	one, two, gone := &waiter{}, &waiter{}, &waiter{}
	order := ""
	p.Notify(func(*machine.Promise) { order += "notified before " })
	for _, w := range []*waiter{one, one, two, gone} {
		p.Wait(w)
	}
	p.Leave(gone)
	p.Leave(&waiter{})
	p.Keep(history.Payload(`1`))
	p.Break(errors.New("too late"))
	payload, _, err := p.Outcome()
	require.NoError(t, err)
	require.Equal(t, `1`, string(payload))
	require.Equal(t, []int{1, 1, 0}, []int{one.woken, two.woken, gone.woken})
	require.Equal(t, "notified before ", order)
	p.Wait(gone)
	require.Equal(t, 1, gone.woken, "who waits for what has settled is woken at once")
}

// TestCancel is what a cancelled operation asks for.
func TestCancel(t *testing.T) {
	cause := errors.New("enough")
	for _, c := range []struct {
		command history.Sequenced
		emits   string
		over    bool
	}{
		{&history.StartTimer{}, "cancel-timer", true}, {&history.StartChild{}, "cancel-child", false},
		{&history.ScheduleActivity{}, "cancel-activity", false},
		{&history.ScheduleActivity{Options: history.ActivityOptions{Cancellation: history.TryCancel}}, "cancel-activity", true},
		{&history.ScheduleActivity{Options: history.ActivityOptions{Cancellation: history.Abandon}}, "", true},
	} {
		var m machine.Machine
		m.Begin(1)
		op := &machine.Operation{}
		require.NoError(t, m.Schedule(c.command, op))
		require.NoError(t, m.Cancel(op, cause))
		require.NoError(t, m.Cancel(op, errors.New("again")))
		commands, err := m.Finish()
		require.NoError(t, err)
		if c.emits == "" {
			require.Len(t, commands, 1)
		} else {
			require.Len(t, commands, 2)
			require.Equal(t, c.emits, commands[1].Kind())
			require.Equal(t, int64(0), commands[1].(history.Sequenced).Seq())
		}
		_, pending := m.Pending(0)
		require.Equal(t, !c.over, pending)
		_, _, err = op.Outcome()
		require.Equal(t, c.over, errors.Is(err, cause))
		require.NoError(t, m.Schedule(&history.StartTimer{}, &machine.Operation{}))
		_, fresh := m.Pending(1)
		require.True(t, fresh, "a number was given twice")
	}
}

// TestCommandsStay: what an activation decided is its caller's, also when a replay comes after it.
func TestCommandsStay(t *testing.T) {
	var m machine.Machine
	m.Begin(1)
	require.NoError(t, emit(&m, "@a @b"))
	commands, err := m.Finish()
	require.NoError(t, err)
	m.Replay(2, []history.Command{&history.UpsertAttributes{Attributes: history.Attributes{"c": history.Payload(`1`)}}})
	require.NoError(t, emit(&m, "@c"))
	_, err = m.Finish()
	require.NoError(t, err)
	require.Equal(t, "a", commands[0].Fields()[0].Name)
}
