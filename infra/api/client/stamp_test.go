package client

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStampsThatHaveNothingToSayAreDropped(t *testing.T) {
	var s stamps
	for i := range 3 * manyStamps { // all of one moment: there is nothing to drop
		s.accepted(fmt.Sprint("old", i), 1)
	}
	require.Len(t, s.last, 3*manyStamps)
	require.EqualValues(t, 1, s.after("old0"))
	later := int64(staleAfter + time.Second)
	looked := s.many
	require.Greater(t, looked, len(s.last), "it is not looked through for each mail")
	for i := range looked {
		s.accepted(fmt.Sprint("new", i), later)
	}
	require.Len(t, s.last, looked)
	require.Zero(t, s.after("old0"))
	require.Equal(t, later, s.after("new0"))
	require.Equal(t, later, s.after(fmt.Sprint("new", looked-1)))
}
