package engine_test

import (
	"context"
	"slices"
	"strings"
)

// handling has the calls of one handler that failed, and were not repeated with success.
type handling struct {
	failed []string
	// travels: what the store does not take is sent on in a message. A task's handler may do so: its
	// activity has run, and is not to run again (PROTOCOL.md rule 1).
	travels bool
}

type handlingKey struct{}

// handler gives the context of one handler of a process.
func (p *process) handler(travels bool) context.Context {
	return context.WithValue(p.in(), handlingKey{}, &handling{travels: travels})
}

// noteFailure notes that a call fails. The lock is held.
func noteFailure(ctx context.Context, k kind, call string) {
	h, ok := ctx.Value(handlingKey{}).(*handling)
	if ok && (k == failBefore || k == loseAnswer) {
		h.failed = append(h.failed, call)
	}
}

// noteSuccess notes that a call succeeds, perhaps after it failed. The lock is held.
func noteSuccess(ctx context.Context, call string) {
	if h, ok := ctx.Value(handlingKey{}).(*handling); ok {
		sent := h.travels && strings.HasPrefix(call, "send-")
		h.failed = slices.DeleteFunc(h.failed, func(failed string) bool {
			return sent || failed == call
		})
	}
}

// tells checks that a handler returns an error if one of its calls failed. Then its message comes
// again, or its caller repeats. The lock is held.
func (w *world) tells(ctx context.Context, what string, err error) {
	if h := ctx.Value(handlingKey{}).(*handling); err == nil && len(h.failed) > 0 {
		w.violation("%s returned no error, though calls failed: %v", what, h.failed)
	}
}
