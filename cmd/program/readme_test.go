package program_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands of README.md publish a flow and run it, exactly as written there.
func TestTheFlowOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	flow, err := os.ReadFile("../../workflows/review.json")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(readme), "## Publish a flow\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	require.Contains(t, section, "```json\n"+string(flow)+"```", "the flow is as in its file")

	s := serve(t, t.TempDir())
	var got outcome
	commands := 0
	for line := range strings.Lines(section) {
		typed, is := strings.CutPrefix(strings.TrimSpace(line), "bin/reprise ")
		if !is {
			continue
		}
		commands++
		typed = strings.Replace(typed, "workflows/", "../../workflows/", 1)
		got = s.ask(t.Context(), "", words(typed)...)
		require.Zero(t, got.code, "%s: %s", typed, got.err)
	}
	require.Equal(t, 6, commands)
	require.JSONEq(t, `{"approved":true}`, got.out)
}
