package mutation

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextsOfTheRules: where code has moved, the mutation that names its text is to be written anew.
func TestTextsOfTheRules(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, m := range All {
		t.Run(m.Rule, func(t *testing.T) { m.Overlay(t, root) })
	}
}
