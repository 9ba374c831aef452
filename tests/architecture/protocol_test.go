package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRulesAreTraced: the last table of PROTOCOL.md names the test and the model's switch of each rule, and nothing else. So a
// reader comes from a sentence of the protocol to its proofs, and a new test or switch is not forgotten.
func TestRulesAreTraced(t *testing.T) {
	tested := namesIn(t, `(?m)^func TestRule([A-Z]\w*)\(`, "core/engine/*_test.go")
	modeled := namesIn(t, `(?m)^\t([A-Z]\w*) +bool`, "tests/spec/rules.go")
	require.NotEmpty(t, tested)
	require.NotEmpty(t, modeled)
	text, err := os.ReadFile("../../core/engine/PROTOCOL.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## Where each rule is tested")
	require.True(t, found, "PROTOCOL.md must have the section that says where each rule is tested")
	var both, testsAlone, modelAlone []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 6 && regexp.MustCompile(`^ \d+ `).MatchString(cells[1]) {
			both = append(both, names(cells[2])...)
			testsAlone = append(testsAlone, names(cells[3])...)
			modelAlone = append(modelAlone, names(cells[4])...)
		}
	}
	require.ElementsMatch(t, tested, slices.Concat(both, testsAlone), "the tests TestRule… of core/engine must be those that PROTOCOL.md names")
	require.ElementsMatch(t, modeled, slices.Concat(both, modelAlone), "the switches of tests/spec/rules.go must be those that PROTOCOL.md names")
}

// namesIn gives what a pattern finds in files.
func namesIn(t *testing.T, pattern, files string) (found []string) {
	t.Helper()
	paths, err := filepath.Glob("../../" + files)
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
	}
	return found
}

// names lists the words of a cell that name a rule: not what stands in backquotes.
func names(cell string) []string {
	return regexp.MustCompile(`\b[A-Z]\w*\b`).FindAllString(regexp.MustCompile("`[^`]*`").ReplaceAllString(cell, ""), -1)
}
