package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
)

func (w *world) diagnose() *engine.Diagnosis {
	w.t.Helper()
	p := w.process("api")
	found, err := p.engine.Diagnose(p.in())
	require.NoError(w.t, err)
	return found
}

func TestDiagnosisOfBlockedRuns(t *testing.T) {
	simulate(t, oneSignal, func(w *world) {
		require.Equal(w.t, &engine.Diagnosis{}, w.diagnose())
		since := time.Now().UTC()
		w.blocked()
		found := w.diagnose()
		require.Len(w.t, found.Blocked, 1)
		require.Empty(w.t, found.Overdue)
		blocked := found.Blocked[0]
		require.Contains(w.t, blocked.Message, "functions/activate")
		require.False(w.t, blocked.Since.Before(since))
		require.Equal(w.t, engine.BlockedRun{Run: "r", Workflow: "main",
			Block: port.Block{ID: blocked.ID, Reason: port.ReasonUndeliverable, Version: "1",
				Message: blocked.Message, Since: blocked.Since}}, blocked)
		w.unblock("r")
		w.ends(`"x"`)
		require.Equal(w.t, &engine.Diagnosis{}, w.diagnose())
	})
}

func TestDiagnosisNamesSomeOfMany(t *testing.T) {
	simulate(t, oneSignal, func(w *world) {
		for i := range 103 {
			w.start(fmt.Sprint("r", i), "main", "1")
			require.NoError(w.t, w.store.Block(w.t.Context(), fmt.Sprint("r", i),
				&port.Block{ID: "mark", Reason: port.ReasonActivation}))
		}
		found := w.diagnose()
		require.Len(w.t, found.Blocked, 100)
		require.True(w.t, found.MoreBlocked)
		require.Equal(w.t, "r102", found.Blocked[0].Run, "the latest first")
		w.take("")
	})
}

func TestDiagnosisOfOverdueTimers(t *testing.T) {
	simulate(t, oneTimer, func(w *world) {
		require.NoError(w.t, w.deliver(w.activator(), w.begun("20")).wait())
		at := time.Now().Add(20 * time.Minute)
		wait := func(until time.Time) {
			w.t.Helper()
			require.NoError(w.t, elapse(w.t.Context(), time.Until(until)))
		}
		require.Empty(w.t, w.diagnose().Overdue, "it is not due")
		wait(at.Add(2 * time.Minute))
		require.Empty(w.t, w.diagnose().Overdue, "it is late, as may be")
		wait(at.Add(2*time.Minute + time.Second)) // functions/timer does not run
		overdue := w.diagnose().Overdue
		require.Len(w.t, overdue, 1)
		require.True(w.t, at.Equal(overdue[0].At))
		require.Equal(w.t, port.DueTimer{At: overdue[0].At, Run: "r", Generation: 1, Seq: 0},
			overdue[0])
		w.fireDue()
		require.Empty(w.t, w.diagnose().Overdue)
		w.ends("20")
	})
}

func TestDiagnosisWithoutAnswer(t *testing.T) {
	for _, op := range []string{"list", "due-before"} {
		simulate(t, oneTimer, func(w *world) {
			w.plan(fault{kind: failBefore, op: op})
			p := w.process("api")
			_, err := p.engine.Diagnose(p.in())
			require.Equal(w.t, port.Unavailable, port.CodeOf(err))
			require.Equal(w.t, &engine.Diagnosis{}, w.diagnose())
		})
	}
}
