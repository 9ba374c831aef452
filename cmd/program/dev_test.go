package program_test

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/cmd/program"
)

func TestDevSaysWhatItIs(t *testing.T) {
	data := filepath.Join(t.TempDir(), "made", "by it.d")
	ctx, cancel := context.WithCancel(t.Context())
	out, said := mark("the runs stay"), mark("stopped")
	ended := make(chan int, 1)
	go func() {
		ended <- program.Run(ctx, []string{"shop", "dev", "--listen", "127.0.0.1:0", "--data", data}, nil, out, said, definitions()...)
	}()
	<-out.seen
	cancel()
	require.Zero(t, <-ended)
	banner := out.all.String()
	require.Contains(t, banner, "shop ")
	require.Contains(t, banner, "  address    http://127.0.0.1:")
	require.Contains(t, banner, "  data       "+data+"\n")
	require.Contains(t, banner, "  workflows  counter, declined, greet, pack, reviewed, rounds, shop, unbilled, vanishes\n")
	require.Contains(t, banner, "  rebuilt    nothing was under way\n")
	require.Regexp(t, `  shop --address 127\.0\.0\.1:\d+ start counter --wait\n`, banner)
	require.Equal(t, "stopping; a second interrupt ends it at once\nstopped\n", said.all.String())
}

func TestDevKeepsItsKeyToItself(t *testing.T) {
	s := serve(t, t.TempDir())
	file := filepath.Join(s.Data, "token.key")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.Len(t, key, 32)

	require.Equal(t, 0, s.ask(t.Context(), "", "start", "reviewed", "--run", "v", "--input", `"text"`).code)
	token := <-tokens
	require.Eventually(t, func() bool {
		return strings.Contains(s.ask(t.Context(), "", "get", "v", "--output", "json").out, `"pending": true`)
	}, 10*time.Second, 10*time.Millisecond, "the attempt must wait for its completion")
	s.stop()
	again := serve(t, s.Data)
	require.Equal(t, 1, again.Rebuilt.Open)
	require.Equal(t, outcome{out: "the activity is completed\n"}, again.ask(t.Context(), "", "complete", token, `"fine"`), "a token outlives its server")
	require.Zero(t, len(tokens), "an attempt that waits for its completion must not begin again")
	require.Equal(t, "\"fine\"\n", again.ask(t.Context(), "", "wait", "v").out)
}

// TestDevSaysWhoElseCanRead: an older file, or a copy, may be for others to read.
func TestDevSaysWhoElseCanRead(t *testing.T) {
	s := serve(t, t.TempDir())
	s.stop()
	require.NotContains(t, s.said(), "warning")
	for _, name := range []string{"reprise.db", "token.key"} {
		file := filepath.Join(s.Data, name)
		require.NoError(t, os.Chmod(file, 0o644))
		again := serve(t, s.Data)
		again.stop()
		require.Contains(t, again.said(), "warning: others may read "+file)
		require.Contains(t, again.said(), ": chmod 600 "+file)
		require.NoError(t, os.Chmod(file, 0o600))
	}
}

func TestDevGoesOnWhereItStopped(t *testing.T) {
	s := serve(t, t.TempDir())
	require.Zero(t, s.ask(t.Context(), "", "start", "counter", "--run", "c", "--input", "5").code)
	require.Zero(t, s.ask(t.Context(), "", "start", "nosuch", "--run", "n", "--wait", "--fail-blocked").code-6)
	s.stop()
	again := serve(t, s.Data)
	require.Equal(t, 2, again.Rebuilt.Open)
	require.Equal(t, 1, again.Rebuilt.Unblocked)
	require.Zero(t, again.ask(t.Context(), "", "signal", "c", "approve", `"Ann"`).code)
	require.Equal(t, "\"5, says Ann\"\n", again.ask(t.Context(), "", "wait", "c").out)
}

func TestDevRefusesWhatIsInUse(t *testing.T) {
	s := serve(t, t.TempDir())
	address := strings.TrimPrefix(s.Address, "http://")
	got := command(t.Context(), "", "dev", "--listen", address, "--data", t.TempDir())
	require.Equal(t, outcome{code: 5, err: "reprise: " + address + " is in use, perhaps by another server: stop that one, or choose another port with " +
		"--listen (port 0 takes one that is free)\n"}, got)
	got = command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", s.Data)
	require.Equal(t, 5, got.code)
	require.Contains(t, got.err, "reprise.db is in use by another process: stop that one, or choose another file (--data chooses another folder)")
}

