package mutation

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Prove proves the tests of rules. The tests are those of a package, such as core/engine: each fails
// when its rule is taken out. It tries a few of the rules, or all with the flag -mutations.
func Prove(t *testing.T, pkg string, rules []Mutation, few int) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, m := range Drawn(t, rules, few, len(rules)) {
		t.Run(m.Rule, func(t *testing.T) {
			t.Parallel()
			output, failed := m.try(t, root, pkg)
			require.True(t, failed, "%s passes without the rule:\n%s", m.Test, output)
			failure := "--- FAIL: " + strings.Split(m.Test, "/")[0]
			require.Contains(t, output, failure, "it fails for another reason:\n%s", output)
		})
	}
}

// try gives what the test says without the rule, and whether it failed.
func (m Mutation) try(t *testing.T, root, pkg string) (output string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	pattern := "^" + strings.ReplaceAll(m.Test, "/", "$/^") + "$"
	command := exec.CommandContext(ctx, "go", "test", m.Overlay(t, root), "-vet=off", "-ldflags=-s -w",
		"-timeout=3m", "-failfast", "-run", pattern, "./"+pkg)
	command.Dir = root
	out, err := command.CombinedOutput()
	return string(out), err != nil
}
