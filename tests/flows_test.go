package tests

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/flow"
)

var numbered = regexp.MustCompile(`^(S4\.\d+ ?)+: `)

// TestFlows: every kind of node has tests of every outcome, and each of them exists.
func TestFlows(t *testing.T) {
	text, err := os.ReadFile("flows.md")
	require.NoError(t, err)
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); len(cells) == 7 {
			rows[strings.TrimSpace(cells[0])] = cells[1:]
		}
	}
	for _, kind := range flow.Kinds {
		require.Contains(t, rows, string(kind))
		for _, cell := range rows[string(kind)] {
			cell = strings.TrimSpace(cell)
			require.Regexp(t, numbered, cell, "a cell of %s names no behavior", kind)
			tests := reference.FindAllStringSubmatch(cell, -1)
			require.NotEmpty(t, tests, "a cell of %s names no test", kind)
			for _, test := range tests {
				require.NoError(t, exists("..", "", test[1]), "%s", kind)
			}
		}
	}
}
