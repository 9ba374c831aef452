package program_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

// TestSecretsAreNotShown: what people look through hides what looks like a secret; what was asked for, and what programs read, has it.
func TestSecretsAreNotShown(t *testing.T) {
	t.Setenv("REPRISE_REDACT", "iban")
	s := serve(t, t.TempDir())
	const input = `{"item":"book","password":"the-secret","iban":"the-secret"}`
	require.Zero(t, s.ask(t.Context(), "", "start", "nosuch", "--run", "n", "--input", input, "--attribute", "token=the-secret").code)
	for _, verb := range [][]string{{"get", "n"}, {"history", "n"}, {"list"}, {"doctor"}} {
		got := s.ask(t.Context(), "", verb...)
		require.NotContains(t, got.out+got.err, "the-secret", "%v", verb)
	}
	got := s.ask(t.Context(), "", "get", "n")
	require.Contains(t, got.out, `{"item":"book","password":"[redacted]","iban":"[redacted]"}`)
	require.Equal(t, "what looks like a secret is not shown; --reveal shows it\n", got.err)
	require.Contains(t, s.ask(t.Context(), "", "get", "n", "--reveal").out, "the-secret")
	require.Contains(t, s.ask(t.Context(), "", "get", "n", "--output", "json").out, "the-secret")
	require.Zero(t, s.ask(t.Context(), "", "start", "shop", "--run", "s", "--input", `"token=the-secret"`, "--wait").code)
	require.Contains(t, s.ask(t.Context(), "", "history", "s", "--json").out, "the-secret")
	redacted := s.ask(t.Context(), "", "history", "s", "--json", "--redact").out
	require.NotContains(t, redacted, "the-secret")
	_, err := history.DecodeExport([]byte(redacted))
	require.NoError(t, err)
}
