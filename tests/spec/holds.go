package main

// What must hold.

const (
	badTwice = iota + 1
	badResult
	badStep
	badAgain
)

var badText = [...]string{"", "an event is in the log twice", "a result is taken for a command that is not pending",
	"two live visits run the same step at once", "without any fault, something is sent or run a second time"}

// checkRecord: nothing is taken twice, and no result of what is not pending.
func (m *Model) checkRecord(t *State, v *Visit, before *Progress) {
	old := Items(0)
	r := &t.Runs[v.Run]
	for g := range v.SeenGeneration {
		events := taken(r.Log[g][:r.Count[g]])
		if g+1 < v.SeenGeneration {
			events &= allMail
		}
		old |= events
	}
	if old&v.Takes != 0 {
		t.Bad = badTwice
	}
	if uint8(v.Takes&allResults>>1)&^before.pending() != 0 {
		t.Bad = badResult
	}
}

// taken gives the events of a log.
func taken(log []Record) (events Items) {
	for i := range log {
		events |= log[i].Takes
	}
	return
}

// broken says what must never be.
func (m *Model) broken(s *State) string {
	if s.Bad != 0 {
		return badText[s.Bad]
	}
	for c := range s.Starters[:m.scenario.Starts] {
		if s.Starters[c] == callerAccepted && s.Runs[0].Token != uint8(c+1) {
			return "a caller was told that its run started, but the run is another's"
		}
	}
	return ""
}

// stuck says why a state that no fault-free step leaves is not a good end; "" if it is.
func (m *Model) stuck(s *State) string {
	for r := range s.Runs {
		if s.Runs[r].Blocked != 0 && s.Unblocks == 2 {
			return "" // the model's operator unblocks twice; a third block may stand: everything is kept
		}
	}
	for run := range uint8(maxRuns) {
		if s.Runs[run].Token == 0 {
			continue
		}
		if why := m.unfinished(s, run); why != "" {
			return "run " + digit(run) + why
		}
	}
	return ""
}

func (m *Model) unfinished(s *State, run uint8) string {
	r := &s.Runs[run]
	mail := Items(0)
	for g := uint8(1); g <= r.Generation; g++ {
		mail |= taken(r.Log[g-1][:r.Count[g-1]]) & allMail
		if why := m.notCarriedOut(s, run, g); why != "" {
			return why
		}
	}
	closed := m.closed(s, run)
	switch {
	case r.Blocked != 0:
		return " is blocked and nobody unblocks it"
	case m.unfinishedItems(s, run):
		return ": an item of unfinished work stays in the inbox"
	case closed:
		return ""
	case r.Count[r.Generation-1] == 0:
		return ": generation " + digit(r.Generation) + " never starts"
	}
	unaccepted := Items(0)
	for c := range s.Signallers[:m.scenario.Signals] {
		item := itemMail << c
		switch {
		case run != 0 || mail&item != 0:
		case s.Signallers[c] == callerAccepted:
			return ": signal " + digit(uint8(c)) + " was accepted and is never taken"
		case s.Signallers[c] == callerDied:
			unaccepted |= item
		}
	}
	if p := m.now(s, run, r.Generation); unaccepted != 0 && m.code(run, r.Generation)[p.next].Operation == AwaitSignal {
		return "" // it waits for a signal that nobody was told is accepted
	}
	return " is stuck: it waits for what no longer comes"
}

// notCarriedOut: every command that its generation's end did not cancel.
func (m *Model) notCarriedOut(s *State, run, generation uint8) string {
	p := m.now(s, run, generation)
	for command := range members(p.emitted &^ p.cancelled) {
		switch m.operation(run, generation, command) {
		case EmitTask:
			if s.Runs[run].Done[generation-1]>>command&1 == 0 {
				return ": task " + digit(command) + " is in the log and was never carried out"
			}
		case EmitChild:
			if s.Runs[1].Token == 0 {
				return ": its child is in the log and was never started"
			}
		}
	}
	return ""
}

// unfinishedItems: an item that a log took, in this very filing, must not stay; one that is void may, if its filer died: the
// next resume deletes it.
func (m *Model) unfinishedItems(s *State, run uint8) bool {
	r := &s.Runs[run]
	for place := range r.Inbox {
		for item := range each(r.Inbox[place]) {
			for g := range r.Log {
				if g != place && item&allMail == 0 {
					continue
				}
				log := r.Log[g][:r.Count[g]]
				if at := newestWithItem(log, item); at >= 0 && log[at].Filings.of(item) == r.Filings[place].of(item) {
					return true
				}
			}
		}
	}
	return false
}
