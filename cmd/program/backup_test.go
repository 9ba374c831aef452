package program_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBackupAndRestore backs up a server that runs, and restores the backup as backup --help says.
func TestBackupAndRestore(t *testing.T) {
	data := t.TempDir()
	s := serve(t, data)
	said := s.ask(t.Context(), "", "start", "counter", "--run", "before", "--input", "0")
	require.Zero(t, said.code, said.err)
	backup := filepath.Join(t.TempDir(), "backup.db")
	said = s.ask(t.Context(), "", "backup", backup)
	require.Zero(t, said.code, said.err)
	require.Contains(t, said.out, "backup.db: ")
	require.NoFileExists(t, backup+".part")
	info, err := os.Stat(backup)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "all that runs were given is in it")
	said = s.ask(t.Context(), "", "backup", backup)
	require.Equal(t, 2, said.code)
	require.Contains(t, said.err, "is there already")
	require.Zero(t, s.ask(t.Context(), "", "start", "counter", "--run", "after", "--input", "0").code)
	s.stop()

	text, err := os.ReadFile(backup)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(data, "reprise.db"), text, 0o600))
	restored := serve(t, data)
	require.Equal(t, 1, restored.Rebuilt.Open)
	require.Zero(t, restored.ask(t.Context(), "", "get", "before").code)
	require.NotZero(t, restored.ask(t.Context(), "", "get", "after").code)
}
