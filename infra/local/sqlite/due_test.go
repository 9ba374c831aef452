package sqlite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

func TestManyTimersAreStoredWithOneFlush(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	at := time.Now().Add(time.Hour)
	timers := make([]port.DueTimer, 1000)
	for i := range timers {
		timers[i] = port.DueTimer{At: at, Run: "r", Generation: 1, Seq: int64(i)}
	}
	before := s.Flushes()
	require.NoError(t, s.PutDue(t.Context(), timers...))
	require.Equal(t, before+1, s.Flushes())
	due, err := s.DueBefore(t.Context(), at.Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, due, len(timers))
}
