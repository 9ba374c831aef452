package local

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALargeHeapDoesNotGrowFourfold(t *testing.T) {
	for live, percent := range map[uint64]int{0: 300, 10 << 20: 300, 64 << 20: 200, 128 << 20: 100, 4 << 30: 100} {
		require.Equal(t, percent, growthOf(live), "%d MB live", live>>20)
	}
}
