package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/workflow"
)

// longLog begins what only a rebuild brings back: a timer that is in the queue alone, and an
// activity. Then it makes a record for each of many steps, and waits.
func longLog(_ *world, ctx workflow.Context, steps int) (int, error) {
	timer := workflow.Timer(ctx, 10*time.Minute)
	call := workflow.Start(ctx, callDouble, steps)
	for range steps {
		if _, err := workflow.Step(ctx, "count", func(context.Context) (int, error) {
			return 1, nil
		}); err != nil {
			return 0, err
		}
	}
	if _, err := workflow.AwaitSignal(ctx, goSignal); err != nil {
		return 0, err
	}
	if _, err := timer.Await(ctx); err != nil {
		return 0, err
	}
	return call.Await(ctx)
}

// restarts ends the process, starts the next one, and gives how many records it has read.
func (w *world) restarts() (read int) {
	w.t.Helper()
	w.locked(func() {
		w.kill(w.processes[len(w.processes)-1])
		w.read = 0
	})
	w.pass(time.Second / 2)
	w.locked(func() { read = w.read })
	return read
}

// TestARestartReadsTheEndOfALog: what a start reads of a run that waits does not grow with its log.
func TestARestartReadsTheEndOfALog(t *testing.T) {
	for _, steps := range []int{10, 500, 5000} {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			simulateAs(t, true, only("main", longLog), func(w *world) {
				w.adjust = func(_ string, c *engine.Config) { c.CheckpointAfter = 0 }
				w.start("r", "main", fmt.Sprint(steps))
				w.pass(time.Second / 2)
				records := len(w.log("r", 1))
				require.GreaterOrEqual(w.t, records, steps)
				require.LessOrEqual(w.t, w.restarts(), min(records, port.NewestRecords))

				require.NoError(w.t,
					w.resetTo("x", engine.ResetPoint{Generation: 1, Record: records}))
				require.LessOrEqual(w.t, w.restarts(), 2*port.NewestRecords,
					"of the generation, and of its base")
				w.sends("m", "go", `"x"`)
				w.ends(fmt.Sprint(2 * steps))
			})
		})
	}
}
