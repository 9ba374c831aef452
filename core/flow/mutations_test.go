package flow_test

import (
	"testing"

	"github.com/reprise-run/reprise/tests/mutation"
)

// TestMutations proves the tests of the rules of flows: each fails when its rule is taken out. It
// tries a few of the rules; `make mutations` tries all.
func TestMutations(t *testing.T) { mutation.Prove(t, "core/flow", mutation.Flows, 2) }
