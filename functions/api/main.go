// Command api is the door: API Gateway in front, the engine behind.
package main

import (
	"github.com/reprise-run/reprise/functions/boot"
	"github.com/reprise-run/reprise/workflows"
)

func main() { boot.API(workflows.Definitions()...) }
