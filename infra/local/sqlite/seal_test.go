package sqlite_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/local/sqlite"
)

// keyOf is a line of a key file, each letter another key.
func keyOf(letter string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, seal.KeyBytes))) + "\n"
}

func codec(tb testing.TB, lines ...string) seal.Codec {
	tb.Helper()
	ring, err := seal.ParseKeyring(strings.Join(lines, ""))
	require.NoError(tb, err)
	return seal.New(ring)
}

// TestSealedStore: a store that seals is a store like others.
func TestSealedStore(t *testing.T) {
	porttest.TestStores(t, func(t *testing.T) porttest.Stores {
		t.Helper()
		options := sqlite.Options{HotRuns: 1, Codec: codec(t, keyOf("a"))}
		return stores(t, open(t, t.TempDir(), options), options)
	}, porttest.Capabilities{Forgets: true, Refuses: true})
}

// TestSealedSameAsMemory does the same random operations on a store that seals and on one that does not.
func TestSealedSameAsMemory(t *testing.T) {
	options := sqlite.Options{HotRuns: 3, Codec: codec(t, keyOf("a"))}
	m := memory.New()
	want := porttest.Stores{Runs: m, Directory: m, Due: m, Tasks: m, DeleteClosed: m.DeleteClosed}
	porttest.TestSame(t, want, stores(t, open(t, t.TempDir(), options), options), porttest.Likeness{
		Capabilities: porttest.Capabilities{Forgets: true, Refuses: true},
		Runs:         12,
		Steps:        500,
		Ties:         true,
		Large:        true})
}

// TestNoValueIsInTheFile writes a marker wherever an author's or a caller's value can be, and looks for it in the files.
func TestNoValueIsInTheFile(t *testing.T) {
	const marker = "the-marker"
	for _, sealed := range []bool{false, true} {
		options := sqlite.Options{}
		if sealed {
			options.Codec = codec(t, keyOf("a"))
		}
		folder := t.TempDir()
		s := open(t, folder, options)
		porttest.WriteEverywhere(t, stores(t, s, options), marker)
		require.NoError(t, s.Close())
		found := 0
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			found += bytes.Count(data, []byte(marker))
		}
		if sealed {
			require.Zero(t, found)
		} else {
			require.Greater(t, found, 20, "the test must be able to find it")
		}
	}
}

// TestWithoutItsKeyAStoreIsNotOpened: nothing is done to it, and with the key all is there.
func TestWithoutItsKeyAStoreIsNotOpened(t *testing.T) {
	folder := t.TempDir()
	reopen := func(lines ...string) (*sqlite.Store, error) {
		options := sqlite.Options{}
		if len(lines) > 0 {
			options.Codec = codec(t, lines...)
		}
		return sqlite.Open(folder, options)
	}
	s, err := reopen(keyOf("a"))
	require.NoError(t, err)
	porttest.WriteEverywhere(t, porttest.Stores{Runs: s, Directory: s, Due: s, Tasks: s}, "value")
	want, err := s.Summary(t.Context(), "everywhere")
	require.NoError(t, err)
	require.NoError(t, s.Close())

	_, err = reopen()
	require.ErrorContains(t, err, "given no key")
	_, err = reopen(keyOf("b"))
	require.ErrorContains(t, err, "sealed with key")
	require.ErrorContains(t, err, "add that key")

	s, err = reopen(keyOf("b"), keyOf("a")) // the key is rotated
	require.NoError(t, err)
	got, err := s.Summary(t.Context(), "everywhere")
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, s.Close())
	_, err = reopen(keyOf("b"))
	require.ErrorContains(t, err, "add that key", "what the old key has sealed is still there")

	s, err = reopen(keyOf("b"), keyOf("a"))
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), &port.Summary{Run: "new", Workflow: "w", Generation: 1,
		Status: history.Running, Started: began}, port.Item{
		Key: "start#1", Event: &history.Started{Generation: 1, Workflow: "w"}, Durable: true}))
	deleted, err := s.DeleteClosed(t.Context(), began.Add(1000*time.Hour), 100)
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	require.NoError(t, s.Close())
	s, err = reopen(keyOf("b"))
	require.NoError(t, err, "no run is left that the old key has sealed values of")
	require.NoError(t, s.Close())
}

// TestValuesFromBeforeAreRead: a key given to a store that has none.
func TestValuesFromBeforeAreRead(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	porttest.WriteEverywhere(t, porttest.Stores{Runs: s, Directory: s, Due: s, Tasks: s}, "value")
	want, err := s.Look(t.Context(), "everywhere", port.Position{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s = open(t, folder, sqlite.Options{Codec: codec(t, keyOf("a"))})
	got, err := s.Look(t.Context(), "everywhere", port.Position{})
	require.NoError(t, err)
	require.Equal(t, want.Summary, got.Summary)
}
