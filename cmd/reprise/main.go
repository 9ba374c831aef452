// Command reprise is the program over the workflows that ship: see workflows.
package main

import (
	"github.com/reprise-run/reprise/cmd/program"
	"github.com/reprise-run/reprise/workflows"
)

func main() {
	program.Main(workflows.Definitions()...)
}
