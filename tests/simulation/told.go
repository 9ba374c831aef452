package simulation

import (
	"errors"
	"slices"
	"strings"

	"github.com/reprise-run/reprise/core/port"
)

// respond answers a call. Its invocation remembers a call that failed, until the same call succeeds.
func (c *call) respond(err error) {
	if i := c.invocation; i != nil {
		name := c.Operation + " " + c.Run
		switch {
		case c.Operation == port.OpSaveTask && strings.HasPrefix(i.what, activates):
			// A step continues although its failed attempts were not stored.
		case c.Operation == port.OpSize:
			// It counts as none: the read that follows meets the same error, if it lasts.
		case errors.Is(err, port.ErrUnavailable):
			i.failed = append(i.failed, name)
		case err == nil:
			// A task's handler may send on what the store does not take: its activity has run, and is not
			// to run again (PROTOCOL.md rule 1).
			sent := i.ofTask && slices.Contains(sends, c.Operation)
			i.failed = slices.DeleteFunc(i.failed, func(failed string) bool {
				return sent || failed == name
			})
		}
	}
	c.answer <- err
}

// checkTold checks that an invocation returns an error if one of its calls failed. Then its message
// comes again, or its caller repeats. Of a batch, one answer is enough.
func (s *simulation) checkTold(i *invocation) {
	told := i.err != nil || slices.ContainsFunc(i.answers, func(err error) bool { return err != nil })
	if !told && len(i.failed) > 0 {
		s.violate("%s %s, and returns no error, though calls failed: %s",
			i.p.name, i.what, strings.Join(i.failed, ", "))
	}
}
