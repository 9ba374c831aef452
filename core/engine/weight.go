package engine

// Estimates of what a live run holds, beside its values.
const (
	bytesOfLive  = 16 << 10 // the run itself, with a goroutine's stack
	bytesOfUnit  = 8 << 10  // a unit's stack
	bytesOfEvent = 512      // an event or a command, beside its values
	// partOfLog is how much of the budget the log of one run counts at most. Workflow code rarely
	// keeps all that its log told it, and how much it keeps cannot be told. A run with a long log
	// would else be replayed for each event.
	partOfLog = 4
)

// weight is an estimate of the bytes that a live run holds, against a budget of so many. Without a
// budget it is zero.
func (l *live) weight(total int64) int64 {
	if l == nil || total == 0 {
		return 0
	}
	if l.exec == nil {
		return bytesOfEvent
	}
	held := l.summary.Bytes() + l.exec.Held()
	log := 2 * l.bytes // a value as JSON text, and as what the code made of it
	if started := l.exec.Started(); started != nil {
		held += 2 * len(started.Input)
		log -= 2 * len(started.Input)
	}
	return int64(bytesOfLive + l.exec.Units()*bytesOfUnit + held + min(log+l.events*bytesOfEvent, int(total/partOfLog)))
}
