package simulation

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
)

// mended says whether the code of a version takes signals that do not fit: where the world deploys
// two versions, the second is the one that was mended.
func (s *simulation) mended(version int) bool {
	return s.limits.unfit && s.limits.deploys && version == 2
}

// reading is what a signal says, and whether strict code can read it.
func reading(input history.Payload) (value int, fits bool) {
	var text string
	if json.Unmarshal(input, &text) == nil {
		return number(history.Payload(strings.TrimPrefix(text, "x"))), false
	}
	return number(input), true
}

// signals says whether an act sends a signal.
func (a act) signals() bool { return strings.HasPrefix(string(a.do), "signal ") }

// unblockAll does what an operator does who has mended what blocked runs.
func (s *simulation) unblockAll() {
	for s.violation == "" && s.unblock() {
		s.settle()
	}
}

// unblock acts on every blocked run. A signal that does not fit blocks a run again, until mended
// code is deployed, which the run then continues with by itself. Without such code, a reset leaves
// the signal out; and where it came too early for that, the run is terminated.
func (s *simulation) unblock() (blocked bool) {
	for _, run := range s.checks.names() {
		summary := s.summary(run)
		if summary.Blocked == nil {
			continue
		}
		blocked = true
		do := toUnblock
		if summary.Blocked.Reason == port.ReasonUnregistered {
			if !s.chores[run] { // an index may have lagged: functions/timer looks each minute
				s.chores[run] = true
				s.fire()
				continue
			}
			s.violate("run %s is blocked for the lack of a definition, and its definition is published: %s", run, summary.Blocked.Message)
			return false
		}
		if summary.Blocked.Reason == port.ReasonUndecodable {
			if s.version == 1 {
				s.deploy()
			}
			switch {
			case s.mended(s.version):
				continue
			case s.resets[run]:
				do = toTerminate
			default:
				do, s.resets[run] = toReset, true
			}
		}
		s.operate(run, act{do: do, id: fmt.Sprintf("%s.%s.%d", do, run, s.events), mends: true})
	}
	return blocked
}
