package program_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDevSealsWithAKey: without it the folder says nothing of values, is not opened, and an export is not replayed; with it all is as
// it is without.
func TestDevSealsWithAKey(t *testing.T) {
	const value = "a-book-that-nobody-may-know-of"
	folder := t.TempDir()
	keys, export := filepath.Join(folder, "keys"), filepath.Join(folder, "export.json")
	require.NoError(t, os.WriteFile(keys, []byte("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n"), 0o600))
	t.Setenv("REPRISE_ENCRYPTION_KEY_FILE", keys)
	s := serve(t, filepath.Join(folder, "data"))
	got := s.ask(t.Context(), "", "start", "shop", "--run", "s", "--input", `"`+value+`"`, "--wait")
	require.Zero(t, got.code)
	require.Contains(t, got.out, value, "whoever may ask is answered")
	require.Contains(t, s.ask(t.Context(), "", "history", "s").out, value)
	sealed := s.ask(t.Context(), "", "history", "s", "--json").out
	require.NotContains(t, sealed, value)
	require.Contains(t, sealed, `"kind":"schedule-activity"`)
	plain := s.ask(t.Context(), "", "history", "s", "--json", "--plain").out
	require.Contains(t, plain, value)
	write(t, export, sealed)
	s.stop()

	files, err := filepath.Glob(filepath.Join(folder, "data", "*"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.False(t, bytes.Contains(data, []byte(value)), file)
	}
	require.Equal(t, outcome{out: plain}, command(t.Context(), "", "decrypt", export))
	require.Zero(t, command(t.Context(), "", "replay", export).code)

	t.Setenv("REPRISE_ENCRYPTION_KEY_FILE", "")
	for _, verb := range []string{"decrypt", "replay"} {
		got := command(t.Context(), "", verb, export)
		require.NotZero(t, got.code)
		require.Contains(t, got.out+got.err, "its values are sealed: name the file with the keys of its server, by --encryption-key")
	}
	got = command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", filepath.Join(folder, "data"))
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "has sealed values that cannot be opened here, and is left as it is")
	require.Contains(t, got.err, "--encryption-key or REPRISE_ENCRYPTION_KEY_FILE")
	require.Zero(t, command(t.Context(), "", "replay", export, "--encryption-key", keys).code)
}

func TestKeyFilesThatAreNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	for text, says := range map[string]string{"": "there is no key in it", "short": "line 1 is no key"} {
		write(t, file, text)
		got := command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--encryption-key", file)
		require.Equal(t, 2, got.code)
		require.Contains(t, got.err, file+": "+says)
	}
	got := command(t.Context(), "", "dev", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--encryption-key", file+"-that-is-not-there")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "the encryption key was not read")
}
