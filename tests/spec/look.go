package main

// look: one read, or, where a look is no snapshot (Torn), the summary, then the inbox, then the log, with others writing in
// between.
func (m *Model) look(s *State, n int, add adder) {
	who := visitName(n)
	t := *s
	v := &t.Visits[n]
	r := &t.Runs[v.Run]
	first, second := m.seeInbox, m.seeLog
	if !m.rules.InboxFirst {
		first, second = second, first
	}
	switch {
	case v.At == atLook:
		if v.SeenGeneration != r.Generation {
			v.Result = 0 // of a step whose generation has ended
		}
		v.SeenGeneration = r.Generation
		switch {
		case r.Token == 0:
			m.atLast(v)
			add(t, false, m.say(who, " looks; there is no such run"))
			return
		case r.Blocked != 0: // everything stays where it is
			v.Result = 0
			m.atLast(v)
			add(t, false, m.say(who, " looks; it is blocked"))
			return
		case m.scenario.Torn:
			v.At = atInbox
			add(t, false, m.say(who, " reads the summary"))
			return
		}
		m.seeInbox(&t, v)
		m.seeLog(&t, v)
		m.lookStale(s, &t, n, add)
	case v.At == atInbox:
		first(&t, v)
		v.At = atLog
		add(t, false, m.say(who, " reads on"))
		return
	default:
		second(&t, v)
	}
	m.decide(&t, n)
	add(t, false, m.say(who, " looks; ", m.decision(&t.Visits[n])))
}

func (m *Model) seeInbox(t *State, v *Visit) {
	v.Seen, v.Filings = t.Runs[v.Run].Inbox, t.Runs[v.Run].Filings
}

func (m *Model) seeLog(t *State, v *Visit) {
	v.SeenCount = t.Runs[v.Run].Count[v.SeenGeneration-1]
}

// lookStale: without rule Strong, one item, or the newest record, is not there yet.
func (m *Model) lookStale(s, seen *State, n int, add adder) {
	if s.Budget.Stale == 0 || m.rules.Strong {
		return
	}
	without := func(items Items, records uint8, what string) {
		t := *seen
		t.Budget.Stale--
		t.Visits[n].Seen[0] &^= items
		t.Visits[n].SeenCount -= records
		m.decide(&t, n)
		add(t, true, m.say("FAULT ", visitName(n), " looks, without ", what, "; ", m.decision(&t.Visits[n])))
	}
	for item := range each(seen.Visits[n].Seen[0] &^ itemStart) {
		without(item, 0, m.say("the item ", m.itemNames(1, item)))
	}
	if seen.Visits[n].SeenCount > 1 {
		without(0, 1, "the newest record")
	}
}
