package main

// What records ask for: see core/engine/send.go.

// sendFor adds what record number newest of a log asks for, as far as it is still pending, to what the visit has to send.
func (m *Model) sendFor(t *State, v *Visit, generation uint8, log []Record, newest int) {
	p := m.play(t, v.Run, generation, uint8(len(log)))
	if !p.closed || m.rules.StartLeft {
		v.Send[generation-1] |= m.messages(v.Run, generation, log[newest].Emits&p.pending())
	}
	if p.closed && newest == len(log)-1 {
		v.Extra |= m.closing(v.Run, p.end)
	}
}

// closing is what a closing record asks for, beside its commands.
func (m *Model) closing(run uint8, end Operation) uint8 {
	switch {
	case end == ContinueAsNew:
		return resumeSelf
	case run == 1:
		return tellParent
	}
	return 0
}

// sendNext makes the next of the sends; when none is left, it goes on to what comes after them: a record, steps, or the end.
func (m *Model) sendNext(s *State, n int, add adder) {
	t := *s
	v := &t.Visits[n]
	if !m.rules.AcknowledgeLast && v.Recording == 0 && t.heldBy(1<<n) >= 0 { // shown only to be wrong
		m.acknowledge(s, n, add)
		return
	}
	if !m.rules.DeleteLast && v.Recording == 0 && v.Tidy != [maxGenerations]Items{} { // shown only to be wrong
		v.At = atDelete
		m.visit(&t, n, add)
		return
	}
	if m.callNext(s, n, add) || m.flush(s, n, add) {
		return
	}
	switch {
	case v.Recording != 0:
		v.At = atPut
	default:
		m.sent(&t, n)
		if v.At = atDelete; v.Steps != 0 {
			v.At = atStep
		}
	}
	m.visit(&t, n, add) // no call: go on
}

// sent notes that the sends of its own newest record are made, and which steps it may run.
func (m *Model) sent(t *State, n int) {
	v := &t.Visits[n]
	if v.Steps == 0 {
		return // it will look at nothing any more
	}
	p := m.now(t, v.Run, v.SeenGeneration)
	for i, record := range m.seenLog(t, v, v.SeenGeneration) {
		if record.Author == uint8(n+1) {
			v.Known[v.SeenGeneration-1] = uint8(i + 1)
		}
	}
	if v.Steps &= p.pending(); t.Runs[v.Run].Generation != v.SeenGeneration {
		v.Steps = 0
	}
}

// callNext makes the next of the calls that are none to a queue: a child's start, a long timer's item, the parent's item.
func (m *Model) callNext(s *State, n int, add adder) bool {
	t := *s
	v := &t.Visits[n]
	for g, set := range v.Send {
		for command := range members(set) {
			what, extra, done := m.call(&t, v.Run, uint8(g+1), command)
			if !done {
				continue
			}
			v.Send[g] &^= 1 << command
			v.Extra |= extra
			add(t, false, m.say(visitName(n), what))
			return true
		}
	}
	if v.Extra&tellParent != 0 {
		m.file(&t, 0, 1, itemResult<<m.scenario.ChildCommand)
		v.Extra = v.Extra&^tellParent | resumeParent
		add(t, false, m.say(visitName(n), " files its result in the parent's inbox"))
		return true
	}
	return false
}

// call does what a command asks for, unless that is a message.
func (m *Model) call(t *State, run, generation, command uint8) (what string, extra uint8, done bool) {
	switch m.operation(run, generation, command) {
	case EmitLong:
		switch {
		case t.Clock > 0 && m.rules.Route:
			return "", 0, false
		case t.Clock == 2: // behind the place where functions/timer looks
			return " puts a timer into a bucket of the past", 0, true
		}
		m.noteSent(t, run, generation, command)
		t.Runs[run].Due[generation-1] |= 1 << command
		return " puts the item of a long timer", 0, true
	case EmitChild:
		m.noteSent(t, run, generation, command)
		m.fileCarried(t, Letter{Start, 1, 1, 1})
		return " puts the child's summary and start, if there are none", resumeChild, true
	}
	return "", 0, false
}

// noteSent: without any fault, nothing is sent twice.
func (m *Model) noteSent(t *State, run, generation, command uint8) {
	r := &t.Runs[run]
	if !m.faulty(t) && !m.scenario.Torn && r.Sent[generation-1]>>command&1 != 0 {
		t.Bad = badAgain
	}
	r.Sent[generation-1] |= 1 << command
}

// letters lists the messages that the visit is to send together: tasks first, then resumes.
func (m *Model) letters(v *Visit) (letters []Letter) {
	for _, kind := range [2]uint8{Task, Fired} {
		for g, set := range v.Send {
			for command := range members(set) {
				if isTask := m.operation(v.Run, uint8(g+1), command) == EmitTask; isTask == (kind == Task) {
					letters = append(letters, Letter{kind, v.Run, uint8(g + 1), command})
				}
			}
		}
		if kind == Task && len(letters) > 0 {
			return
		}
	}
	for _, resume := range [...]struct{ extra, run uint8 }{{resumeChild, 1}, {resumeParent, 0}, {resumeSelf, v.Run}} {
		if v.Extra&resume.extra != 0 {
			letters = append(letters, Letter{Kind: Resume, Run: resume.run})
		}
	}
	return
}

// flush sends messages together. All are taken; or some, and the call fails with an error that names none of them.
func (m *Model) flush(s *State, n int, add adder) bool {
	letters := m.letters(&s.Visits[n])
	if len(letters) == 0 {
		return false
	}
	m.sendTogether(s, letters, func(t *State, failed bool) {
		v := &t.Visits[n]
		if failed && m.rules.PartialSend {
			m.fails(t, n)
			return
		}
		for _, letter := range letters {
			if letter.Kind != Resume {
				m.noteSent(t, letter.Run, letter.Generation, letter.Argument)
				v.Send[letter.Generation-1] &^= 1 << letter.Argument
			} else {
				v.Extra = 0
			}
		}
	}, visitName(n), add)
	return true
}

// sendTogether is one call that sends several messages; then says what its caller does.
func (m *Model) sendTogether(s *State, letters []Letter, then func(t *State, failed bool), who string, add adder) {
	all := uint8(1)<<len(letters) - 1
	for taken := uint8(1); taken <= all; taken++ {
		if taken != all && s.Budget.Crash == 0 {
			continue
		}
		t := *s
		what := m.say(who, " sends")
		for i := range members(taken) {
			t.send(letters[i], 0)
			what = m.say(what, " ", m.name(letters[i]))
		}
		if taken != all {
			t.Budget.Crash--
			what = m.say("FAULT ", what, "; the rest was refused, its call fails")
		}
		then(&t, taken != all)
		add(t, taken != all, what)
	}
}
