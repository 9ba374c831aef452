package main

// deadLetter is functions/deadletter: it takes what was received too often. A task is given up: its failure is filed. A
// resume: the run is blocked. See core/engine/deadletter.go.
func (m *Model) deadLetter(s *State, add adder) {
	t := *s
	d := &t.DeadLetter
	r := &t.Runs[d.Run]
	next := func(at uint8, what string) {
		d.At = at
		add(t, false, m.say("deadletter ", what))
	}
	switch d.At {
	case atFile:
		switch {
		case d.Kind == Task:
			command := d.Argument & 7
			m.file(&t, d.Run, d.Generation, itemResult<<command)
			r.Done[d.Generation-1] |= 1 << command // given up counts as carried out
			next(atResume, m.say("files the failure of task ", digit(command)))
		case m.rules.DeadFiles && d.carries():
			m.fileCarried(&t, d.Letter)
			next(atBlock, "files what the resume carries")
		default:
			d.At = atBlock
			m.deadLetter(&t, add)
		}
	case atResume:
		t.resume(d.Run)
		next(atAcknowledge, "resumes the run")
	case atBlock: // if there is something in the inbox, or the mark is one that a living handler may yet take off
		what := "finds nothing to block for"
		waits := r.Inbox != [maxGenerations]Items{} && (m.rules.BlockClosed || !m.closed(s, d.Run))
		if r.Token != 0 && (waits || m.rules.UnblockNames && d.Kind == Unblock && r.Blocked == d.Argument) {
			t.mark(d.Run)
			what = "marks the run blocked"
		}
		next(atAcknowledge, what)
	case atAcknowledge:
		if i := t.heldBy(holderDeadLetter); i >= 0 {
			t.remove(i)
		}
		t.DeadLetter = Function{}
		add(t, false, "deadletter acknowledges")
	}
}
