package aws

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/reprise-run/reprise/infra/system"
)

const (
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// Backoff is a pause after so many attempts (from 1) that failed: anything up to 50 ms, then up to twice as long each time, up
// to 2 s. All of the span is drawn from ("full jitter"), so that those that were throttled together do not come again together.
func Backoff(attempt int) time.Duration {
	most := min(firstPause<<min(max(attempt, 1)-1, 16), longestPause)
	return rand.N(most + 1)
}

// Pause waits for [Backoff]. If the context ends first, it returns the context's error.
func Pause(ctx context.Context, attempt int) error {
	if !system.Pause(ctx, Backoff(attempt)) {
		return ctx.Err()
	}
	return nil
}
