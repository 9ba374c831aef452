package local

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A backlog that is worked off and never ends must not hold what was worked off.
func TestALastingBacklogHoldsNoMoreThanItself(t *testing.T) {
	const backlog = 100
	var l lane[int]
	for i := range backlog {
		l.push(received[int]{message: i})
	}
	for i := range 100_000 {
		l.push(received[int]{message: backlog + i})
		require.Equal(t, i, l.pop().message)
	}
	require.Less(t, cap(l.ready), 10*backlog)
}
