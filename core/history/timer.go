package history

import "time"

// StartTimer asks to be woken after a while, counted from the time of its record.
type StartTimer struct {
	numbered
	Duration time.Duration
}

func (*StartTimer) Kind() string      { return "start-timer" }
func (c *StartTimer) Fields() []Field { return []Field{{"duration", c.Duration.String()}} }
func (c *StartTimer) write(w *writer) {
	w.int("seq", c.seq)
	w.text("duration", c.Duration.String())
}

func (c *StartTimer) read(key []byte, r *reader) {
	switch string(key) {
	case "seq":
		c.seq = r.int()
	case "duration":
		c.Duration = r.duration()
	default:
		r.skip()
	}
}

// CancelTimer says that a timer's firing is no longer waited for.
type CancelTimer struct{ numbered }

func (*CancelTimer) Kind() string               { return "cancel-timer" }
func (*CancelTimer) Fields() []Field            { return nil }
func (c *CancelTimer) write(w *writer)          { w.int("seq", c.seq) }
func (c *CancelTimer) read(k []byte, r *reader) { readOnlySeq(k, r, &c.seq) }

// TimerFired says that a timer's time has come.
type TimerFired struct {
	filed
	Seq int64
}

func (*TimerFired) Kind() string               { return "timer-fired" }
func (e *TimerFired) Key(g int) string         { return firedKey(g, e.Seq) }
func (e *TimerFired) Resolves() int64          { return e.Seq }
func (e *TimerFired) write(w *writer)          { w.int("seq", e.Seq) }
func (e *TimerFired) read(k []byte, r *reader) { readOnlySeq(k, r, &e.Seq) }

func readOnlySeq(key []byte, r *reader, into *int64) {
	if string(key) == "seq" {
		*into = r.int()
	} else {
		r.skip()
	}
}
