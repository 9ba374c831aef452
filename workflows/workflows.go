// Package workflows has the workflows that are deployed, and served by the program that ships: a user's first stop. Add your
// own here, or see the README for a module of your own.
package workflows

import (
	"slices"

	"github.com/reprise-run/reprise/core/workflow"
	"github.com/reprise-run/reprise/workflows/audit"
	"github.com/reprise-run/reprise/workflows/order"
)

// Definitions are all that there are.
func Definitions() []workflow.Definition {
	return slices.Concat(order.Definitions(), audit.Definitions())
}
