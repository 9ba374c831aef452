package system

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExecutable: two builds of one code have one name, and another code has another name.
func TestExecutable(t *testing.T) {
	mine, err := Executable()
	require.NoError(t, err)
	require.Regexp(t, regexp.MustCompile("^[0-9a-f]{16}$"), mine)
	path, err := os.Executable()
	require.NoError(t, err)
	code, err := os.ReadFile(path)
	require.NoError(t, err)
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, code, 0o600))
	same, err := hashOf(other)
	require.NoError(t, err)
	require.Equal(t, mine, same)
	require.NoError(t, os.WriteFile(other, append(code, 0), 0o600))
	changed, err := hashOf(other)
	require.NoError(t, err)
	require.NotEqual(t, mine, changed)
	_, err = hashOf(filepath.Join(t.TempDir(), "none"))
	require.Error(t, err)
}
