package system_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/system"
)

var (
	_ port.Authors = system.Invocations{}
	_ port.Authors = (*system.Process)(nil)
)

// TestAnInvocationLivesPastItsDeadline: clocks differ, and its last request may still be on its
// way.
func TestAnInvocationLivesPastItsDeadline(t *testing.T) {
	deadline := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	authors := system.Invocations{NewID: func() string { return "a" }}
	author, until := authors.Begin(deadline)
	require.Equal(t, "a", author)
	authors.End(author)
	for after, dead := range map[time.Duration]bool{-time.Minute: false, 0: false, 5*time.Second - 1: false, 5 * time.Second: true, time.Hour: true} {
		require.Equal(t, dead, authors.Dead(author, until, deadline.Add(after)), "%s after its deadline", after)
	}
}

// TestAnAuthorEndsWithItsProcess: or by itself, or at a deadline that its record has from another
// kind of process.
func TestAnAuthorEndsWithItsProcess(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	mine, other := system.NewProcess("p1"), system.NewProcess("p10")
	first, until := mine.Begin(now)
	second, _ := mine.Begin(now)
	require.NotEqual(t, first, second)
	require.True(t, strings.HasPrefix(first, "p1."))
	require.Zero(t, until, "no deadline: it lives as long as the process")
	require.False(t, mine.Dead(first, until, now.AddDate(1, 0, 0)))
	require.True(t, mine.Dead(first, now, now), "its record names a deadline")
	require.True(t, other.Dead(first, until, now), "another process holds the store now")
	mine.End(first)
	require.True(t, mine.Dead(first, until, now))
	require.False(t, mine.Dead(second, until, now))
}
