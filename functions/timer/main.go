// Command timer hands timers that are due to the queue, each minute, and does the chores that nobody else is woken for.
package main

import (
	"github.com/reprise-run/reprise/functions/boot"
)

func main() { boot.Timer() }
