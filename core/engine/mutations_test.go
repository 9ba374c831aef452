package engine_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/tests/mutation"
)

// TestMutations proves the tests of the rules: each fails when its rule is taken out of the engine. It tries a few of the
// rules; `make mutations` tries all.
func TestMutations(t *testing.T) {
	rules := mutation.Drawn(t, mutation.Rules, 8, len(mutation.Rules))
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, m := range rules {
		t.Run(m.Rule, func(t *testing.T) {
			t.Parallel()
			output, failed := run(t, root, m)
			require.True(t, failed, "%s passes without the rule:\n%s", m.Test, output)
			require.Contains(t, output, "--- FAIL: "+strings.Split(m.Test, "/")[0], "it fails for another reason:\n%s", output)
		})
	}
}

// run gives what the test says without the rule, and whether it failed.
func run(t *testing.T, root string, m mutation.Mutation) (output string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	pattern := "^" + strings.ReplaceAll(m.Test, "/", "$/^") + "$"
	command := exec.CommandContext(ctx, "go", "test", m.Overlay(t, root), "-vet=off", "-ldflags=-s -w", "-timeout=60s", "-failfast", "-run", pattern, "./core/engine")
	command.Dir = root
	out, err := command.CombinedOutput()
	return string(out), err != nil
}
