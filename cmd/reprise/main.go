// Command reprise is the program over the workflows that ship: see workflows.
package main

import (
	"slices"

	"github.com/reprise-run/reprise/cmd/program"
	"github.com/reprise-run/reprise/workflows/audit"
	"github.com/reprise-run/reprise/workflows/order"
)

func main() {
	program.Main(slices.Concat(order.Definitions(), audit.Definitions())...)
}
