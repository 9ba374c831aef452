package scheduler

import (
	"runtime"
	"strings"
)

// Attempt calls the function of an activity or a step. Every attempt goes through it, so that a call of the surface finds it
// on the stack: see [Unit.Enter].
//
//go:noinline
func Attempt(function func()) { function() }

// running says whether the caller's goroutine is in a function whose name ends in one of these. It is slow: only violations
// pay for it.
func running(names ...string) bool {
	callers := make([]uintptr, 256)
	for skip := 2; ; skip += len(callers) {
		n := runtime.Callers(skip, callers)
		frames := runtime.CallersFrames(callers[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			for _, name := range names {
				if strings.HasSuffix(frame.Function, name) {
					return true
				}
			}
		}
		if n < len(callers) {
			return false
		}
	}
}
