package registry_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/internal/registry"
	"github.com/reprise-run/reprise/core/workflow"
)

// TestNilDefinitions: a definition that is missing is an error that says which, not a panic.
func TestNilDefinitions(t *testing.T) {
	var unset *workflow.Workflow[int, int]
	there := workflow.New("there", func(workflow.Context, int) (int, error) { return 0, nil })

	_, err := registry.New(there, unset, nil)

	require.ErrorContains(t, err, "definition 2 of 3 is nil")
	require.ErrorContains(t, err, "definition 3 of 3 is nil")
}
