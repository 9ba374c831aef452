package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/workflow"
)

// lines collects what engines log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// logged has every process of the world log into one text.
func (w *world) logged() *lines {
	l := &lines{}
	w.adjust = func(_ string, c *engine.Config) { c.Logger = slog.New(slog.NewTextHandler(l, nil)) }
	return l
}

// TestFailedAttemptsAreLogged as they fail, of steps and activities alike.
func TestFailedAttemptsAreLogged(t *testing.T) {
	for what, inline := range map[string]bool{"activity": false, "step": true} {
		options := activity.Options{Inline: inline, Retry: activity.Retry{MaxAttempts: 2}}
		t.Run(what, func(t *testing.T) {
			inBoth(t, working(options, func(_ *world, ctx context.Context, _ int) (string, error) {
				if activity.InfoOf(ctx).Attempt == 1 {
					return "", activity.RetryAfter(errors.New("the bank is closed"), 10*time.Second)
				}
				return "", errors.New("the bank is gone")
			}), func(w *world) {
				log := w.logged()
				w.start("r", "main", "1")
				require.Equal(w.t, "the bank is gone", w.fails().Message)
				require.Contains(w.t, log.String(), `level=WARN msg="an attempt failed" run=r generation=1 seq=0 `+
					what+`=work attempt=1 error="the bank is closed" next="in 10s"`)
				require.Contains(w.t, log.String(), what+`=work attempt=2 error="the bank is gone" next=none`)
			})
		})
	}
}

// TestErrorsOfHandlersAreLogged at level ERROR: no caller waits for the answer of a signal.
func TestErrorsOfHandlersAreLogged(t *testing.T) {
	inBoth(t, only("main", func(_ *world, ctx workflow.Context, _ int) (string, error) {
		workflow.HandleSignal(ctx, goSignal, func(_ workflow.Context, text string) error {
			return errors.New("no handler for " + text)
		})
		return "done", workflow.Sleep(ctx, time.Minute)
	}), func(w *world) {
		log := w.logged()
		w.start("r", "main", "1")
		w.signal("r", "m", "go", `"a"`)
		w.ends(`"done"`)
		require.Contains(w.t, log.String(),
			`level=ERROR msg="the handler of signal go failed" run=r unit=h0 error="no handler for a"`)
	})
}
