// Command activate takes resumes: it looks at runs, runs their code, and sends on what they decide.
package main

import (
	"github.com/reprise-run/reprise/functions/boot"
	"github.com/reprise-run/reprise/workflows"
)

func main() { boot.Activate(workflows.Definitions()...) }