func TestDevRefusesARetentionThatCallersWouldMiss(t *testing.T) {
	for _, given := range []string{"59s", "-1h"} {
		got := command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--retention="+given)
		require.Equal(t, 2, got.code)
		require.Contains(t, got.err, "it is 1m0s at least, or 0 for ever\n")
	}
}

func TestDevRefusesFoldersThatItCannotUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "no folder")
	got := command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", filepath.Join(file, "data"))
	require.Equal(t, 7, got.code)
	require.Equal(t, "reprise: the data folder "+file+"/data cannot be written (not a directory): give this user access, or choose another one with --data\n", got.err)

	data := t.TempDir()
	write(t, filepath.Join(data, "token.key"), "damaged")
	got = command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", data)
	require.Equal(t, 7, got.code)
	require.Contains(t, got.err, "token.key is damaged")

	data = t.TempDir()
	write(t, filepath.Join(data, "reprise.db"), strings.Repeat("not a database ", 1000))
	got = command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", data)
	require.Equal(t, 7, got.code)
	require.Contains(t, got.err, "is no database")
}

func TestDevFindsItsFolder(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	s := serve(t, "")
	require.Equal(t, filepath.Join(state, "reprise"), s.Data)
	s.stop()
	again := serve(t, "")
	require.Equal(t, s.Data, again.Data, "the program's own")
	again.stop()
}

// TestProgramsOfOneNameDoNotShareAFolder: the default folder is another one where a program of the same name has it.
func TestProgramsOfOneNameDoNotShareAFolder(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	require.NoError(t, os.Mkdir(filepath.Join(state, "reprise"), 0o700))
	write(t, filepath.Join(state, "reprise", "program"), "example.com/another/reprise\n")
	s := serve(t, "")
	require.Regexp(t, "^"+regexp.QuoteMeta(filepath.Join(state, "reprise"))+"-[0-9a-f]{8}$", s.Data)
	s.stop()
	require.NoError(t, os.RemoveAll(filepath.Join(state, "reprise")))
	require.Equal(t, s.Data, serve(t, "").Data, "its runs stay with it")
}

// TestServe: the server for production is the same one, without flags for development.
func TestServe(t *testing.T) {
	got := command(t.Context(), "", "serve", "--listen", "0.0.0.0:0", "--data", t.TempDir())
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "there are no tokens")
	require.Contains(t, command(t.Context(), "", "serve", "--replay-each").err, "unknown flag")
	require.Contains(t, command(t.Context(), "", "serve", "--help").out, "production")
	ctx, cancel := context.WithCancel(t.Context())
	up := mark("is up")
	ended := make(chan int, 1)
	go func() {
		ended <- program.Run(ctx, []string{"reprise", "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, nil, up, io.Discard, definitions()...)
	}()
	<-up.seen
	cancel()
	require.Zero(t, <-ended)
}

func TestDevKeepsBrowsersOut(t *testing.T) {
	s := serve(t, t.TempDir())
	ask := func(host, origin string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Address+"/v1/runs", strings.NewReader(`{"workflow":"greet"}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		if origin != "" {
			request.Header.Set("Origin", origin)
		}
		if host != "" {
			request.Host = host
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	defer http.DefaultClient.CloseIdleConnections()
	require.Equal(t, http.StatusCreated, ask("", ""))
	require.Equal(t, http.StatusCreated, ask("localhost:1", ""))
	require.Equal(t, http.StatusForbidden, ask("", "https://elsewhere.example"), "a page of another origin")
	require.Equal(t, http.StatusForbidden, ask("elsewhere.example", "http://elsewhere.example"), "a name that was made to mean this machine")
}

// Clients and workers of seed 004 find their routes at the root and under /api.
func TestDevServesEarlierClients(t *testing.T) {
	s := serve(t, t.TempDir())
	defer http.DefaultClient.CloseIdleConnections()
	for _, path := range []string{"/tasks", "/api/tasks", "/workers/list", "/api/list"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Address+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, "[]\n", string(text), path)
	}
}
