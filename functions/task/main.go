// Command task takes tasks: it makes one attempt of an activity.
package main

import (
	"github.com/reprise-run/reprise/functions/boot"
	"github.com/reprise-run/reprise/workflows"
)

func main() { boot.Task(workflows.Definitions()...) }
