package main

// rebuild: all queues are lost. Run by run, what is pending is sent again, as log and inbox say, and the run is resumed if
// there is anything to do. It begins when API calls in flight at the loss have ended: their resumes may be among what was
// lost. See core/engine/rebuild.go.
func (m *Model) rebuild(s *State, add adder) {
	if s.Budget.Wipe > 0 && s.Queued > 0 {
		t := *s
		t.Budget.Wipe--
		t.Messages, t.Queued = [maxMessages]Message{}, 0
		t.Rebuild = 1
		add(t, true, "FAULT all queues are deleted; a rebuild begins")
	}
	between := false
	for c := range s.Starters {
		between = between || s.Starters[c] == callerBetween || s.Signallers[c] == callerBetween
	}
	if s.Rebuild == 0 || between {
		return
	}
	t := *s
	run := s.Rebuild - 1
	if t.Rebuild++; t.Rebuild > maxRuns {
		t.Rebuild = 0
	}
	if t.Runs[run].Token != 0 {
		m.rebuildRun(&t, run)
	}
	add(t, false, m.say("the rebuild comes to run ", digit(run)))
}

func (m *Model) rebuildRun(t *State, run uint8) {
	r := &t.Runs[run]
	if r.Blocked != 0 {
		t.send(Letter{Kind: Unblock, Run: run, Argument: r.Blocked}, 0)
	}
	steps := uint8(0)
	open := !m.closed(t, run)
	if open && m.rules.RebuildSends {
		p := m.now(t, run, r.Generation)
		pending := p.pending() &^ uint8(r.Inbox[r.Generation-1]&allResults>>1) // without what is answered
		steps = m.steps(run, r.Generation, pending)
		for command := range members(pending &^ steps) {
			m.sendAgain(t, run, r.Generation, command)
		}
	}
	if steps != 0 || r.Inbox != [maxGenerations]Items{} && (open || m.rules.RebuildClosed) {
		t.resume(run)
	}
}

func (m *Model) sendAgain(t *State, run, generation, command uint8) {
	_, extra, done := m.call(t, run, generation, command)
	switch {
	case extra == resumeChild:
		t.resume(1)
	case done:
	case m.operation(run, generation, command) == EmitTask:
		t.send(Letter{Task, run, generation, command}, 0)
	default:
		t.send(Letter{Fired, run, generation, command}, 0)
	}
}
