// Package system gives the engine the machine's clock and randomness, and tells which authors of
// records may be alive.
package system

import (
	"context"
	"crypto/rand"
	"strings"
	"time"
)

// Clock is the machine's clock.
type Clock struct{}

// Now is the wall clock's time, in UTC.
func (Clock) Now() time.Time { return time.Now().UTC() }

// AfterFunc calls f in a goroutine of its own after a while.
func (Clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

// Pause waits. It says false if the context ended before.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// NewID gives 130 random bits as 26 characters of [a-z2-7].
func NewID() string { return strings.ToLower(rand.Text()) }
