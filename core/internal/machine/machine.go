// Package machine numbers the commands of a run, keeps what is pending, and matches commands
// against the log on replay. It knows no author's code, no units and no turns: those are
// core/internal/scheduler's.
package machine

import (
	"fmt"
	"slices"

	"github.com/reprise-run/reprise/core/history"
)

// Machine is the state of one generation between two commands. The zero value is a generation before its first record.
type Machine struct {
	next    int64 // sequence number of the next command that has one
	pending []*Operation
	patches map[string]bool

	record    int // number of the record that is being made or matched
	replaying bool
	recorded  []history.Command // the record's commands; only while replaying
	emitted   []history.Command // so far in this activation
	dropped   []int64           // numbers of operations that this activation ended without an answer
}

// Begin starts an activation that makes a new record.
func (m *Machine) Begin(record int) {
	m.record, m.replaying, m.recorded, m.emitted, m.dropped = record, false, nil, nil, m.dropped[:0]
}

// Replay starts an activation whose commands are matched against those of a record.
func (m *Machine) Replay(record int, commands []history.Command) {
	if !m.replaying {
		m.emitted = nil // the caller has those of the last activation; only a replay's are nobody's
	}
	m.record, m.replaying, m.recorded = record, true, commands
	m.emitted, m.dropped = m.emitted[:0], m.dropped[:0]
	for _, command := range commands {
		if mark, ok := command.(*history.MarkPatch); ok {
			m.know(mark.ID)
		}
	}
}

// Replaying says whether the commands of this activation are in the log already.
func (m *Machine) Replaying() bool { return m.replaying }

// Emitted is how many commands this activation has emitted so far.
func (m *Machine) Emitted() int { return len(m.emitted) }

// Emit appends a command that needs no number of its own. An error is a *[Nondeterminism].
func (m *Machine) Emit(command history.Command) error {
	if m.replaying {
		if err := m.match(command); err != nil {
			return err
		}
	}
	m.emitted = append(m.emitted, command)
	return nil
}

// Schedule gives the command the next sequence number, appends it, and keeps it pending. An error is a *[Nondeterminism].
//
// The number is given here, when the command is emitted, and nowhere else; numbers never repeat within a generation (S1.30).
func (m *Machine) Schedule(command history.Sequenced, op *Operation) error {
	command.Number(m.next)
	if err := m.Emit(command); err != nil {
		return err
	}
	op.Command = command
	m.next++
	m.pending = append(m.pending, op)
	return nil
}

// Finish ends the activation and gives its commands. On replay they are the record's; one that was not emitted is an error.
func (m *Machine) Finish() ([]history.Command, error) {
	if m.replaying {
		if m.passDeprecated(nil); len(m.emitted) < len(m.recorded) {
			return nil, m.missing()
		}
	}
	return m.emitted, nil
}

// Resolve ends the operation that the event is the answer of, and wakes who waits for it, and nobody else (S1.34).
// An event for what is not pending is an error: the engine takes none (it is void), so the log is damaged. Only an answer
// that was taken together with what dropped its operation, such as a request to cancel, cannot be told before: it is void here.
func (m *Machine) Resolve(event history.Resolution) error {
	at, found := m.find(event.Resolves())
	if !found && slices.Contains(m.dropped, event.Resolves()) {
		return nil
	}
	if !found {
		return fmt.Errorf("record %d: %s for seq %d, which is not pending", m.record, event.Kind(), event.Resolves())
	}
	op := m.pending[at]
	if !answers(event, op.Command) {
		return fmt.Errorf("record %d: %s for seq %d, which is a %s", m.record, event.Kind(), event.Resolves(), op.Command.Kind())
	}
	m.remove(at)
	op.settle(event)
	return nil
}

// answers is the table of which event resolves which command; every other pair is an error.
func answers(event history.Resolution, command history.Sequenced) bool {
	ok := false
	switch command.(type) {
	case *history.ScheduleActivity:
		_, ok = event.(*history.ActivityResolved)
	case *history.StartTimer:
		_, ok = event.(*history.TimerFired)
	case *history.StartChild:
		_, ok = event.(*history.ChildResolved)
	}
	return ok
}

// Pending gives the command of this sequence number, if its answer is still waited for.
func (m *Machine) Pending(seq int64) (history.Sequenced, bool) {
	at, found := m.find(seq)
	if !found {
		return nil, false
	}
	return m.pending[at].Command, true
}

// Operation gives what is pending under this number; nil if nothing is.
func (m *Machine) Operation(seq int64) *Operation {
	if at, found := m.find(seq); found {
		return m.pending[at]
	}
	return nil
}

// Operations lists what is pending, in order of sequence numbers. It is a copy: cancelling one while going over it is fine.
func (m *Machine) Operations() []*Operation { return append([]*Operation(nil), m.pending...) }

// Patched says whether the run follows the new code behind a patch (S1: patched?, deprecate_patch): a known patch does;
// on replay, an unknown one does not; otherwise it does from here on. The first yes is marked in the log.
func (m *Machine) Patched(id, unit string) (bool, error) {
	if marked, known := m.patches[id]; known {
		if marked {
			return true, nil
		}
	} else if m.replaying {
		return false, nil
	}
	return true, m.mark(unit, &history.MarkPatch{ID: id})
}

// Deprecate marks a patch whose old code is gone.
func (m *Machine) Deprecate(id, unit string) error {
	if m.patches[id] {
		return nil
	}
	if _, known := m.patches[id]; !known && m.replaying {
		return nil
	}
	return m.mark(unit, &history.MarkPatch{ID: id, Deprecated: true})
}

func (m *Machine) mark(unit string, mark *history.MarkPatch) error {
	mark.Emitter(unit)
	m.know(mark.ID)
	m.patches[mark.ID] = true
	return m.Emit(mark)
}

// know notes that the log has a mark of this patch, which the code is still to come to.
func (m *Machine) know(id string) {
	if m.patches == nil {
		m.patches = map[string]bool{}
	}
	if !m.patches[id] {
		m.patches[id] = false
	}
}

// find looks an operation up by its number: they lie in order.
func (m *Machine) find(seq int64) (at int, found bool) {
	low, high := 0, len(m.pending)
	for low < high {
		middle := (low + high) / 2
		if m.pending[middle].Command.Seq() < seq {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(m.pending) && m.pending[low].Command.Seq() == seq
}

func (m *Machine) remove(at int) {
	copy(m.pending[at:], m.pending[at+1:])
	m.pending[len(m.pending)-1] = nil
	m.pending = m.pending[:len(m.pending)-1]
}
