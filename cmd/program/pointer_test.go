package program

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlaceOf(t *testing.T) {
	const text = "{\n  \"ü\": {\"a/b\": [1,\n    {\"c~d\" : true}]},\n  \"e\": null\n}"
	for pointer, want := range map[string][2]int{
		"":                 {0, 0},
		"/ü":               {2, 8},
		"/ü/a~1b":          {2, 16},
		"/ü/a~1b/0":        {2, 17},
		"/ü/a~1b/1":        {3, 5},
		"/ü/a~1b/1/c~0d":   {3, 14},
		"/ü/a~1b/1/c~0d/x": {3, 14}, // leads to nothing: the value around it
		"/ü/a~1b/1/none":   {3, 5},
		"/ü/a~1b/7":        {2, 16},
		"/e":               {4, 8},
		"/none":            {1, 1},
	} {
		line, column := placeOf(text, pointer)
		require.Equal(t, want, [2]int{line, column}, pointer)
	}
	line, _ := placeOf("{", "/a")
	require.Zero(t, line, "a text that is not JSON has no places")
}
