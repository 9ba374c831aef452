package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/internal/machine"
	"github.com/reprise-run/reprise/core/internal/scheduler"
)

// TestRequirements asserts the eleven test requirements of seed 001, in its words (S1.41).
func TestRequirements(t *testing.T) {
	begin := func(t *testing.T, workflow string) *transcript {
		t.Helper()
		tr := &transcript{t: t, workflow: workflow, now: epoch,
			id: scheduler.Identity{Run: "run", Generation: 1, Workflow: workflow}}
		t.Cleanup(tr.close)
		return tr
	}
	// happen gives events to the run, and what it decided.
	happen := func(tr *transcript, events ...string) string {
		tr.t.Helper()
		shown, err := tr.activate(tr.events(strings.Join(events, "\n")))
		require.NoError(tr.t, err)
		return shown
	}
	const aAndB = "p0 schedule-activity seq=0 activity=A input=1\np1 schedule-activity seq=1 activity=B input=1\n"

	t.Run("parallel schedules first-step activity commands in branch order", func(t *testing.T) {
		require.Equal(t, aAndB, happen(begin(t, "branches"), "started"))
	})
	t.Run("If only branch A resolves, branch A may continue without waiting for branch B", func(t *testing.T) {
		tr := begin(t, "branches")
		happen(tr, "started")
		require.Equal(t, "p0 schedule-activity seq=2 activity=C input=2\n", happen(tr, "resolved seq=0 result=1"))
	})
	t.Run("If branches A and B resolve in the same activation, their next commands are emitted in stable order", func(t *testing.T) {
		for _, order := range [][]string{{"resolved seq=0 result=1", "resolved seq=1 result=1"}, {"resolved seq=1 result=1", "resolved seq=0 result=1"}} {
			tr := begin(t, "branches")
			happen(tr, "started")
			require.Equal(t, "p0 schedule-activity seq=2 activity=C input=2\np1 schedule-activity seq=3 activity=D input=2\n", happen(tr, order...))
		}
	})
	t.Run("Newly runnable units are deferred to the next round", func(t *testing.T) {
		shown := happen(begin(t, "rounds"), "started")
		require.Equal(t, []string{"log root: root before its first pause", "log root: root in the round of the branches' first steps", "log p0: first step=1"},
			lines(shown)[:3])
	})
	t.Run("Non-pausing APIs do not end the current scheduler step", func(t *testing.T) {
		shown := happen(begin(t, "nonpausing"), "started")
		require.Less(t, strings.Index(shown, "log root: still the root's turn"), strings.Index(shown, "log p0: the branch's turn"))
	})
	t.Run("Command-emitting non-pausing APIs append commands without yielding the turn", func(t *testing.T) {
		shown := happen(begin(t, "nonpausing"), "started")
		require.Contains(t, shown, "root upsert-attributes score=3 tier=\"gold\"\nroot mark-patch id=p\nroot schedule-activity")
	})
	t.Run("Replay fails on missing, extra, reordered, or changed commands", func(t *testing.T) {
		tr := begin(t, "original")
		happen(tr, "started")
		happen(tr, "fired seq=0")
		for workflow, mismatch := range map[string]machine.Mismatch{
			"missing": machine.Missing, "extra": machine.Extra, "reordered": machine.Reordered, "changed-input": machine.Changed} {
			run := tr.fresh(workflow)
			var found *machine.Nondeterminism
			require.ErrorAs(t, run.Replay(feed(tr.records()...)), &found)
			require.Equal(t, mismatch, found.Mismatch)
			require.Equal(t, 2, found.Record)
			run.Close()
		}
	})
	t.Run("Resolution jobs wake only the pending caller for the matched sequence number", func(t *testing.T) {
		tr := begin(t, "waiters")
		happen(tr, "started")
		require.Equal(t, "log p1: timer was woken\n", happen(tr, "fired seq=1"))
	})
	t.Run("Query-only activations do not advance workflow units", func(t *testing.T) {
		tr := begin(t, "queries")
		happen(tr, "started")
		before := status(tr.live)
		answer, err := tr.live.Ask("total", history.Payload("2"))
		require.NoError(t, err)
		require.Equal(t, "42", string(answer))
		require.Equal(t, before, status(tr.live))
	})
	t.Run("Eviction-only activations do not run workflow code", func(t *testing.T) {
		tr := begin(t, "evicted")
		happen(tr, "started")
		tr.close()
		require.Len(t, tr.deferred, 3, "deferred functions run, up to their first call of the surface")
		require.Len(t, tr.log, 1)
	})
	t.Run("Out-of-turn runner calls are detected as scheduler violations", func(t *testing.T) {
		for _, how := range []string{"parent", "recovered", "goroutine"} {
			tr := begin(t, "violations")
			_, err := tr.activate(tr.events(`started input="` + how + `"`))
			var violation *scheduler.Violation
			require.ErrorAs(t, err, &violation)
			require.Empty(t, tr.log)
		}
	})
}

// TestStuck: a unit that blocks outside the surface is found from another goroutine, with its name and where it is.
func TestStuck(t *testing.T) {
	for where, expected := range map[string]string{"root": "root", "branch": "p0", "condition": "root"} {
		t.Run(where, func(t *testing.T) {
			tr := &transcript{t: t, workflow: "blocks", now: epoch, blocked: make(chan struct{}), release: make(chan struct{})}
			ended := make(chan error)
			run := tr.fresh("blocks")
			go func() {
				_, err := run.Activate(scheduler.Activation{Record: 1, Time: epoch,
					Events: tr.events(`started input="` + where + `"`)})
				ended <- err
			}()
			<-tr.blocked
			stuck := run.Stuck()
			require.Equal(t, expected, unit(stuck.Unit))
			require.Contains(t, stuck.Stack, "scheduler_test.(*transcript).block(")
			require.Contains(t, stuck.Error(), "unit "+expected+" blocks outside the workflow surface")
			close(tr.release)
			require.NoError(t, <-ended)
			require.Equal(t, "(between two turns)", run.Stuck().Stack)
			run.Found()
			run.Close()
		})
	}
}

func (tr *transcript) block() {
	tr.blocked <- struct{}{}
	<-tr.release
}

// TestPaths: units of one parent take their turns by kind, then number; a parent before what is in it.
func TestPaths(t *testing.T) {
	inOrder := [][]string{{}, {"p0"}, {"p0", "p0"}, {"p0", "p1"}, {"p1"}, {"p2"}, {"p10"}, {"p10", "p0"}, {"h0"}, {"h0", "p0"}, {"h0", "a0"},
		{"h0", "a0", "p0"}, {"h0", "a1"}, {"h1"}, {"h10"}}
	for i, a := range inOrder {
		p := scheduler.PathOf(a...)
		require.Equal(t, strings.Join(a, "."), p.String())
		for j, b := range inOrder {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			require.Equal(t, want, p.Compare(scheduler.PathOf(b...)), "%v and %v", a, b)
		}
	}
}

// TestClosedTwice: closing a run that has been closed, has failed, or has never begun does nothing.
func TestClosedTwice(t *testing.T) {
	tr := &transcript{t: t, workflow: "branches", now: epoch}
	tr.fresh("branches").Close()
	run := tr.fresh("branches")
	_, err := run.Activate(scheduler.Activation{Record: 1, Time: time.Time{},
		Events: tr.events("resolved seq=1")})
	require.Error(t, err)
	run.Close()
	run.Close()
}
