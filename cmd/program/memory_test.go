package program

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]int64{"512MiB": 512 << 20, "2GiB": 2 << 30, "131072KiB": 128 << 20, "67108864": 64 << 20, "67108864B": 64 << 20} {
		bytes, err := parseMemory(text)
		require.NoError(t, err, text)
		require.Equal(t, want, bytes, text)
	}
	usual, err := parseMemory("")
	require.NoError(t, err)
	require.GreaterOrEqual(t, usual, int64(leastMemory))
	for text, says := range map[string]string{"1MiB": "needs 64MiB at least", "512": "needs 64MiB at least", "half": "as in 512MiB", "512MB": "as in 512MiB",
		"-1GiB": "as in 512MiB", "9999999999999TiB": "as in 512MiB", "MiB": "as in 512MiB"} {
		_, err := parseMemory(text)
		require.ErrorContains(t, err, "--memory "+text)
		require.ErrorContains(t, err, says)
	}
}
