package engine_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// faulty says whether anything has gone wrong so far.
func (w *world) faulty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost || slices.ContainsFunc(w.faults, func(f *fault) bool { return f.hit && f.kind != pause })
}

// finished checks what must hold once all is quiet: every run is closed, and see consistent.
func (w *world) finished() {
	w.t.Helper()
	for _, run := range w.runs() {
		s := w.summary(run)
		require.Nil(w.t, s.Blocked, "run %s is blocked", run)
		require.True(w.t, s.Status.Closed(), "run %s waits for ever: %s, inbox %v, %s", run, s.Status, w.inbox(run), w.show(run))
	}
	w.consistent()
}

// consistent checks what must hold of logs and inboxes whenever the queues are empty.
func (w *world) consistent() {
	w.t.Helper()
	require.Empty(w.t, w.violations)
	faulty := w.faulty()
	w.locked(func() { w.faults = nil })
	for _, run := range w.runs() { // a look too many does no harm, and tidies what nobody had to look at any more
		w.post(&letter{resume: &port.Resume{Run: run}})
	}
	w.settle()
	require.Empty(w.t, w.violations)
	w.nothingHeld()
	for _, run := range w.runs() {
		if w.summary(run).Blocked == nil {
			require.Empty(w.t, w.inbox(run), "inbox of run %s", run)
		}
		w.checkLog(run)
		if w.summary(run).Status.Closed() && !faulty { // a request to stop that is made again may outlive its activity: retention deletes it
			states, err := w.store.TasksOf(context.Background(), run)
			require.NoError(w.t, err)
			require.Empty(w.t, states, "states of activities of run %s", run)
		}
	}
	w.replays()
}

// nothingHeld checks that nothing is left of work that has ended: living processes hold nothing for it, and a long timer is kept only
// while a log waits for it, or has taken it back.
func (w *world) nothingHeld() {
	w.t.Helper()
	for _, p := range w.processes {
		if !p.dead && p.busy == 0 {
			require.Empty(w.t, engine.Held(p.engine), "held by %s, which has nothing to do", p.name)
		}
	}
	timers, err := w.store.DueBefore(context.Background(), time.Now().AddDate(100, 0, 0))
	require.NoError(w.t, err)
	for _, timer := range timers {
		require.True(w.t, w.starts(timer), "%v is kept, and no record asks for it that others follow", timer)
	}
}

// starts says whether a log has a timer that its author had to send: not in the record that ends its generation.
func (w *world) starts(timer port.DueTimer) bool {
	return slices.ContainsFunc(w.log(timer.Run, timer.Generation), func(rec *history.Record) bool {
		return rec.Closes() == nil && slices.ContainsFunc(rec.Commands, func(command history.Command) bool {
			start, ok := command.(*history.StartTimer)
			return ok && start.Seq() == timer.Seq
		})
	})
}

// checkLog checks every generation: no gap, time goes on, nothing happened twice, and what was decided was done.
func (w *world) checkLog(run string) {
	w.t.Helper()
	taken := map[string]bool{}
	for g := 1; g <= w.summary(run).Generation; g++ {
		records := w.log(run, g)
		resolved := map[int64]bool{}
		for i, rec := range records {
			require.Equal(w.t, i+1, rec.Number, "run %s, generation %d", run, g)
			if i > 0 {
				require.False(w.t, rec.Time.Before(records[i-1].Time), "time of record %d of run %s goes back", rec.Number, run)
			}
			require.NotEmpty(w.t, len(rec.Events)+len(rec.Commands)+len(rec.Resumes), "record %d of run %s says nothing", rec.Number, run)
			require.True(w.t, rec.Closes() == nil || i == len(records)-1, "run %s, generation %d: a record after the last", run, g)
			for _, event := range rec.Events {
				if start, ok := event.(*history.Started); ok && start.Origin == g {
					clear(taken) // another run has the id from here on
				}
				key := event.Key(g)
				require.False(w.t, taken[key], "%s is in the log of run %s twice", key, run)
				taken[key] = true
				if resolution, ok := event.(history.Resolution); ok {
					resolved[resolution.Resolves()] = true
				}
			}
		}
		if len(records) > 0 && records[len(records)-1].Closes() == nil && g < w.summary(run).Generation {
			require.Fail(w.t, "a generation without an end", "run %s, generation %d", run, g)
		}
		w.checkDone(run, g, records, resolved)
	}
}

// checkDone: an activity whose answer was taken was executed, unless it was given up.
func (w *world) checkDone(run string, g int, records []*history.Record, resolved map[int64]bool) {
	w.t.Helper()
	for _, rec := range records {
		for _, command := range rec.Commands {
			switch command := command.(type) {
			case *history.ScheduleActivity:
				if key := executionKey(run, g, command.Name()); resolved[command.Seq()] && strings.HasPrefix(command.Activity, "ran-") {
					require.NotZero(w.t, w.ran[key], "%s was answered, and not executed", key)
				}
			case *history.StartChild:
				if resolved[command.Seq()] && command.Run != "" {
					require.Contains(w.t, w.runs(), command.Run)
				}
			}
		}
	}
}

// replays asks every run something in a new process, which has to replay its log for it.
func (w *world) replays() {
	w.t.Helper()
	p := w.newProcess("reader")
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		p.dead = true
	}()
	for _, run := range w.runs() {
		if w.summary(run).Blocked != nil {
			continue
		}
		_, err := p.engine.Query(p.in(), run, "no such query", nil)
		require.Equal(w.t, port.NotFound, port.CodeOf(err), "replay of run %s: %v", run, err)
	}
}

// once checks a world without faults: nothing was sent or executed twice.
func (w *world) once() {
	w.t.Helper()
	for what, times := range w.sent {
		if !strings.HasPrefix(what, "resume ") || strings.Contains(what, "fired#") {
			require.Equal(w.t, 1, times, "times that %q was sent", what)
		}
	}
	for what, times := range w.ran {
		require.Equal(w.t, 1, times, "times that %q was executed", what)
	}
}

// show prints a run's log, for failures.
func (w *world) show(run string) string {
	var lines []string
	for g := 1; g <= w.summary(run).Generation; g++ {
		for _, rec := range w.log(run, g) {
			lines = append(lines, string(history.AppendRecord(nil, rec)))
		}
	}
	return "its log:\n" + strings.Join(lines, "\n")
}

// kinds lists the kinds of events and commands of a generation's log, in order.
func (w *world) kinds(run string, generation int) (kinds []string) {
	for _, rec := range w.log(run, generation) {
		for _, event := range rec.Events {
			kinds = append(kinds, event.Kind())
		}
		for _, command := range rec.Commands {
			kinds = append(kinds, command.Kind())
		}
	}
	return kinds
}

// signals lists the inputs of the signals that a run's logs took, in order.
func (w *world) signals(run string) (inputs []string) {
	for g := 1; g <= w.summary(run).Generation; g++ {
		for _, rec := range w.log(run, g) {
			for _, event := range rec.Events {
				if s, ok := event.(*history.SignalReceived); ok {
					inputs = append(inputs, string(s.Input))
				}
			}
		}
	}
	return inputs
}
