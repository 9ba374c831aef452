// Package mutation takes rules out of the engine, one at a time: what proves that a test, or a simulation, sees what the rule is
// there for. Go's -overlay puts the changed file into the build; production code carries no switch for it.
package mutation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mutation takes one rule out: in a file, the old text is replaced by the new one.
type Mutation struct {
	Rule string
	// Test of core/engine that fails without the rule.
	Test string
	// File from the module's root.
	File     string
	Old, New string
}

// Overlay gives the flag that builds the module at root without the rule. It fails the test if the text of the rule is not in
// its file, once, as it was: then the mutation is to be written anew.
func (m Mutation) Overlay(tb testing.TB, root string) string {
	tb.Helper()
	source := filepath.Join(root, m.File)
	text, err := os.ReadFile(source)
	require.NoError(tb, err)
	require.Equal(tb, 1, strings.Count(string(text), m.Old), "the text of rule %s is not in %s as it was:\n%s", m.Rule, m.File, m.Old)
	folder := tb.TempDir()
	mutant, overlay := filepath.Join(folder, filepath.Base(m.File)), filepath.Join(folder, "overlay.json")
	require.NoError(tb, os.WriteFile(mutant, []byte(strings.Replace(string(text), m.Old, m.New, 1)), 0o600))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {source: mutant}})
	require.NoError(tb, err)
	require.NoError(tb, os.WriteFile(overlay, replace, 0o600))
	return "-overlay=" + overlay
}
