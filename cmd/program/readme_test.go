package program_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/worker"
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

// The flow of README.md that calls a worker's service, with such a worker.
func TestTheWorkerOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(readme), "### Services over HTTP\n")
	require.True(t, found)
	require.Contains(t, section,
		`worker.Handle(w, "double", func(_ context.Context, n int, _ struct{}) (int, error) { return 2 * n, nil })`)
	_, source, _ := strings.Cut(section, "```json\n")
	source, _, _ = strings.Cut(source, "```")
	file := filepath.Join(t.TempDir(), "double.json")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	_, typed, _ := strings.Cut(section, "`reprise flow run double.json ")
	typed, wanted, _ := strings.Cut(typed, "` gives `")
	wanted, _, _ = strings.Cut(wanted, "`")

	s := serve(t, t.TempDir())
	w := worker.New(worker.Config{Registry: s.Address})
	worker.Handle(w, "double", func(_ context.Context, n int, _ struct{}) (int, error) {
		return 2 * n, nil
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	s.online(t, 1)
	got := s.ask(t.Context(), "", append([]string{"flow", "run", file}, words(typed)...)...)
	require.JSONEq(t, wanted, got.out, got.err)
	stop()
	require.NoError(t, <-ended)
}
