package main

// An adder notes one possible next state. Fault marks those that need not happen.
type adder func(next State, fault bool, what string)

// next finds every external call, and every fault, that is possible in s.
func (m *Model) next(s *State, add adder) {
	if s.Bad != 0 {
		return
	}
	for c := range s.Starters[:m.scenario.Starts] {
		m.start(s, c, add)
	}
	for c := range s.Signallers[:m.scenario.Signals] {
		m.mail(s, c, add)
	}
	if s.Broken != 0 {
		t := *s
		t.Broken = 0
		add(t, false, "the deployment is fixed")
	}
	m.operator(s, add)
	m.rebuild(s, add)
	m.time(s, add)
	m.queues(s, add)
	for n := range s.Visits {
		if s.Visits[n].At != idle {
			m.visit(s, n, add)
		}
	}
	m.task(s, add)
	m.timer(s, add)
	m.deadLetter(s, add)
	if s.Budget.Crash > 0 {
		m.deaths(s, add)
	}
}

// deaths: any invocation may die between any two calls; and a call of one of its visits may fail.
func (m *Model) deaths(s *State, add adder) {
	die := func(what string, forget func(t *State)) {
		t := *s
		t.Budget.Crash--
		forget(&t)
		add(t, true, m.say("FAULT ", what))
	}
	for n := range s.Visits {
		v := &s.Visits[n]
		switch {
		case v.At == idle:
		case v.With == 0:
			if !m.immortal() || !m.untouched(s, n) {
				die(m.say(visitName(n), " dies"), func(t *State) { t.die(n) })
			}
		default:
			if v.At != atAcknowledge {
				die(m.say("a call of ", visitName(n), " fails; ", visitName(int(v.With-1)), ", of the same batch, goes on"), func(t *State) { m.fails(t, n) })
			}
			if with := int(v.With - 1); n < with {
				die(m.say("the invocation of ", visitName(n), " and ", visitName(with), " dies"), func(t *State) {
					t.die(with)
					t.die(n)
				})
			}
		}
	}
	function := func(what string, F *Function, holder uint8, forget func(t *State)) {
		if F.At != idle {
			die(m.say(what, " dies"), func(t *State) {
				t.drop(holder)
				forget(t)
			})
		}
	}
	function("worker", &s.Worker, holderWorker, func(t *State) { t.Worker = Function{} })
	function("functions/timer", &s.Timer, 0, func(t *State) { t.Timer = Function{} })
	function("deadletter", &s.DeadLetter, holderDeadLetter, func(t *State) { t.DeadLetter = Function{} })
}

func (s *State) die(n int) {
	s.drop(1 << n)
	s.finish(n)
}

// untouched: the visit has changed nothing yet; its death is as if it had not received the message.
func (m *Model) untouched(s *State, n int) bool {
	v := &s.Visits[n]
	if v.At != atFile && v.At != atClear && v.At != atLook && v.At != atInbox && v.At != atLog || v.Result != 0 {
		return false
	}
	if s.heldBy(1<<n) < 0 {
		return false
	}
	for i := range s.Messages[:s.Queued] {
		switch message := &s.Messages[i]; {
		case message.Holders>>n&1 == 0:
		case message.Kind == Unblock && v.Unblock == 0:
			return false
		case message.carries() && message.Letter != v.Carries[0] && message.Letter != v.Carries[1]:
			return false
		}
	}
	for g := range s.Runs[v.Run].Log {
		for i := range s.Runs[v.Run].Log[g][:s.Runs[v.Run].Count[g]] {
			if s.Runs[v.Run].Log[g][i].Author == uint8(n+1) {
				return false
			}
		}
	}
	return true
}
