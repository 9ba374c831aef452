package scheduler

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/reprise-run/reprise/core/internal/machine"
)

// locate adds to a report of nondeterminism where the workflow code made the attempted call. The
// caller is on the stack of that code.
func locate(err error) {
	if report := (*machine.Nondeterminism)(nil); errors.As(err, &report) && report.Attempted != nil && report.Where == "" {
		if report.Where = report.Attempted.Place(); report.Where == "" {
			report.Where = caller()
		}
	}
}

// caller is the file and line of the innermost function on the stack that is workflow code; empty
// if there is none.
func caller() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		if !ofCore(frame.Function) {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		if !more || strings.HasSuffix(frame.Function, "scheduler.(*Unit).main") {
			return ""
		}
	}
}

// ofCore says whether a function is of the packages between workflow code and the log.
func ofCore(function string) bool {
	_, name, found := strings.Cut(function, "/reprise/core/")
	if !found {
		return strings.HasPrefix(function, "runtime.")
	}
	for _, path := range []string{"workflow.", "internal/scheduler.", "internal/machine."} {
		if strings.HasPrefix(name, path) {
			return true
		}
	}
	return false
}
