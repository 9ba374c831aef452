package main

// decide is what a visit makes of what it has looked at: see core/engine/decide.go. It sorts the inbox: what is news is
// taken, what is void is deleted, what is taken already is unfinished work of whoever took it.
func (m *Model) decide(t *State, n int) {
	v := &t.Visits[n]
	generation, count := v.SeenGeneration, v.SeenCount
	log := t.Runs[v.Run].Log[generation-1][:count]
	p := m.play(t, v.Run, generation, count)
	v.Takes, v.Again, v.Resumes, v.Steps, v.Recording, v.Wait = 0, 0, 0, 0, 0, 0
	v.Tidy, v.Send, v.Extra, v.At = [maxGenerations]Items{}, [maxGenerations]uint8{}, 0, atSend
	if m.torn(t, v, &p) {
		v.Seen, v.Filings, v.At = [maxGenerations]Items{}, [maxGenerations]Filings{}, atLook
		return
	}
	for g := range v.Seen {
		for item := range each(v.Seen[g]) {
			m.consider(t, n, uint8(g+1), item, &p)
		}
	}
	if count == 0 && v.Takes&itemStart == 0 {
		v.Takes = 0 // its start is still to come: all waits
	}
	if v.Result != 0 && p.pending()>>(v.Result-1)&1 != 0 {
		v.Takes |= itemResult << (v.Result - 1)
	} else {
		v.Result = 0
	}
	m.considerSteps(v, n, log, m.steps(v.Run, generation, p.pending()))
	if !m.rules.NameAgain {
		v.Again = 0
	}
	if v.Takes != 0 || v.Resumes != 0 {
		v.Recording = 1
	}
	v.Seen = [maxGenerations]Items{}
	if v.Recording == 1 && !m.rules.FinishFirst {
		v.At = atPut
	}
}

// torn says that the look is no look at one moment: the record that closes the generation is there, and the summary is one
// from before it, or an item of a later generation is.
func (m *Model) torn(t *State, v *Visit, p *Progress) bool {
	return m.rules.LookAgain && p.closed && p.end == ContinueAsNew && v.SeenGeneration != t.Runs[v.Run].Generation
}

// consider decides what one inbox item is.
func (m *Model) consider(t *State, n int, generation uint8, item Items, p *Progress) {
	v := &t.Visits[n]
	place, present := generation-1, v.SeenGeneration
	isMail := item&allMail != 0
	where, at := generation, -1
	if isMail {
		where = present
	}
	for ; where >= 1; where-- { // mail: in all generations; others: in their own
		if at = newestWithItem(m.seenLog(t, v, where), item); at >= 0 || !isMail || where == present && !m.rules.CarryIds {
			break
		}
	}
	switch {
	case at < 0 && generation != present && !isMail, at < 0 && p.closed: // too late
		v.Tidy[place] |= item
	case at < 0 && item&allResults != 0 && p.pending()&uint8(item>>1) == 0: // cancelled
		v.Tidy[place] |= item
	case at < 0:
		v.Takes |= item
	case v.Filings[place].of(item) != m.seenLog(t, v, where)[at].Filings.of(item): // the log took another filing of it
		v.Tidy[place] |= item
	case !m.rules.Finish, where != present && !m.rules.Lookback:
		v.Tidy[place] |= item
	default:
		m.considerTaken(t, n, generation, item, where, at)
	}
}

// considerTaken decides who tidies an item that a log has: record number at of generation where names it.
func (m *Model) considerTaken(t *State, n int, generation uint8, item Items, where uint8, at int) {
	v := &t.Visits[n]
	log := m.seenLog(t, v, where)
	newest := newestOfChain(log, log[at].Chain)
	author := log[newest].Author
	own := author == uint8(n+1)
	if author != past && !own && m.rules.Patience {
		if v.Wait == 0 || author != deadline {
			v.Wait = author
		}
		return
	}
	v.Tidy[generation-1] |= item
	if own && (!m.rules.OwnRecord || int(v.Known[where-1]) > newest) {
		return // its sends are made
	}
	if !own && where == v.SeenGeneration {
		v.Again |= item
	}
	m.sendFor(t, v, where, log, newest)
}

// considerSteps decides which of the pending steps are this author's to run.
func (m *Model) considerSteps(v *Visit, n int, log []Record, pending uint8) {
	for step := range members(pending) {
		switch author := log[newestWithStep(log, step)].Author; {
		case v.Result == step+1: // its result is in hand
		case author == uint8(n+1):
			v.Steps |= 1 << step
		case author == past && m.rules.Takeover:
			v.Resumes |= 1 << step
		case author == past:
			v.Steps |= 1 << step
		}
	}
}

// seenLog is what the visit knows of a generation's log.
func (m *Model) seenLog(t *State, v *Visit, generation uint8) []Record {
	r := &t.Runs[v.Run]
	if generation == v.SeenGeneration {
		return r.Log[generation-1][:v.SeenCount]
	}
	return r.Log[generation-1][:r.Count[generation-1]]
}

func newestWithItem(log []Record, item Items) int {
	for i := len(log) - 1; i >= 0; i-- {
		if (log[i].Takes|log[i].Again)&item != 0 {
			return i
		}
	}
	return -1
}

func newestWithStep(log []Record, step uint8) int {
	for i := len(log) - 1; i >= 0; i-- {
		if (log[i].Emits|log[i].Resumes)>>step&1 != 0 {
			return i
		}
	}
	panic("no such step")
}

func newestOfChain(log []Record, chain uint8) int {
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].Chain == chain {
			return i
		}
	}
	panic("no such chain")
}
