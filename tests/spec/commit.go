package main

// record: record n of the generation looked at, on condition that it is not there; in one transaction with the summary (and
// the start of the next generation) where it closes the generation. See core/engine/commit.go.
func (m *Model) record(s *State, n int, add adder) {
	who := visitName(n)
	t := *s
	v := &t.Visits[n]
	r := &t.Runs[v.Run]
	generation, count := v.SeenGeneration, v.SeenCount
	log := r.Log[generation-1][:count]
	if s.Broken != 0 && v.Takes != 0 {
		v.Takes, v.Steps, v.At = 0, 0, atBlock
		v.Tidy = [maxGenerations]Items{} // everything stays in the inbox
		m.visit(&t, n, add)
		return
	}
	if r.Count[generation-1] != count || r.Generation != generation {
		v.At = atLook
		add(t, false, m.say(who, " loses the race for its record"))
		return
	}
	before := m.play(s, v.Run, generation, count)
	after := before
	m.feed(&after, v.Run, generation, v.Takes)
	m.checkRecord(&t, v, &before)
	emitted := after.emitted &^ before.emitted
	record := Record{Takes: v.Takes, Again: v.Again, Emits: emitted, Resumes: v.Resumes, Chain: ownChain(log, n), Author: uint8(n + 1)}
	mail := (v.Takes | v.Again) & allMail
	record.Filings = v.Filings[generation-1].only((v.Takes|v.Again)&^allMail) | v.Filings[0].only(mail)
	r.commit(generation, record)
	if after.closed && after.end == ContinueAsNew {
		r.Generation = generation + 1
		r.Inbox[generation] |= itemStart
	}
	what := m.say(who, " puts ", m.recordName(v.Run, generation, count, &record))
	if s.Budget.Lost > 0 { // it asks again, and hears that there is such a record
		u := t
		u.Budget.Lost--
		u.Visits[n].At = atLook
		add(u, true, m.say("FAULT the answer is lost when ", what))
	}
	v.Steps = (v.Steps | m.steps(v.Run, generation, emitted) | v.Resumes) & after.pending()
	v.Send[generation-1] |= m.messages(v.Run, generation, emitted&after.pending())
	v.Tidy[generation-1] |= v.Takes &^ allMail
	v.Tidy[0] |= v.Takes & allMail
	if after.closed {
		v.Extra |= m.closing(v.Run, after.end)
	}
	v.Takes, v.Again, v.Resumes, v.Recording, v.Result = 0, 0, 0, 0, 0
	v.SeenCount, v.At = count+1, atSend
	add(t, false, what)
}

func (r *Run) commit(generation uint8, record Record) {
	count := &r.Count[generation-1]
	if *count == maxRecords {
		panic("log full: raise maxRecords")
	}
	r.Log[generation-1][*count] = record
	*count++
}

func ownChain(log []Record, n int) uint8 {
	for i := range log {
		if log[i].Author == uint8(n+1) {
			return log[i].Chain
		}
	}
	return uint8(len(log))
}

// handOver: too little time is left for the step to come. All before it is sent. A record names what the author answers for
// and says that it does so no longer; then a resume.
func (m *Model) handOver(s *State, n int, add adder) {
	t := *s
	t.Budget.Short--
	v := &t.Visits[n]
	r := &t.Runs[v.Run]
	generation, count := v.SeenGeneration, v.SeenCount
	log := r.Log[generation-1][:count]
	resumes := v.Steps
	v.Steps, v.Tidy, v.Wait, v.At = 0, [maxGenerations]Items{}, 0, atResume
	what := m.say(visitName(n), " has too little time left")
	switch {
	case !m.rules.HandOver:
		v.Wait = uint8(n + 1)
		add(t, false, m.say(what, ": stops"))
		return
	case r.Count[generation-1] != count || r.Generation != generation: // somebody has to look all the same
		t.Late = 1
		add(t, false, m.say(what, ": loses the race for the record that hands over"))
		return
	}
	record := Record{Resumes: resumes, Chain: ownChain(log, n), Author: past}
	for i := range log { // nothing is left in its name
		if log[i].Author != uint8(n+1) {
			continue
		}
		for item := range each(log[i].Takes | log[i].Again) {
			record.Again |= item
			record.Filings.set(item, log[i].Filings.of(item))
		}
		log[i].Author = past
	}
	r.commit(generation, record)
	add(t, false, m.say(what, ": puts ", m.recordName(v.Run, generation, count, &record)))
}
