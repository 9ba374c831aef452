package main

import (
	"bytes"
	"unsafe"
)

// canonical brings states that can make no difference to one form: what nobody needs any more is forgotten, messages are
// sorted, visits are in order.
func (m *Model) canonical(s *State) {
	m.forget(s)
	sortMessages(s)
	order, ties := orderOf(s)
	if !ties {
		if order != inOrder {
			s.permute(order)
		}
		return
	}
	best := *s
	best.permute(order)
	for _, other := range orders[1:] {
		var next [maxVisits]uint8
		for i := range other {
			next[i] = order[other[i]]
		}
		if !sorted(s, next) {
			continue
		}
		t := *s
		t.permute(next)
		if bytes.Compare(bytesOf(&t), bytesOf(&best)) < 0 {
			best = t
		}
	}
	*s = best
}

var (
	orders  = [...][maxVisits]uint8{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	inOrder = orders[0]
)

// orderOf sorts the visits by all but their names for each other, and says whether that leaves two that are alike.
func orderOf(s *State) (order [maxVisits]uint8, ties bool) {
	order = inOrder
	for i := 1; i < maxVisits; i++ {
		for j := i; j > 0 && compare(s, order[j-1], order[j]) > 0; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	for i := 1; i < maxVisits; i++ {
		ties = ties || s.Visits[order[i]].At != idle && compare(s, order[i-1], order[i]) == 0
	}
	return
}

func sorted(s *State, order [maxVisits]uint8) bool {
	for i := 1; i < maxVisits; i++ {
		if compare(s, order[i-1], order[i]) > 0 {
			return false
		}
	}
	return true
}

// compare puts idle visits last: the others are the first handlers.
func compare(s *State, a, b uint8) int {
	x, y := s.Visits[a].nameless(), s.Visits[b].nameless()
	if (x.At == idle) != (y.At == idle) {
		if x.At == idle {
			return 1
		}
		return -1
	}
	const size = unsafe.Sizeof(x)
	return bytes.Compare((*[size]byte)(unsafe.Pointer(&x))[:], (*[size]byte)(unsafe.Pointer(&y))[:])
}

// nameless is a visit without the names of others.
func (v Visit) nameless() Visit {
	v.With = min(v.With, 1)
	if v.Wait != past && v.Wait != deadline {
		v.Wait = 1
	}
	return v
}

// permute puts the visits in another order: the first is then the one that was order[0].
func (s *State) permute(order [maxVisits]uint8) {
	visits := s.Visits
	var place [maxVisits + 2]uint8 // by author
	place[deadline] = deadline
	for to, from := range order {
		place[from+1] = uint8(to + 1)
		s.Visits[to] = visits[from]
	}
	for n := range s.Visits {
		s.Visits[n].Wait = place[s.Visits[n].Wait]
		s.Visits[n].With = place[s.Visits[n].With]
	}
	for i := range s.Messages[:s.Queued] {
		message := &s.Messages[i]
		holders := message.Holders &^ (1<<maxVisits - 1)
		for to, from := range order {
			holders |= message.Holders >> from & 1 << to
		}
		message.Holders, message.Wait = holders, place[message.Wait]
	}
	for r := range s.Runs {
		for g := range s.Runs[r].Log {
			for i := range s.Runs[r].Log[g][:s.Runs[r].Count[g]] {
				author := &s.Runs[r].Log[g][i].Author
				*author = place[*author]
			}
		}
	}
	sortMessages(s)
}

// sortMessages takes eight bytes for a number: any order will do.
func sortMessages(s *State) {
	keys := (*[maxMessages]uint64)(unsafe.Pointer(&s.Messages))
	for i := 1; i < int(s.Queued); i++ {
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}

// forget drops what can make no difference any more.
func (m *Model) forget(s *State) {
	if m.immortal() {
		for i := range s.Messages[:s.Queued] {
			s.Messages[i].Received = 0
		}
	}
	if m.faulty(s) || m.scenario.Torn {
		for r := range s.Runs {
			s.Runs[r].Sent = [maxGenerations]uint8{}
		}
	}
	for n := range s.Visits {
		m.forgetVisit(s, n)
	}
	m.forgetMessages(s)
	m.forgetDeadlines(s)
}

// forgetMessages: a start whose summary is there is a resume like any other; and what would find nothing in the inbox need
// not come (whatever is filed later has a resume of its own).
func (m *Model) forgetMessages(s *State) {
	unread := [maxRuns]int{}
	for i := int(s.Queued) - 1; i >= 0; i-- {
		message := &s.Messages[i]
		if message.Kind == Task {
			continue
		}
		r := &s.Runs[message.Run]
		if message.Kind == Start && r.Token != 0 {
			message.Letter = Letter{Kind: Resume, Run: message.Run}
		}
		if message.Kind != Resume || message.Holders != 0 || message.Flags&dead != 0 {
			continue
		}
		empty := r.Token != 0 && r.Inbox == [maxGenerations]Items{}
		plain := message.Wait == 0 && message.Received == 0 && message.Flags == 0
		if plain {
			unread[message.Run]++
		}
		if empty && (message.Wait != 0 || m.closed(s, message.Run)) || plain && unread[message.Run] > 2 {
			s.remove(i)
		}
	}
}

// forgetVisit keeps of a visit what its coming calls need.
func (m *Model) forgetVisit(s *State, n int) {
	v := &s.Visits[n]
	for i := range v.Carries {
		if v.Carries[i].Kind == Start && s.Runs[v.Run].Token != 0 && m.rules.FileFirst {
			v.Carries[i] = Letter{} // there is nothing to file
			if v.At == atFile {
				m.atFirst(v)
			}
		}
	}
	k := Visit{At: v.At, Run: v.Run, With: v.With, Carries: v.Carries, Unblock: v.Unblock}
	switch v.At {
	case idle:
		return
	case atFile, atClear:
	case atLook:
		k.Known, k.Result = v.Known, v.Result
		if v.Result != 0 {
			k.SeenGeneration = v.SeenGeneration
		}
	case atInbox, atLog:
		k.Known, k.Result, k.SeenGeneration, k.SeenCount, k.Seen, k.Filings = v.Known, v.Result, v.SeenGeneration, v.SeenCount, v.Seen, v.Filings
	case atBlock:
		k.Wait = v.Wait
	case atDelete:
		k.Tidy, k.Wait = v.Tidy, v.Wait
		if !m.rules.DeleteLast {
			k = *v
		}
	case atResume, atAcknowledge: // it writes nothing any more
		k.Wait = v.Wait
		if m.rules.AcknowledgeLast {
			*v = k
			s.leave(n)
			return
		}
	case atSend:
		k = *v
		if v.Recording == 0 {
			k.Takes, k.Again = 0, 0
		}
		if v.Recording == 0 && v.Steps == 0 && m.rules.DeleteLast && m.rules.AcknowledgeLast {
			k.SeenGeneration, k.SeenCount, k.Known = 0, 0, [maxGenerations]uint8{}
			if v.Send == [maxGenerations]uint8{} && v.Extra == 0 {
				k = Visit{At: atDelete, Run: v.Run, With: v.With, Carries: v.Carries, Unblock: v.Unblock, Tidy: v.Tidy, Wait: v.Wait}
			}
		}
	default:
		k = *v
	}
	for g := range k.Filings {
		k.Filings[g] = k.Filings[g].only(k.Seen[g] | k.Takes | k.Again)
	}
	*v = k
}

// forgetDeadlines: a deadline matters only as long as something belongs to the author.
func (m *Model) forgetDeadlines(s *State) {
	for run := range uint8(maxRuns) {
		for g := range uint8(maxGenerations) {
			log := s.Runs[run].Log[g][:s.Runs[run].Count[g]]
			matters, known := uint16(0), false
			for i := range log {
				if log[i].Author != deadline {
					continue
				}
				if !known {
					matters, known = m.chainsThatMatter(s, run, g+1), true
				}
				if matters>>log[i].Chain&1 == 0 {
					log[i].Author = past
				}
			}
		}
	}
}

func (m *Model) chainsThatMatter(s *State, run, generation uint8) (chains uint16) {
	r := &s.Runs[run]
	log := r.Log[generation-1][:r.Count[generation-1]]
	inbox := r.Inbox[generation-1]&^allMail | r.Inbox[0]&allMail
	for n := range s.Visits {
		if v := &s.Visits[n]; v.Run == run && (v.At == atInbox || v.At == atLog) {
			inbox |= v.Seen[generation-1]&^allMail | v.Seen[0]&allMail
		}
	}
	for i := range log {
		if (log[i].Takes|log[i].Again)&inbox != 0 {
			chains |= 1 << log[i].Chain
		}
	}
	p := m.now(s, run, generation)
	for step := range members(m.steps(run, generation, p.pending())) {
		chains |= 1 << log[newestWithStep(log, step)].Chain
	}
	return
}

// immortal says that there are too few faults in this scenario for any message to reach the dead letter queue.
func (m *Model) immortal() bool {
	return m.scenario.Receives > m.scenario.Crash+m.scenario.Duplicate
}

// faulty says whether any fault has happened yet.
func (m *Model) faulty(s *State) bool {
	spent := s.Budget
	spent.Short, spent.Fail = m.scenario.Short, m.scenario.Fail
	return spent != m.scenario.Budget || s.Late != 0 || s.Broken != 0 || s.Unblocks != 0
}
