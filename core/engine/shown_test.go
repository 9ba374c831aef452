package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/port"
)

func (w *world) activities() []*port.TaskState {
	w.t.Helper()
	states, err := ask(w, func(ctx context.Context, e *engine.Engine) ([]*port.TaskState, error) {
		return e.ActivitiesOf(ctx, "r")
	})
	require.NoError(w.t, err)
	return states
}

// TestFailedAttemptsShow: attempts and last failure of a step show as those of an activity do, while it waits and in the log.
func TestFailedAttemptsShow(t *testing.T) {
	for what, inline := range map[string]bool{"activity": false, "step": true} {
		options := activity.Options{Inline: inline, Retry: activity.Retry{MaxAttempts: 3}}
		t.Run(what, func(t *testing.T) {
			inBoth(t, working(options, func(_ *world, ctx context.Context, _ int) (string, error) {
				if activity.InfoOf(ctx).Attempt < 3 {
					return "", activity.RetryAfter(errors.New("the bank is closed"), 10*time.Second)
				}
				return "", errors.New("the bank is gone")
			}), func(w *world) {
				log := w.logged()
				begun := time.Now().UTC()
				w.start("r", "main", "1")
				w.pass(15 * time.Second)
				states := w.activities()
				require.Len(w.t, states, 1)
				state := states[0]
				require.Equal(w.t, "work", state.Activity)
				require.Equal(w.t, inline, state.Step)
				require.Equal(w.t, 3, state.Attempt)
				require.Equal(w.t, "the bank is closed", state.Failure)
				require.WithinDuration(w.t, begun.Add(20*time.Second), state.Next, time.Second)
				require.Contains(w.t, log.String(), `level=WARN msg="an attempt failed" run=r generation=1 seq=0 `+what+`=work attempt=2 error="the bank is closed" next="in 10s"`)
				require.Equal(w.t, "the bank is gone", w.fails().Message)
				require.Contains(w.t, log.String(), what+`=work attempt=3 error="the bank is gone" next=none`)
			})
		})
	}
}
