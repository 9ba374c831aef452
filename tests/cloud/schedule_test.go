//go:build dynamodb

package cloud

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
)

// hanging is a way to AWS on which requests that contain a text get no answer.
type hanging struct{ text string }

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if h.text != "" && strings.Contains(string(text), h.text) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return http.DefaultTransport.RoundTrip(r)
}

// TestChoresHaveTimeOfTheirOwn: where one of functions/timer's chores hangs until its time is over, the
// others do all of their work.
func TestChoresHaveTimeOfTheirOwn(t *testing.T) {
	const timers, unblocking, retention = `"due#`, `"IndexName":"blocked"`, `"IndexName":"listing"`
	for name, hangs := range map[string]string{"timers": timers, "unblocking": unblocking, "retention": retention} {
		t.Run(name, func(t *testing.T) {
			h := &hanging{}
			c := open(t, h, mixed, waits, double)
			c.Metrics, c.Retention = io.Discard, -time.Hour // what has just ended is old enough
			c.start(t, "old", "mixed", 1)
			c.gives(t, "old", "2")
			require.NoError(t, c.Quiet(t.Context()))
			at := time.Now().Add(10 * time.Minute)
			require.NoError(t, c.Store.PutDue(t.Context(), engine.DueTimer{At: at, Run: "none", Generation: 1}))
			c.start(t, "blocked", "waits", 0)
			block := &engine.Block{ID: "b", Since: time.Now(), Reason: engine.ReasonStuck, Version: "0"}
			require.NoError(t, c.Store.Block(t.Context(), "blocked", block))
			h.text = hangs
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			require.Error(t, c.HandleSchedule(ctx))

			due, err := c.unmetered.DueBefore(t.Context(), at.Add(time.Minute))
			require.NoError(t, err)
			require.Equal(t, hangs == timers, len(due) == 1)
			if hangs != unblocking {
				require.Eventually(t, func() bool {
					summary, err := c.unmetered.Summary(t.Context(), "blocked")
					return err == nil && summary.Blocked == nil
				}, 10*time.Second, 20*time.Millisecond)
			}
			_, err = c.unmetered.Summary(t.Context(), "old")
			require.Equal(t, hangs == retention, err == nil)
		})
	}
}
