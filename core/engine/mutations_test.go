package engine_test

import (
	"testing"

	"github.com/reprise-run/reprise/tests/mutation"
)

// TestMutations proves the tests of the rules: each fails when its rule is taken out of the engine.
// It tries a few of the rules; `make mutations` tries all.
func TestMutations(t *testing.T) { mutation.Prove(t, "core/engine", mutation.Rules, 8) }
