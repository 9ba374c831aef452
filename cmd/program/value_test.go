package program_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALongValue: get shows how a long value begins, and how to read it.
func TestALongValue(t *testing.T) {
	s := serve(t, t.TempDir())
	input := `"` + strings.Repeat("x", 100_000) + `"`
	require.Zero(t, s.ask(t.Context(), "", "start", "greet", "--run", "g", "--input", input, "--wait").code)
	got := s.ask(t.Context(), "", "get", "g").out
	require.Less(t, len(got), 2000)
	require.Contains(t, got, `"xxxxxxxxxx`)
	require.Contains(t, got, "(100002 bytes; `reprise get g --value input` writes all of it)")
	require.Less(t, len(s.ask(t.Context(), "", "list").out), 2000)
	require.Equal(t, input+"\n", s.ask(t.Context(), "", "get", "g", "--value", "input").out)
	require.Equal(t, "null\n", s.ask(t.Context(), "", "get", "g", "--value", "state").out)
	wrong := s.ask(t.Context(), "", "get", "g", "--value", "output")
	require.NotZero(t, wrong.code)
	require.Contains(t, wrong.err, "input, result, state, failure")
}
