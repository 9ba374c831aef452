package main

// The queues: SQS standard. A message may be delivered twice, in any order, alone or in a batch with another, and comes back
// if nobody acknowledges it.

// send puts a message on its queue. More than two plain resumes of one run that nobody has read count as two, more than one
// of any other message as one.
func (s *State) send(letter Letter, wait uint8) {
	same, unread := 0, 0
	for i := range s.Messages[:s.Queued] {
		message := &s.Messages[i]
		if message.Letter == letter && message.Wait == wait && message.Flags&dead == 0 {
			same++
			if message.Holders == 0 && message.Received == 0 {
				unread++
			}
		}
	}
	switch {
	case letter.Kind == Resume && wait == 0 && unread >= 2, letter.Kind == Resume && wait != 0 && unread >= 1:
		return
	case letter.Kind != Resume && (unread >= 1 || same >= 2):
		return
	case s.Queued == maxMessages:
		panic("too many messages: raise maxMessages")
	}
	s.Messages[s.Queued] = Message{Letter: letter, Wait: wait}
	s.Queued++
}

func (s *State) resume(run uint8) { s.send(Letter{Kind: Resume, Run: run}, 0) }

func (s *State) remove(i int) {
	s.Queued--
	s.Messages[i] = s.Messages[s.Queued]
	s.Messages[s.Queued] = Message{}
}

func (s *State) heldBy(holder uint8) int {
	for i := range s.Messages[:s.Queued] {
		if s.Messages[i].Holders&holder != 0 {
			return i
		}
	}
	return -1
}

// drop is what happens to the messages whose holder dies: they come again.
func (s *State) drop(holder uint8) {
	for i := range s.Messages[:s.Queued] {
		s.Messages[i].Holders &^= holder
	}
}

func (m *Model) queues(s *State, add adder) {
	for i := range s.Messages[:s.Queued] {
		message := &s.Messages[i]
		switch {
		case message.Wait != 0:
		case message.Flags&dead != 0 || message.Holders == 0 && message.Received == m.scenario.Receives:
			if message.Holders&holderDeadLetter == 0 && s.DeadLetter.At == idle {
				t := *s
				t.Messages[i].Flags |= dead
				t.Messages[i].Holders |= holderDeadLetter
				t.DeadLetter = Function{atFile, message.Letter}
				add(t, false, m.say("received too often: the dead letter function receives ", m.name(message.Letter)))
			}
		case message.Holders == 0 && message.Kind == Task:
			m.deliverTask(s, i, add)
		case message.Holders == 0:
			m.deliver(s, i, add)
		case s.Budget.Duplicate == 0:
		case message.Received == m.scenario.Receives:
			t := *s
			t.Messages[i].Flags |= dead | doubled
			t.Budget.Duplicate--
			add(t, true, m.say("FAULT the queue moves ", m.name(message.Letter), " to the dead letter queue while it is being handled"))
		case message.Kind != Task:
			t := *s
			t.Messages[i].Flags |= doubled
			t.Budget.Duplicate--
			if n := m.begin(&t, i, 0); n >= 0 {
				add(t, true, m.say("FAULT ", visitName(n), " receives ", m.name(message.Letter), " too (second copy)"))
			}
		}
	}
}

func (m *Model) deliverTask(s *State, i int, add adder) {
	if s.Worker.At != idle {
		return
	}
	t := *s
	m.receive(&t.Messages[i], holderWorker)
	t.Worker = Function{atStep, t.Messages[i].Letter}
	m.task(&t, add)
}

// deliver gives a message to functions/activate, alone or in a batch with another one.
func (m *Model) deliver(s *State, i int, add adder) {
	t := *s
	n := m.begin(&t, i, 0)
	if n < 0 {
		return
	}
	name := m.name(s.Messages[i].Letter)
	add(t, false, m.say(visitName(n), " receives ", name))
	if !m.scenario.Batches {
		return
	}
	for j := i + 1; j < int(s.Queued); j++ {
		other := &s.Messages[j]
		if other.Holders != 0 || other.Wait != 0 || other.Kind == Task || other.Flags&dead != 0 || other.Received == m.scenario.Receives {
			continue
		}
		u := t
		if other.Run == s.Messages[i].Run {
			m.receive(&u.Messages[j], 1<<n)
			u.Visits[n].hold(1, other.Letter)
			m.atFirst(&u.Visits[n])
			add(u, false, m.say(visitName(n), " receives in one batch ", name, " and ", m.name(other.Letter)))
			continue
		}
		if w := m.begin(&u, j, n+1); w >= 0 {
			add(u, false, m.say(visitName(n), " and ", visitName(w), " receive in one batch ", name, " and ", m.name(other.Letter)))
		}
	}
}

// begin begins a visit of the run that message i names, in the same invocation as another visit (+1), if there is room.
func (m *Model) begin(t *State, i, with int) (n int) {
	for n = range t.Visits[:m.scenario.Visits] {
		if t.Visits[n].At != idle {
			continue
		}
		m.receive(&t.Messages[i], 1<<n)
		v := &t.Visits[n]
		v.Run = t.Messages[i].Run
		v.hold(0, t.Messages[i].Letter)
		m.atFirst(v)
		if with > 0 {
			v.With, t.Visits[with-1].With = uint8(with), uint8(n+1)
		}
		return n
	}
	return -1
}

func (m *Model) receive(message *Message, holder uint8) {
	message.Holders |= holder
	if !m.immortal() {
		message.Received++
	}
}
