// Package tests holds what concerns the project as a whole.
package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	row       = regexp.MustCompile(`^\| (S\d\.\d+) \| (.+) \|$`)
	reference = regexp.MustCompile("`([^`]+)`")
	goTest    = regexp.MustCompile(`^([a-z0-9/]+)\.(Test\w+|Fuzz\w+|Benchmark\w+)(?:/(.+))?$`)
)

// rowsOf is how many behaviours of each document are to be shown by now.
var rowsOf = map[string]int{"S1": 41, "S4": 58}

// TestSeeds: every row has a test, and every test that a row names exists.
func TestSeeds(t *testing.T) {
	text, err := os.ReadFile("seeds.md")
	require.NoError(t, err)
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		match := row.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		require.False(t, seen[match[1]], "%s is listed twice", match[1])
		seen[match[1]] = true
		references := reference.FindAllStringSubmatch(match[2], -1)
		require.NotEmpty(t, references, "%s has no test", match[1])
		for _, r := range references {
			if err := exists("..", match[1], r[1]); err != nil {
				t.Errorf("%s: %v", match[1], err)
			}
		}
	}
	for document, rows := range rowsOf {
		for n := 1; n <= rows; n++ {
			require.True(t, seen[fmt.Sprintf("%s.%d", document, n)], "%s.%d is missing", document, n)
		}
	}
}

// exists says what is wrong with a reference to a test, if anything.
func exists(root, row, reference string) error {
	match := goTest.FindStringSubmatch(reference)
	if match == nil {
		text, err := os.ReadFile(filepath.Join(root, reference))
		if err != nil {
			return err
		}
		header, _, _ := strings.Cut(string(text), "\n")
		if !strings.Contains(header+" ", " "+row+" ") {
			return fmt.Errorf("the first line of %s does not name the row", reference)
		}
		return nil
	}
	files, err := filepath.Glob(filepath.Join(root, match[1], "*_test.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "\nfunc "+match[2]+"(") && hasSubtest(string(text), match[3]) {
			return nil
		}
	}
	return fmt.Errorf("no test %s", reference)
}

// hasSubtest says whether a file has the name of a subtest, or the names that it is made of.
func hasSubtest(file, name string) bool {
	quoted := func(name string) bool { return strings.Contains(file, `"`+name+`"`) }
	return name == "" || quoted(name) || !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return !quoted(part) })
}

// TestSeedsCanFail: a reference to nothing is found.
func TestSeedsCanFail(t *testing.T) {
	for _, wrong := range []string{"tests.TestNothing", "nowhere.TestSeeds", "tests.TestSeeds/no such subtest", "core/flow.TestKinds/executor/no such outcome", "core/nothing.txt",
		"core/internal/scheduler/testdata/scheduling/yield.txt"} {
		require.Error(t, exists("..", "S1.1", wrong), wrong)
	}
	require.NoError(t, exists("..", "S1.8", "core/internal/scheduler/testdata/scheduling/yield.txt"))
	require.NoError(t, exists("..", "S1.1", "tests.TestSeeds"))
}
