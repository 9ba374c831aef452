package main

// Filing, and API calls that start a run: see core/engine/start.go.

// file puts an item into an inbox, on condition that none of its key is there, and says whether there was one. Nothing else
// is looked at: whether a log has it, whoever looks finds out by the number of the filing.
func (m *Model) file(t *State, run, generation uint8, item Items) (there bool) {
	r := &t.Runs[run]
	place := generation - 1
	if item&allMail != 0 {
		place = 0
	}
	if r.Inbox[place]&item != 0 {
		return true
	}
	r.Inbox[place] |= item
	if m.rules.OneFiling {
		r.Filings[place].set(item, m.newFiling(t, run, place, item))
	}
	return false
}

// newFiling gives a number that nobody knows for another filing of the item: no record, and no visit that has seen one.
func (m *Model) newFiling(t *State, run, place uint8, item Items) uint8 {
	var known [4]bool
	r := &t.Runs[run]
	for g := range r.Log {
		if g != int(place) && item&allMail == 0 {
			continue
		}
		for i := range r.Log[g][:r.Count[g]] {
			if record := &r.Log[g][i]; (record.Takes|record.Again)&item != 0 {
				known[record.Filings.of(item)] = true
			}
		}
	}
	for n := range t.Visits {
		if v := &t.Visits[n]; v.At != idle && v.Run == run && (v.Seen[place]|v.Takes|v.Again)&item != 0 {
			known[v.Filings[place].of(item)] = true
		}
	}
	for number, taken := range known {
		if !taken {
			return uint8(number)
		}
	}
	panic("too many filings: make Filings wider")
}

// fileCarried files what a resume carries.
func (m *Model) fileCarried(t *State, letter Letter) {
	switch letter.Kind {
	case Fired:
		m.file(t, letter.Run, letter.Generation, itemResult<<letter.Argument)
	case Mail:
		m.file(t, letter.Run, 1, itemMail<<letter.Argument)
	case Start: // summary and item in one transaction, on condition that there is no summary
		if r := &t.Runs[letter.Run]; r.Token == 0 {
			r.Token, r.Generation = letter.Argument, 1
			r.Inbox[0] |= itemStart
		}
	}
}

// start is an API call that starts run 0.
func (m *Model) start(s *State, c int, add adder) {
	letter := Letter{Start, 0, 1, uint8(c + 1)}
	who := m.say("API start ", digit(letter.Argument))
	t := *s
	phase := &t.Starters[c]
	if *phase != callerBefore && *phase != callerBetween {
		return
	}
	if *phase == callerBetween && s.Budget.Crash > 0 {
		u := *s
		u.Budget.Crash--
		u.Starters[c] = callerDied
		add(u, true, m.say("FAULT ", who, " dies between its two calls, and its caller never asks again"))
	}
	if (*phase == callerBefore) == m.rules.MessageFirst {
		t.send(letter, 0)
		*phase++
		add(t, false, m.say(who, " sends the resume that carries the start"))
		return
	}
	m.fileCarried(&t, letter)
	*phase++
	if t.Runs[0].Token != letter.Argument {
		*phase = callerRefused
	}
	add(t, false, m.say(who, " puts summary and start"))
}
