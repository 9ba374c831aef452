package history

import "time"

// Pending is a command whose answer a run waits for.
type Pending struct {
	Command Sequenced
	// Time is that of the record that has the command: see [Pending.Again].
	Time time.Time
	// Generation whose log has the command: an earlier one where a reset kept it.
	Generation int
	// Cancel is the request to stop that the log has; nil: it has none.
	Cancel Command
}

// Again is a command that a reset kept, and that the record of this time asks for again. The limits
// of an activity start again; a timer keeps the time for which it was set.
func (p Pending) Again(at time.Time) Pending {
	if _, activity := p.Command.(*ScheduleActivity); activity {
		p.Time = at
	}
	return p
}

// Checkpoint has all commands that were pending before the record that has it. A reader that needs
// only the pending commands reads nothing before that record. A replay ignores checkpoints.
type Checkpoint struct {
	// Pending is in order of sequence numbers. It is nil where Unread is true.
	Pending []Pending
	// Unread: the stored record has a checkpoint that the reader left out: see [Decoder.Record].
	Unread bool
}

// unread is the checkpoint of records whose reader left it out.
var unread = &Checkpoint{Unread: true}

func writeCheckpoint(w *writer, checkpoint *Checkpoint) {
	if checkpoint == nil || checkpoint.Unread {
		return
	}
	w.name("pending")
	w.beginList()
	for _, p := range checkpoint.Pending {
		w.begin()
		w.timeIf("time", p.Time)
		w.int("generation", int64(p.Generation))
		w.name("command")
		writeCommand(w, p.Command)
		if p.Cancel != nil {
			w.name("cancel")
			writeCommand(w, p.Cancel)
		}
		w.end()
	}
	w.endList()
}

func readCheckpoint(r *reader) *Checkpoint {
	if !r.checkpoints {
		r.skip()
		return unread
	}
	checkpoint := &Checkpoint{}
	for more := r.enter(); more; more = r.element() {
		checkpoint.Pending = append(checkpoint.Pending, readPending(r))
	}
	return checkpoint
}

func readPending(r *reader) (p Pending) {
	for key, more := r.first(); more; key, more = r.next() {
		switch string(key) {
		case "time":
			p.Time = r.time()
		case "generation":
			p.Generation = int(r.int())
		case "command":
			command, ok := readCommand(r).(Sequenced)
			if !ok {
				r.fail("a pending command is none that has an answer")
			}
			p.Command = command
		case "cancel":
			p.Cancel = readCommand(r)
		default:
			r.skip()
		}
	}
	if p.Command == nil {
		r.fail("what is pending has no command")
	}
	return p
}
