package program_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
)

func TestVersion(t *testing.T) {
	got := command(t.Context(), "", "version")
	require.Zero(t, got.code)
	require.Regexp(t, `^reprise \S+ \(engine \S+, go1\.\S+, `+runtime.GOOS+`/`+runtime.GOARCH+`\)\n$`, got.out)

	document := map[string]string{}
	require.NoError(t, json.Unmarshal([]byte(command(t.Context(), "", "version", "-o", "json").out), &document))
	require.Equal(t, runtime.Version(), document["go"])
}

// Every verb says in its help what it is for; the exit codes are in the program's own.
func TestHelp(t *testing.T) {
	got := command(t.Context(), "", "--help")
	require.Zero(t, got.code)
	require.Contains(t, got.out, "Exit codes:")
	for _, verb := range strings.Fields("dev doctor rebuild start list get history wait signal " +
		"update query complete fail cancel terminate reset unblock publish validate definitions " +
		"flow proxy replay version") {
		require.Contains(t, got.out, "\n  "+verb+" ")
		require.Contains(t, command(t.Context(), "", verb, "--help").out, "Usage:\n  reprise "+verb)
	}
}

func TestCompletion(t *testing.T) {
	s := serve(t, t.TempDir())
	require.Zero(t, s.ask(t.Context(), "", "start", "greet", "--run", "g1", "--input", `"Ann"`, "--wait").code)
	require.Zero(t, s.ask(t.Context(), "", "start", "counter", "--run", "c1").code)
	offers := func(words ...string) []string {
		got := command(t.Context(), "", append([]string{"__complete", "--address", s.Address}, words...)...)
		require.Zero(t, got.code, got.err)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		return lines[:len(lines)-1] // the last one is for the shell
	}
	require.Equal(t, []string{"c1\tcounter, running", "g1\tgreet, completed"}, offers("get", ""))
	require.Equal(t, []string{"c1\tcounter, running"}, offers("signal", ""))
	require.Empty(t, offers("unblock", ""))
	workflows := []string{"counter", "declined", "greet", "pack", "reviewed", "rounds", "shop", "unbilled", "vanishes"}
	require.Equal(t, workflows, offers("start", ""))
	require.Equal(t, workflows, offers("list", "--workflow", ""))
	require.Equal(t, []string{"text", "json"}, offers("--output", ""))
	s.Address = "127.0.0.1:1"
	require.Equal(t, workflows, offers("start", ""), "without a server, those of the program")
	require.Empty(t, offers("get", ""))
	require.Contains(t, command(t.Context(), "", "completion", "bash").out, "complete")
}

// An export that was changed, as code would be, does not pass.
func TestReplayFindsADifference(t *testing.T) {
	s := serve(t, t.TempDir())
	require.Zero(t, s.ask(t.Context(), "", "start", "shop", "--run", "s1", "--input", `"book"`, "--wait").code)
	exported := s.ask(t.Context(), "", "history", "s1", "--json").out
	_, err := history.DecodeExport([]byte(exported))
	require.NoError(t, err)

	got := command(t.Context(), exported, "replay", "-")
	require.Equal(t, outcome{out: "ok    - (run s1 of workflow shop, 4 records, completed)\n"}, got)

	for what, change := range map[string][2]string{
		"an activity": {`"activity":"price"`, `"activity":"cost"`},
		"the result":  {`"charge":"charge of 400","note"`, `"charge":"charge of 500","note"`},
	} {
		changed := strings.ReplaceAll(exported, change[0], change[1])
		require.NotEqual(t, exported, changed, what)
		got := command(t.Context(), changed, "replay", "-")
		require.Equal(t, 1, got.code, what)
		require.Contains(t, got.out, "FAIL  - (run s1 of workflow shop, 4 records, completed)\n      nondeterminism (changed-command)", what)
		require.Contains(t, got.out, "remedy:", what)

		document := struct {
			Agrees bool
			Files  []struct {
				Agrees bool
				Reason string
			}
		}{}
		require.NoError(t, json.Unmarshal([]byte(command(t.Context(), changed, "replay", "-", "-o", "json").out), &document))
		require.False(t, document.Agrees)
		require.Equal(t, "nondeterminism", document.Files[0].Reason)
	}
	got = command(t.Context(), strings.ReplaceAll(exported, `"workflow":"shop"`, `"workflow":"gone"`), "replay", "-")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, `workflow "gone" is not registered here`)
	got = command(t.Context(), "{", "replay", "-")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "FAIL  -\n      unreadable record")
	got = command(t.Context(), "", "replay", t.TempDir())
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "no .json file in")
}
