package main

// operator unblocks, twice at most; a third block may stand. See core/engine/block.go.
func (m *Model) operator(s *State, add adder) {
	if s.Operator != 0 { // rule UnblockByMessage off
		t := *s
		t.Operator = 0
		t.resume(s.Operator - 1)
		add(t, false, "the operator resumes the run")
		if s.Budget.Crash > 0 {
			u := *s
			u.Budget.Crash--
			u.Operator = 0
			add(u, true, "FAULT the operator dies before its resume")
		}
		return
	}
	waiting := false
	for i := range s.Messages[:s.Queued] {
		waiting = waiting || s.Messages[i].Kind == Unblock
	}
	for n := range s.Visits {
		waiting = waiting || s.Visits[n].Unblock != 0
	}
	for r := range s.Runs {
		if s.Runs[r].Blocked == 0 || s.Broken != 0 || s.Unblocks == 2 || s.Unblocks == 1 && waiting {
			continue
		}
		t := *s
		t.Unblocks++
		if m.rules.UnblockByMessage {
			t.send(Letter{Kind: Unblock, Run: uint8(r), Argument: s.Runs[r].Blocked}, 0)
			add(t, false, m.say("the operator unblocks run ", digit(uint8(r))))
		} else {
			t.Runs[r].Blocked = 0
			t.Operator = uint8(r) + 1
			add(t, false, m.say("the operator takes the mark off run ", digit(uint8(r))))
		}
	}
}

// mark marks a run blocked: with another mark than it has, and than any message or visit names.
func (s *State) mark(run uint8) {
	for mark := uint8(1); ; mark++ {
		used := s.Runs[run].Blocked == mark
		for i := range s.Messages[:s.Queued] {
			letter := s.Messages[i].Letter
			used = used || letter.Kind == Unblock && letter.Run == run && letter.Argument == mark
		}
		for n := range s.Visits {
			used = used || s.Visits[n].Run == run && s.Visits[n].Unblock == mark
		}
		if !used {
			s.Runs[run].Blocked = mark
			return
		}
	}
}
