// Command deadletter takes what was received too often: nothing waits in silence.
package main

import (
	"github.com/reprise-run/reprise/functions/boot"
)

func main() { boot.DeadLetter() }
