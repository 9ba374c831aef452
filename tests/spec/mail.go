package main

// mail is an API call that signals run 0: see core/engine/mail.go.
func (m *Model) mail(s *State, c int, add adder) {
	who := m.say("API signal ", digit(uint8(c)))
	t := *s
	phase := &t.Signallers[c]
	if *phase == callerBetween && s.Budget.Crash > 0 {
		u := *s
		u.Budget.Crash--
		u.Signallers[c] = callerAsksAgain
		add(u, true, m.say("FAULT ", who, " dies between its two calls; the caller asks again"))
		u.Signallers[c] = callerDied
		add(u, true, m.say("FAULT ", who, " dies between its two calls, and its caller never asks again"))
	}
	first := *phase == callerBefore || *phase == callerAsksAgain
	switch {
	case !first && *phase != callerBetween || s.Runs[0].Token == 0:
		return
	case first && m.closed(s, 0):
		*phase = callerRefused
		add(t, false, m.say(who, " is refused: closed"))
		return
	}
	what := " sends its resume"
	switch {
	case first != m.rules.MessageFirst: // a put that says "it is there already" is as good
		if there := m.file(&t, 0, 1, itemMail<<c); there && first && !m.rules.ResumeAgain {
			*phase = callerBetween
		}
		what = " is filed"
	case m.rules.MessageFirst:
		t.send(Letter{Mail, 0, 0, uint8(c)}, 0)
		what = " sends the resume that carries it"
	default:
		t.resume(0)
	}
	if first {
		*phase = callerBetween
		add(t, false, m.say(who, what))
		return
	}
	*phase = callerAccepted
	add(t, false, m.say(who, what, ": accepted"))
	if s.Budget.Lost > 0 {
		t.Budget.Lost--
		t.Signallers[c] = callerAsksAgain
		add(t, true, m.say("FAULT the answer to ", who, " is lost; the caller asks again"))
	}
}
