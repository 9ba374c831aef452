package main

// functions/activate: a visit looks at a run, and makes one external call after the other. See core/engine/activate.go.

// hold notes what a message of the visit's batch asks for, beside the look.
func (v *Visit) hold(place int, letter Letter) {
	if letter.carries() {
		v.Carries[place] = letter
	}
	if letter.Kind == Unblock {
		v.Unblock = letter.Argument
	}
}

// atFirst goes on to what comes before the look.
func (m *Model) atFirst(v *Visit) {
	switch {
	case v.Carries != [2]Letter{} && m.rules.FileFirst:
		v.At = atFile
	case v.Unblock != 0 && m.rules.ClearFirst:
		v.At = atClear
	default:
		v.At = atLook
	}
}

// atLast goes on to what comes after all else.
func (m *Model) atLast(v *Visit) {
	switch {
	case v.Wait != 0 && m.rules.ResumeLater:
		v.At = atResume
	case v.Carries != [2]Letter{}: // rule FileFirst is off
		v.At = atFile
	case v.Unblock != 0: // rule ClearFirst is off
		v.At = atClear
	default:
		v.At = atAcknowledge
	}
}

// visit makes the next call of a visit.
func (m *Model) visit(s *State, n int, add adder) {
	who := visitName(n)
	t := *s
	v := &t.Visits[n]
	r := &t.Runs[v.Run]
	switch v.At {
	case atFile:
		first := &v.Carries[0]
		if *first == (Letter{}) {
			first = &v.Carries[1]
		}
		m.fileCarried(&t, *first)
		*first = Letter{}
		if m.rules.FileFirst {
			m.atFirst(v)
		} else {
			m.atLast(v)
		}
		add(t, false, m.say(who, " files what its message carries"))
	case atClear:
		what := " finds another mark"
		if r.Blocked == v.Unblock || !m.rules.UnblockNames {
			r.Blocked, what = 0, " takes the mark off"
		}
		v.Unblock = 0
		if m.rules.ClearFirst {
			m.atFirst(v)
		} else {
			m.atLast(v)
		}
		add(t, false, m.say(who, what))
	case atLook, atInbox, atLog:
		m.look(s, n, add)
	case atSend:
		m.sendNext(s, n, add)
	case atPut:
		m.record(s, n, add)
	case atStep:
		step := lowest(v.Steps)
		if s.Budget.Short > 0 {
			m.handOver(s, n, add)
		}
		v.Steps &^= 1 << step
		v.Running, v.At = step+1, atStepEnd
		for w := range t.Visits {
			other := &t.Visits[w]
			if w != n && other.At == atStepEnd && other.Running == step+1 && other.Run == v.Run && other.SeenGeneration == v.SeenGeneration {
				t.Bad = badStep
			}
		}
		m.carriedOut(&t, v.Run, v.SeenGeneration, step)
		add(t, false, m.say(who, " starts step ", digit(step)))
	case atStepEnd:
		v.Result, v.Running, v.Takes, v.At = v.Running, 0, itemResult<<(v.Running-1), atPut
		v.Filings = [maxGenerations]Filings{}
		add(t, false, m.say(who, " ends step ", digit(v.Result-1)))
	case atDelete:
		m.deleteNext(s, n, add)
	case atBlock:
		t.mark(v.Run)
		m.atLast(v)
		add(t, false, m.say(who, " (the activation fails) marks the run blocked"))
	case atResume:
		t.send(Letter{Kind: Resume, Run: v.Run}, v.Wait)
		what := " leaves the rest to its author: sends a resume delayed to that author's deadline"
		if v.Wait == 0 {
			what = " sends a resume"
		}
		v.Wait = 0
		m.atLast(v)
		add(t, false, m.say(who, what))
	case atAcknowledge:
		m.acknowledge(s, n, add)
	}
}

// deleteNext deletes the next of the items that are to be tidied; when none is left, it goes on to what comes after them.
func (m *Model) deleteNext(s *State, n int, add adder) {
	t := *s
	v := &t.Visits[n]
	r := &t.Runs[v.Run]
	for g := range v.Tidy {
		for item := range each(v.Tidy[g]) {
			v.Tidy[g] &^= item
			if r.Inbox[g]&item == 0 {
				continue // a delete that deletes nothing
			}
			r.Inbox[g] &^= item
			r.Filings[g].set(item, 0)
			add(t, false, m.say(visitName(n), " deletes the item ", m.itemNames(uint8(g+1), item)))
			return
		}
	}
	if !m.rules.DeleteLast && v.Send != [maxGenerations]uint8{} {
		v.At = atSend
	} else {
		m.atLast(v)
	}
	if v.At == atAcknowledge && v.With != 0 { // it waits for the others of its batch
		add(t, false, m.say(visitName(n), " has ended"))
		return
	}
	m.visit(&t, n, add) // no call: go on
}

// acknowledge is the answer to one message of the batch after the other, once all visits of the invocation have ended.
func (m *Model) acknowledge(s *State, n int, add adder) {
	v := &s.Visits[n]
	if v.At == atAcknowledge && v.With != 0 && s.Visits[v.With-1].At != atAcknowledge {
		return
	}
	holder := uint8(1) << n
	i := s.heldBy(holder)
	done := func(t State, what string) {
		if i >= 0 {
			what = m.say(what, m.name(s.Messages[i].Letter))
		}
		if v.At == atAcknowledge && t.heldBy(holder) < 0 {
			t.finish(n)
		}
		add(t, false, m.say(visitName(n), what))
	}
	if i < 0 {
		done(*s, " ends")
		return
	}
	t := *s
	if s.Messages[i].Flags&dead != 0 {
		t.Messages[i].Holders &^= holder
		done(t, " acknowledges (it is gone already) ")
		return
	}
	if s.Messages[i].Flags&doubled != 0 {
		t.Messages[i].Flags &^= doubled
		t.Messages[i].Holders &^= holder
		done(t, " acknowledges with the older receipt, to no effect, ")
		t = *s
	}
	t.remove(i)
	done(t, " acknowledges ")
}

// fails: a call of a visit fails, which has no more effect than if its invocation had died, but for the other entries of the
// batch: they have answers of their own.
func (m *Model) fails(t *State, n int) {
	if !m.rules.PartialAnswer && t.Visits[n].With != 0 {
		t.leave(n)
		t.Visits[n] = Visit{At: atAcknowledge, Run: t.Visits[n].Run, With: t.Visits[n].With}
		return
	}
	t.drop(1 << n)
	t.finish(n)
}

// finish ends a visit.
func (s *State) finish(n int) {
	if with := s.Visits[n].With; with != 0 {
		s.Visits[with-1].With = 0
	}
	s.Visits[n] = Visit{}
	s.leave(n)
}

// leave: the visit writes nothing any more. Others learn of it only when its deadline passes.
func (s *State) leave(n int) {
	gone := func(author *uint8) {
		if *author == uint8(n+1) {
			*author = deadline
		}
	}
	for r := range s.Runs {
		for g := range s.Runs[r].Log {
			for i := range s.Runs[r].Log[g][:s.Runs[r].Count[g]] {
				gone(&s.Runs[r].Log[g][i].Author)
			}
		}
	}
	for i := range s.Messages[:s.Queued] {
		gone(&s.Messages[i].Wait)
	}
	for w := range s.Visits {
		gone(&s.Visits[w].Wait)
	}
}
