package main

// time: deadlines of the dead pass, delayed resumes with them; the long timers' time comes.
func (m *Model) time(s *State, add adder) {
	for run := range uint8(maxRuns) {
		t := *s
		if t.deadlinesPass(run) {
			add(t, false, "time: deadlines of dead invocations pass")
		}
		if !m.rules.Deadline && s.Budget.Pause > 0 {
			m.mistakeForDead(s, run, add)
		}
	}
	if !m.scenario.Long || s.Clock == 2 {
		return
	}
	t := *s
	t.Clock++
	waiting := false
	for r := range s.Runs {
		waiting = waiting || s.Runs[r].Due != [maxGenerations]uint8{}
	}
	switch {
	case s.Clock == 0:
		add(t, false, "time: the long timers are due within 15 minutes")
	case !waiting:
		add(t, false, "time: the long timers' time is past")
	case s.Budget.Pause > 0: // fifteen passes of functions/timer failed
		t.Budget.Pause--
		add(t, true, "FAULT functions/timer does not run until the time is past")
	}
}

func (s *State) deadlinesPass(run uint8) (hit bool) {
	pass := func(author *uint8) {
		if *author == deadline {
			*author, hit = past, true
		}
	}
	r := &s.Runs[run]
	for g := range r.Log {
		for i := range r.Log[g][:r.Count[g]] {
			pass(&r.Log[g][i].Author)
		}
	}
	for i := range s.Messages[:s.Queued] {
		if s.Messages[i].Run == run {
			pass(&s.Messages[i].Wait)
		}
	}
	return
}

// mistakeForDead: without rule Deadline, an author is held to be dead while it lives.
func (m *Model) mistakeForDead(s *State, run uint8, add adder) {
	for g := range s.Runs[run].Log {
		for i := range s.Runs[run].Log[g][:s.Runs[run].Count[g]] {
			if author := s.Runs[run].Log[g][i].Author; author == past || author == deadline {
				continue
			}
			t := *s
			t.Budget.Pause--
			t.Runs[run].Log[g][i].Author = past
			add(t, true, "FAULT an author is held to be dead while it lives")
		}
	}
}
