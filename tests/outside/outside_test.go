// Package outside checks what somebody else's module gets: a program of its own, built from the packages that are meant for
// it, and nothing else of this repository.
package outside

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const source = `package main

import (
	"context"

	"github.com/reprise-run/reprise/cmd/program"
	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

var shout = activity.New("shout", func(_ context.Context, text string) (string, error) { return text + "!", nil })

var hello = workflow.New("hello", func(ctx workflow.Context, name string) (string, error) {
	return workflow.Execute(ctx, shout, "hello, "+name)
})

func main() { program.Main(hello, shout) }
`

// TestModule builds a module that is not this one, from the module cache alone, and has its program serve and talk to itself.
func TestModule(t *testing.T) {
	shop := build(t)
	served := exec.Command(shop, "dev", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--output", "json")
	var said bytes.Buffer
	served.Stderr = &said
	out, err := served.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, served.Start())
	t.Cleanup(func() { _ = served.Process.Kill() }) // where the test has failed
	up := struct {
		Address   string
		Workflows []string
	}{}
	require.NoError(t, json.NewDecoder(out).Decode(&up), &said)
	require.Equal(t, []string{"hello"}, up.Workflows)

	call := func(args ...string) string {
		answer, err := exec.CommandContext(t.Context(), shop, append(args, "--address", up.Address)...).Output()
		require.NoError(t, err, "%v", args)
		return string(answer)
	}
	require.Equal(t, "\"hello, Ann!\"\n", call("start", "hello", "--run", "h", "--input", `"Ann"`, "--wait"))
	require.Contains(t, call("list"), "hello")
	history := filepath.Join(t.TempDir(), "h.json")
	require.NoError(t, os.WriteFile(history, []byte(call("history", "h", "--json")), 0o600))

	require.NoError(t, served.Process.Signal(syscall.SIGTERM))
	require.NoError(t, served.Wait(), said.String())
	require.Contains(t, said.String(), "stopped")
	replayed, err := exec.CommandContext(t.Context(), shop, "replay", history).CombinedOutput()
	require.NoError(t, err, string(replayed))
	require.Contains(t, string(replayed), "run h of workflow hello")
}

// build makes the module in a folder of its own, and its program.
func build(t *testing.T) string {
	t.Helper()
	_, here, _, ok := runtime.Caller(0)
	require.True(t, ok)
	repository := filepath.Dir(filepath.Dir(filepath.Dir(here)))
	folder := t.TempDir()
	own, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	require.NoError(t, err)
	// Everything that this module requires, at the same versions, so that nothing need be looked up.
	_, requires, found := strings.Cut(string(own), "\n\nrequire (")
	require.True(t, found)
	write(t, folder, "go.mod", "module example.com/shop\n\ngo 1.26\n\nrequire github.com/reprise-run/reprise v0.0.0\n\nreplace github.com/reprise-run/reprise => "+
		repository+"\n\nrequire ("+requires)
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	require.NoError(t, err)
	write(t, folder, "go.sum", string(sums))
	write(t, folder, "main.go", source)
	binary := filepath.Join(folder, "shop")
	compile(t, folder, "go", "build", "-o", binary, ".")
	return binary
}

func compile(t *testing.T, folder string, command ...string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), command[0], command[1:]...)
	build.Dir = folder
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}
