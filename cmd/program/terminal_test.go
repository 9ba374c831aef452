package program_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// TestNoVerbDrivesTheTerminal gives a run strings that would clear the screen, forge a line or
// reverse text, wherever a caller can choose one, and looks at what each verb prints.
func TestNoVerbDrivesTheTerminal(t *testing.T) {
	const evil = "\x1b[2J\x07\u009b31m\x7f\u202e"
	const quoted = `"\u001b[2J\u009b31m` + "\u009b\x7f\u202e" + `"`
	s := serve(t, t.TempDir())
	ask := func(args ...string) {
		t.Helper()
		got := s.ask(t.Context(), "", args...)
		for _, r := range got.out + got.err {
			require.False(t, r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%v prints %q", args, got.out+got.err)
		}
	}
	ask("start", "counter", "--run", "a", "--input", quoted) // refused: it is another type
	ask("start", "counter", "--run", "a", "--input", "1", "--attribute", "customer="+evil)
	ask("start", "nosuch", "--run", "n", "--input", quoted, "--attribute", "customer="+evil)
	require.Zero(t, s.ask(t.Context(), "", "get", "n").code)
	ask("start", "nosuch"+evil)
	ask("start", "nosuch", "--run", evil)
	ask("signal", "a", "s"+evil, quoted)
	ask("signal", "n", "go", quoted)
	ask("update", "a", "u"+evil, quoted)
	ask("query", "a", "q"+evil, quoted)
	ask("get", evil)
	ask("cancel", "n", "--reason", evil+"\nstatus     completed")
	for _, output := range []string{"text", "json"} {
		for _, verb := range [][]string{{"get", "n"}, {"history", "n"}, {"history", "n", "--json"}, {"list"}, {"doctor"}} {
			ask(append(verb, "--output", output)...)
		}
	}
	ask("terminate", "n", "--reason", evil)
	ask("wait", "n")
	ask("history", "n")
	ask("complete", evil, quoted)
	ask("fail", evil, evil)
	ask("nosuch" + evil)
	ask("list", "--status", evil)

	shown := s.ask(t.Context(), "", "get", "n", "--output", "json").out
	require.Contains(t, shown, `\u009b31m\u009b\u007f\u202e`, "what is shown is the same JSON value")
	for line := range strings.Lines(s.ask(t.Context(), "", "history", "n").out) {
		require.False(t, strings.HasPrefix(line, "status"), "a reason forges a line: %q", line)
	}
}
